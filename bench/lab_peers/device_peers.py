"""Peers on a GPU, as peers.py has them on this processor. What they bind lies on the device; an
execution is put into the stream by `start()` and timed by the device's clock, the copy of what a
Program updates in place included."""

import numpy as np

from .arrays import Declined, Steps
from .device_clock import DeviceClock
from .products import product_of, widened

TRIED = 20  # executions, where the quicker way is looked for


class DeviceBound:
    prepare = None

    def __init__(self, clock, start, results):
        self._clock, self.start, self.results = clock, start, results

    def run(self):
        self.start()
        self._clock.wait()


class TorchBound(DeviceBound):
    """`ways`: name -> (what starts an execution, the buffers that it leaves); `kept`: what graphs
    find by address alone."""

    def __init__(self, peer, ways, kept):
        self.ways, self._kept = ways, kept
        super().__init__(
            peer.clock,
            None,
            lambda: {name: peer.numpy(self._buffers[name]) for name in peer.outputs},
        )
        self.take(next(iter(ways)))

    def take(self, way):
        self.start, self._buffers = self.ways[way]


class TorchPeer:
    as_bits = ("bf16",)  # which NumPy has not

    def __init__(self, threads):
        import torch

        if not torch.cuda.is_available():
            raise OSError("torch finds no CUDA device")
        self.clock = DeviceClock()
        torch.set_num_threads(threads)
        torch.set_grad_enabled(False)
        matmul = torch.backends.cuda.matmul
        matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False  # f32 is f32, as ours is
        matmul.allow_bf16_reduced_precision_reduction = (
            matmul.allow_fp16_reduced_precision_reduction
        ) = False
        torch.backends.cudnn.benchmark = True
        self._stream = torch.cuda.ExternalStream(self.clock.stream.value)
        torch.cuda.set_stream(self._stream)
        self._torch, self._way, self._failed = torch, None, ""
        self.version = f"torch {torch.__version__}"

    def prepare(self, form):
        from .torch_device import TorchDeviceLibrary

        self._types = {b["name"]: b["dtype"] for b in form["buffers"]}
        self._steps = Steps(widened(form), TorchDeviceLibrary())
        self.outputs = self._steps.outputs

    def array(self, a, dtype):
        if dtype == "bf16":
            return self._torch.from_numpy(a.view(np.int16)).cuda().view(self._torch.bfloat16)
        return self._torch.from_numpy(a).cuda()

    def numpy(self, tensor):
        if tensor.dtype == self._torch.bfloat16:
            return tensor.contiguous().view(self._torch.int16).cpu().numpy().view(np.uint16)
        return tensor.cpu().numpy()

    def bind(self, arrays):
        steps, kept = self._steps, {}
        given = {name: self.array(arrays[name], self._types[name]) for name in steps.inputs}
        work = {name: given[name].clone() for name in steps.changed}

        def execute():
            kept.clear()
            kept.update(given)
            for name, tensor in work.items():
                tensor.copy_(given[name])
                kept[name] = tensor
            self.execute(steps, kept)

        for _ in range(3):  # libraries choose their algorithms, compilers compile
            execute()
        self._torch.cuda.synchronize()
        ways = {}
        if self._way != "eager":
            self._capture(execute, kept, ways)
        if self._way != "graph":
            ways["eager"] = execute, kept
        return TorchBound(self, ways, (given, work))

    def execute(self, steps, buffers):
        steps.run(buffers)

    def _capture(self, execute, kept, ways):
        graph = self._torch.cuda.CUDAGraph()
        try:
            with self._torch.cuda.graph(graph, stream=self._stream):
                execute()
        except RuntimeError as error:
            if self._way == "graph":
                raise
            self._failed = str(error).splitlines()[0][:120]
            return
        finally:
            self._torch.cuda.set_stream(self._stream)
        ways["graph"] = graph.replay, dict(kept)

    def choose(self, bound):
        seconds = {
            way: self.clock.nanoseconds([start] * TRIED) / TRIED
            for way, (start, _) in bound.ways.items()
        }
        self._way = min(seconds, key=seconds.get)
        bound.take(self._way)
        words = {"eager": "its operators one after another", "graph": "one start of a CUDA graph"}[
            self._way
        ]
        tried = ", ".join(f"{way} {ns / 1e3:.1f} us" for way, ns in seconds.items())
        failed = f", no graph: {self._failed}" if self._failed else ""
        return f"each execution {words} ({tried}{failed})"


class MemoryPeer:
    """One product on memory of the driver's, its call captured as a graph."""

    as_bits = ("bf16", "f16")

    def prepare(self, form):
        self._product = product_of(form)
        if any(b["role"] == "inout" for b in form["buffers"]):
            raise Declined("the product is added to a tensor")
        self._written = self._product.c.name

    def bind(self, arrays):
        driver, stream = self.clock.driver, self.clock.stream
        addresses = Memory(driver, {name: array.nbytes for name, array in arrays.items()})
        for name, array in arrays.items():
            driver.to_device(addresses[name], array.ctypes.data, array.nbytes, stream)
        call = self.call(self._product, addresses)
        call()
        self.clock.wait()
        graph = driver.graph_of(stream, call)

        def results():
            result = np.empty_like(arrays[self._written])
            driver.to_host(result.ctypes.data, addresses[self._written], result.nbytes, stream)
            self.clock.wait()
            return {self._written: result}

        return DeviceBound(self.clock, lambda: driver.launch(graph, stream), results)

    def choose(self, bound):
        return "each execution one start of a CUDA graph that has the library's call"


class Memory(dict):
    """Addresses by name; given back with it."""

    def __init__(self, driver, sizes):
        super().__init__({name: driver.allocate(size) for name, size in sizes.items()})
        self._driver = driver

    def __del__(self):
        for address in self.values():
            self._driver.free(address)


class CublasPeer(MemoryPeer):
    def __init__(self, threads):
        from .cublas import Cublas

        self.clock = DeviceClock()
        self._library = Cublas(self.clock.driver, self.clock.stream)
        self.version = self._library.version

    def prepare(self, form):
        from .cublas import by_rows

        super().prepare(form)
        by_rows(self._product)

    def call(self, product, addresses):
        return self._library.product(product, addresses)


class TritonPeer(TorchPeer):
    """Products, and rows of one kernel: what triton_kernels.py writes. torch has its memory
    and its stream."""

    def __init__(self, threads):
        import triton

        super().__init__(threads)
        self.version = f"triton {triton.__version__}, {self.version}"

    def prepare(self, form):
        from .triton_kernels import kernel_of

        self._types = {b["name"]: b["dtype"] for b in form["buffers"]}
        self._steps = kernel_of(form, self._torch)
        self.outputs = self._steps.outputs


PEERS = {"torch": TorchPeer, "cublas": CublasPeer, "triton": TritonPeer}
