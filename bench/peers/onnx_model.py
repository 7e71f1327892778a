"""A case as an ONNX model of one operator, for the libraries that read such."""

import numpy as np
from onnx import helper, numpy_helper


def nodes_of(case):
    make = helper.make_node
    if case.plain:
        return [make(op, names, [out], **how) for op, names, out, how in case.plain.nodes]
    if case.kind == "transpose":
        return [make("Transpose", ["x"], ["y"], perm=[1, 0])]
    if case.kind == "softmax":
        return [make("Softmax", ["x"], ["y"], axis=1)]
    if case.kind == "layer_norm":
        return [make("LayerNormalization", ["x", "g", "b"], ["y"], axis=1, epsilon=1e-5)]
    if case.kind == "first_axis_sum":
        return [make("ReduceSum", ["x", "axes"], ["y"], keepdims=0)]
    if case.kind in ("gemm", "gemm_prepacked"):
        return [make("MatMul", ["A", "B"], ["y"])]
    if case.kind in ("conv_3x3", "depthwise"):
        groups = case.sizes[0] if case.kind == "depthwise" else 1
        return [
            make("Conv", ["x", "w", "b"], ["s"], pads=[1, 1, 1, 1], group=groups),
            make("Relu", ["s"], ["y"]),
        ]
    return None


def arrays_of(case):
    """Inputs and constants as the model takes them: images with a batch of one; a network's
    bias is a constant."""
    if case.plain:
        return case.plain.inputs, case.plain.constants
    inputs, constants = dict(case.inputs), dict(case.constants)
    if case.kind in ("conv_3x3", "depthwise"):
        inputs["x"] = inputs["x"][None]
        constants["b"] = inputs.pop("b")
    if case.kind == "first_axis_sum":
        constants["axes"] = np.array([0], np.int64)
    return inputs, constants


def result_of(case, array):
    """As ours has it."""
    return case.plain.back(array) if case.plain else np.reshape(array, case.reference.shape)


def model_of(case):
    nodes = nodes_of(case)
    if nodes is None:
        return None
    inputs, constants = arrays_of(case)
    kind = helper.np_dtype_to_tensor_dtype(next(iter(inputs.values())).dtype)
    graph = helper.make_graph(
        nodes,
        case.kind,
        [helper.make_tensor_value_info(name, kind, array.shape) for name, array in inputs.items()],
        [helper.make_tensor_value_info("y", kind, None)],
        [numpy_helper.from_array(array, name) for name, array in constants.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
