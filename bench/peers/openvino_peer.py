"""OpenVINO on the CPU, for latency, in single precision: it takes bf16 by itself where the
processor has it."""

import openvino

from .polyte import aligned_copy
from .timing import Contender


def load(threads):
    return OpenVinoPeer(threads)


class OpenVinoPeer:
    version = "openvino " + openvino.__version__.split("-")[0]

    def __init__(self, threads):
        self._core = openvino.Core()
        self._config = {
            "PERFORMANCE_HINT": "LATENCY",
            "INFERENCE_PRECISION_HINT": "f32",
            "INFERENCE_NUM_THREADS": threads,
            "NUM_STREAMS": 1,
            "ENABLE_CPU_PINNING": False,
        }

    def bound(self, model, inputs):
        """`model`: a path or bytes."""
        compiled = self._core.compile_model(self._core.read_model(model), "CPU", self._config)
        request = compiled.create_infer_request()
        held = {name: aligned_copy(array) for name, array in inputs.items()}
        for name, array in held.items():
            request.set_tensor(name, openvino.Tensor(array, shared_memory=True))
        request.infer()
        outputs = len(compiled.outputs)
        return (lambda: request.infer() and held), lambda: [
            request.get_output_tensor(i).data for i in range(outputs)
        ]

    def contenders(self, case):
        from .onnx_model import arrays_of, model_of, result_of

        model = model_of(case)
        if model is None:
            return []
        run, results = self.bound(model.SerializeToString(), arrays_of(case)[0])
        return [Contender("openvino", run, lambda: result_of(case, results()[0]))]
