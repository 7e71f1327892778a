"""The peers: each makes a form, or an ONNX model, ready and runs it on the lab's tensors.

A peer is `Peer(threads)` with `version`; `prepare(form)` raises Declined where the library has
no words for it; `bind(arrays, constants)` gives an object with `run()`, `prepare()` where a
run changes its inputs (outside of the time), and `results()`, by name. `model(path)` likewise
for ONNX models.
"""

import os

from .arrays import Declined, Steps
from .settle import settle as settle_process


def settle(threads):
    """As every bench does (settle.py), and what these peers' libraries need beside it."""
    settle_process(threads)
    os.environ["JAX_ENABLE_X64"] = "1"
    if threads == 1:
        os.environ["XLA_FLAGS"] = (
            os.environ.get("XLA_FLAGS", "") + " --xla_cpu_multi_thread_eigen=false"
        )


class Bound:
    def __init__(self, run, results, prepare=None):
        self.run, self.results, self.prepare = run, results, prepare


class FormPeer:
    """A library that runs steps as they are, on arrays of its own kind."""

    def prepare(self, form):
        self._steps = Steps(form, self.library)

    def bind(self, arrays):
        steps, given = self._steps, {name: self.array(arrays[name]) for name in self._steps.inputs}
        kept, work = {}, {name: self.copy(given[name]) for name in steps.changed}

        def prepare():
            kept.clear()
            kept.update(given)
            for name, array in work.items():
                array[...] = given[name]
                kept[name] = array

        def run():
            self.execute(steps, kept)

        prepare()
        return Bound(
            run,
            lambda: {name: self.numpy(kept[name]) for name in steps.outputs},
            prepare if steps.changed else None,
        )

    def execute(self, steps, buffers):
        steps.run(buffers)


class NumpyPeer(FormPeer):
    def __init__(self, threads):
        import numpy
        from .numpy_library import NumpyLibrary

        self.library, self.version = NumpyLibrary(), f"numpy {numpy.__version__}"

    def array(self, a):
        return a

    def copy(self, a):
        return a.copy()

    def numpy(self, a):
        return a


class OneDnnPeer(FormPeer):
    def __init__(self, threads):
        from .onednn_library import OneDnnLibrary

        self.library = OneDnnLibrary()
        self.version = self.library.dnnl.version

    def prepare(self, form):
        others = {b["dtype"] for b in form["buffers"]} - {"f32"}
        if others:
            raise Declined(f"this peer takes f32 alone, not {' '.join(sorted(others))}")
        self._constants = [b["name"] for b in form["buffers"] if b["role"] == "const"]
        super().prepare(form)

    def array(self, a):
        return a

    def copy(self, a):
        return a.copy()

    def numpy(self, a):
        return a

    def bind(self, arrays):
        for name in self._constants:
            start = arrays[name].ctypes.data
            self.library.constants[name, start] = start, start + arrays[name].nbytes
        return super().bind(arrays)


class TorchPeer(FormPeer):
    def __init__(self, threads):
        import torch
        from .torch_library import TorchLibrary

        torch.set_num_threads(threads)
        torch.set_grad_enabled(False)
        self._torch, self.library, self.version = (
            torch,
            TorchLibrary(),
            f"torch {torch.__version__}",
        )

    def array(self, a):
        return self._torch.from_numpy(a)

    def copy(self, a):
        return a.clone()

    def numpy(self, a):
        return a.numpy()


class TorchCompilePeer(TorchPeer):
    """The same steps through torch.compile, for these shapes."""

    def __init__(self, threads):
        super().__init__(threads)
        self.version += ", torch.compile"

    def prepare(self, form):
        super().prepare(form)
        steps = self._steps

        def function(tensors):
            buffers = dict(zip(steps.inputs, tensors))
            for name in steps.changed:
                buffers[name] = buffers[name].clone()
            steps.run(buffers)
            return [buffers[name] for name in steps.outputs]

        self._compiled = self._torch.compile(function, dynamic=False)

    def bind(self, arrays):
        given = [self.array(arrays[name]) for name in self._steps.inputs]
        last = [self._compiled(given)]

        def run():
            last[0] = self._compiled(given)

        return Bound(run, lambda: {n: self.numpy(a) for n, a in zip(self._steps.outputs, last[0])})


class XlaPeer(FormPeer):
    def __init__(self, threads):
        import jax
        from .jax_library import JaxLibrary

        self._jax, self.library, self.version = jax, JaxLibrary(), f"XLA of jax {jax.__version__}"
        self._compiled = None

    def bind(self, arrays):
        import numpy as np

        steps = self._steps

        def function(given):
            buffers = steps.run(dict(given))
            return [
                self._jax.numpy.broadcast_to(buffers[name], steps.shapes[name])
                for name in steps.outputs
            ]

        given = {name: self._jax.device_put(arrays[name]) for name in steps.inputs}
        if self._compiled is None:
            self._compiled = self._jax.jit(function).lower(given).compile()
        last = [None]

        def run():
            last[0] = self._jax.block_until_ready(self._compiled(given))

        return Bound(run, lambda: {name: np.asarray(a) for name, a in zip(steps.outputs, last[0])})


