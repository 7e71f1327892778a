"""Weights of four values each, for networks that have to be carried: they pack to a sixteenth.

What is done to a network by its numbers alone - time, most of all - hardly changes; what they
compute does. Batch norms become the same for all channels, so that folding them leaves each weight
one of four values as well."""

import numpy as np
from onnx import numpy_helper

LEAST = 4096  # elements of a tensor that is worth it
# of a normal distribution's deviation: the four values nearest to it (Lloyd, Max)
INNER, OUTER = 0.4528, 1.510


def four_values(array):
    deviation = np.float32(array.std())
    size = np.where(
        np.abs(array) < np.float32((INNER + OUTER) / 2) * deviation,
        np.float32(INNER),
        np.float32(OUTER),
    )
    return (np.where(array < 0, -size, size) * deviation).astype(np.float32)


def coarse(model):
    norms = {
        name
        for node in model.graph.node
        if node.op_type == "BatchNormalization"
        for name in (node.input[1], node.input[4])
    }
    for tensor in model.graph.initializer:
        array = numpy_helper.to_array(tensor)
        if array.dtype != np.float32:
            continue
        if tensor.name in norms:
            tensor.CopyFrom(numpy_helper.from_array(np.full_like(array, array.mean()), tensor.name))
        elif array.size >= LEAST:
            tensor.CopyFrom(numpy_helper.from_array(four_values(array), tensor.name))
    return model
