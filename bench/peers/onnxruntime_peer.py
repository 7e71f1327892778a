"""onnxruntime, all optimisations on, its own threads."""

import onnxruntime

from .polyte import aligned, aligned_copy
from .timing import Contender


def load(threads):
    return OnnxRuntimePeer(threads)


class OnnxRuntimePeer:
    version = f"onnxruntime {onnxruntime.__version__}"

    def __init__(self, threads):
        onnxruntime.set_default_logger_severity(3)
        self._options = onnxruntime.SessionOptions()
        self._options.intra_op_num_threads = threads
        self._options.inter_op_num_threads = 1

    def session(self, model):
        """`model`: a path or bytes."""
        return onnxruntime.InferenceSession(
            model, self._options, providers=["CPUExecutionProvider"]
        )

    def bound(self, model, inputs):
        """A run on memory of ours, and its outputs: as Polyte's session has it."""
        session = self.session(model)
        binding = session.io_binding()
        held = {
            name: onnxruntime.OrtValue.ortvalue_from_numpy(aligned_copy(array))
            for name, array in inputs.items()
        }
        for name, value in held.items():
            binding.bind_ortvalue_input(name, value)
        results = {}
        first = session.run(None, inputs)
        for spec, array in zip(session.get_outputs(), first):
            value = onnxruntime.OrtValue.ortvalue_from_numpy(aligned(array.shape, array.dtype))
            binding.bind_ortvalue_output(spec.name, value)
            results[spec.name] = value
        # `held` stays with the function: the binding does not own its values.
        return (lambda: session.run_with_iobinding(binding) or held), lambda: [
            v.numpy() for v in results.values()
        ]

    def contenders(self, case):
        from .onnx_model import arrays_of, model_of, result_of

        model = model_of(case)
        if model is None:
            return []
        run, results = self.bound(model.SerializeToString(), arrays_of(case)[0])
        return [Contender("onnxruntime", run, lambda: result_of(case, results()[0]))]