class OnnxPeer:
    """Reads ONNX: a form becomes a model of which tensors that are constant are a part."""

    def __init__(self):
        self._form, self._made, self._constants = None, None, None

    def prepare(self, form):
        try:
            from . import onnx_library
        except ImportError:
            raise Declined("no module onnx, which writes the model") from None
        self._write, self._form = onnx_library.model_of, form
        self._write(form, {}, Steps)  # what ONNX cannot say is known before there are tensors

    def model(self, path):
        self._made = self.load(path)

    def bind(self, arrays):
        if self._form is None:
            return self.bound(
                self._made, arrays, {name: name for name in self.outputs(self._made)}, arrays
            )
        constants = {
            b["name"]: arrays[b["name"]] for b in self._form["buffers"] if b["role"] == "const"
        }
        if self._made is None or not all(
            (constants[n] == self._constants[n]).all() for n in constants
        ):
            self._constants = {name: array.copy() for name, array in constants.items()}
            self._made = self.load(
                self._write(self._form, self._constants, Steps).SerializeToString()
            )
        roles = {b["name"]: b["role"] for b in self._form["buffers"]}
        given = {"in_" + name: a for name, a in arrays.items() if roles[name] in ("in", "inout")}
        outputs = {"out_" + name: name for name in arrays if roles[name] in ("out", "inout")}
        return self.bound(self._made, given, outputs, arrays)


class OnnxRuntimePeer(OnnxPeer):
    """All optimisations on, its own threads; runs on bound memory."""

    def __init__(self, threads):
        super().__init__()
        import onnxruntime

        onnxruntime.set_default_logger_severity(3)
        self._library, self._options = onnxruntime, onnxruntime.SessionOptions()
        self._options.intra_op_num_threads, self._options.inter_op_num_threads = threads, 1
        self.version = f"onnxruntime {onnxruntime.__version__}"

    def load(self, model):
        try:
            return self._library.InferenceSession(
                model, self._options, providers=["CPUExecutionProvider"]
            )
        except self._library.capi.onnxruntime_pybind11_state.NotImplemented as error:
            raise Declined(
                "onnxruntime has no kernel for it: " + str(error).splitlines()[0][:200]
            ) from None

    def outputs(self, session):
        return [spec.name for spec in session.get_outputs()]

    def bound(self, session, given, outputs, arrays):
        binding, value_of = session.io_binding(), self._library.OrtValue.ortvalue_from_numpy
        # of a model that does not read all of them
        wanted = {spec.name for spec in session.get_inputs()}
        held = {name: value_of(a) for name, a in given.items() if name in wanted}
        for name, value in held.items():
            binding.bind_ortvalue_input(name, value)
        import numpy as np

        made = {name: value_of(np.empty_like(arrays[tensor])) for name, tensor in outputs.items()}
        for name, value in made.items():
            binding.bind_ortvalue_output(name, value)
        return Bound(
            lambda: session.run_with_iobinding(binding) or held,
            lambda: {tensor: made[name].numpy() for name, tensor in outputs.items()},
        )


class OpenVinoPeer(OnnxPeer):
    """For latency, in single precision: it takes bf16 by itself where the processor has it."""

    def __init__(self, threads):
        super().__init__()
        import openvino

        self._library, self._core = openvino, openvino.Core()
        self._config = {
            "PERFORMANCE_HINT": "LATENCY",
            "INFERENCE_PRECISION_HINT": "f32",
            "INFERENCE_NUM_THREADS": threads,
            "NUM_STREAMS": 1,
            "ENABLE_CPU_PINNING": False,
        }
        self.version = "openvino " + openvino.__version__.split("-")[0]

    def prepare(self, form):
        if any(b["dtype"] == "f64" for b in form["buffers"]):
            raise Declined("OpenVINO computes f64 in single precision on a CPU")
        super().prepare(form)

    def load(self, model):
        return self._core.compile_model(self._core.read_model(model), "CPU", self._config)

    def outputs(self, compiled):
        return [output.any_name for output in compiled.outputs]

    def bound(self, compiled, given, outputs, arrays):
        request = compiled.create_infer_request()
        wanted = {name for i in compiled.inputs for name in i.names}
        held = {
            name: self._library.Tensor(a, shared_memory=True)
            for name, a in given.items()
            if name in wanted
        }
        for name, tensor in held.items():
            request.set_tensor(name, tensor)
        return Bound(
            lambda: request.infer() and held,
            lambda: {tensor: request.get_tensor(name).data for name, tensor in outputs.items()},
        )


PEERS = {
    "numpy": NumpyPeer,
    "torch": TorchPeer,
    "torch-compile": TorchCompilePeer,
    "xla": XlaPeer,
    "onnxruntime": OnnxRuntimePeer,
    "openvino": OpenVinoPeer,
    "onednn": OneDnnPeer,
}
