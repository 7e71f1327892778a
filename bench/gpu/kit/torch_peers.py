"""torch beside our kernels, on the same memory: cuBLAS and cuDNN behind its operators, eager
and by torch.compile.

A Program that has no peer is timed alone, and that is said. `import torch` happens in no other file
and only where bench/gpu/run found it."""

import time

from peers import timing

from . import torch_models

AGREE = {"f32": 2e-3, "f64": 1e-9, "f16": 3e-2, "bf16": 5e-2}  # of the largest value


def is_there():
    try:
        import torch
    except ImportError as error:
        return f"torch: {error}"
    return "" if torch.cuda.is_available() else "torch: it finds no CUDA device"


# ---- what a Program is in torch's words: a function of its inputs by name. Images have no batch
# here, torch's do.


def convolution(stride=1, pad=0):
    def run(f, t):
        y = f.conv2d(t["x"][None], t["w"], t["b"], stride=stride, padding=pad)[0]
        y = y + t["z"] if "z" in t else y
        return y

    return run


def dense(f, t):
    y = t["x"] @ t["w"] + t["b"]
    return y + t["z"] if "z" in t else y


def relu(inner):
    return lambda f, t: f.relu(inner(f, t))


def softmax(f, t):
    return f.softmax(t["x"], -1)


def layer_norm(f, t):
    return f.layer_norm(t["x"], t["x"].shape[-1:], t["g"], t["b"], 1e-5)


def product(t):
    names = {name.lower(): tensor for name, tensor in t.items()}
    return names["a"], names["b"]


def wide_product(f, t):
    """bf16 operands, sums in f32; torch rounds the result once more."""
    a, b = product(t)
    return (a @ b).float()


def einsum(subscripts):
    def run(f, t):
        import torch

        return torch.einsum(subscripts, t["A"], t["B"])

    return run


def channels_last(f, t):
    """What torch calls so: views of the same memory."""
    x, w = t["x"].permute(2, 0, 1)[None], t["w"].permute(3, 2, 0, 1)
    return f.relu(f.conv2d(x, w, t["b"], padding=1))[0].permute(1, 2, 0)


FUNCTIONS = {
    "gpu_add": lambda f, t: t["a"] + t["b"],
    "gpu_transpose": lambda f, t: t["x"].t().contiguous(),
    "gpu_softmax": softmax,
    "bert_softmax": softmax,
    "gpu_layer_norm": layer_norm,
    "bert_layer_norm": layer_norm,
    "gpu_column_sums": lambda f, t: t["x"].sum(0),
    "gpu_gemm_f32": lambda f, t: t["a"] @ t["b"],
    "gpu_gemm_bf16": wide_product,
    "gpu_attention": lambda f, t: f.scaled_dot_product_attention(
        t["q"][None], t["k"][None], t["v"][None]
    )[0],
    "gemm_1024": lambda f, t: product(t)[0] @ product(t)[1],
    "gemm_odd": lambda f, t: product(t)[0] @ product(t)[1],
    "gemm_thin": lambda f, t: product(t)[0] @ product(t)[1],
    "gemm_f64": lambda f, t: product(t)[0] @ product(t)[1],
    "gemm_at_b": lambda f, t: product(t)[0].t() @ product(t)[1],
    "bert_project": dense,
    "bert_attend_out": dense,
    "bert_shrink": dense,
    "bert_grow": lambda f, t: f.gelu(dense(f, t)),
    "bert_scores": lambda f, t: t["q"] @ t["k"].transpose(1, 2) / 8,
    "bert_context": lambda f, t: t["p"] @ t["v"],
    "r50_stem": relu(convolution(2, 3)),
    "r50_max_pool": lambda f, t: f.max_pool2d(t["x"][None], 3, 2, 1)[0],
    "r50_global_pool": lambda f, t: t["x"].mean((1, 2)),
    "r50_classifier": lambda f, t: t["w"] @ t["x"] + t["b"],
    "conv_nchw": relu(convolution(1, 1)),
    "conv_nhwc": channels_last,
    "contraction_4": einsum("aec,ebd->abcd"),
    "contraction_6": einsum("aefc,fbed->abcd"),
}


# What fusing helps; compiling takes torch seconds, which the others do not have.
COMPILED = (
    "gpu_add",
    "gpu_softmax",
    "gpu_layer_norm",
    "gpu_column_sums",
    "gpu_attention",
    "bert_grow",
)


def function_of(item):
    """None: no peer is known. Convolutions of ResNet-50 by their shapes and names."""
    name, shapes = item["program"], {spec["name"]: spec["shape"] for spec in item["inputs"]}
    if name in FUNCTIONS:
        return FUNCTIONS[name]
    if name.startswith("r50_") and len(shapes.get("w", ())) == 4:
        stride = shapes["x"][1] // item["outputs"][0]["shape"][1]
        inner = convolution(stride, shapes["w"][2] // 2)
        return inner if name.endswith("project") else relu(inner)
    return None


# ---- tensors of torch over our memory


class OverMemory:
    def __init__(self, tensor):
        kinds = {"f64": "<f8", "f32": "<f4", "f16": "<f2", "bf16": "<i2", "i64": "<i8",
                 "i32": "<i4", "i8": "|i1", "u8": "|u1"}  # fmt: skip
        self.__cuda_array_interface__ = {
            "shape": tuple(tensor.spec["shape"]),
            "typestr": kinds[tensor.spec["dtype"]],
            "data": (tensor.address, False),
            "version": 3,
        }


def over(torch, tensor):
    made = torch.as_tensor(OverMemory(tensor), device="cuda")
    return made.view(torch.bfloat16) if tensor.spec["dtype"] == "bf16" else made


class Peer:
    """Calls in turn on the sets of inputs, in the bench's stream."""

    def __init__(self, torch, call, sets, stream):
        self._torch, self._call, self._sets, self._stream, self._turn = torch, call, sets, stream, 0

    def run(self):
        self._turn = (self._turn + 1) % len(self._sets)
        with self._torch.no_grad(), self._torch.cuda.stream(self._stream):
            return self._call(self._sets[self._turn])

    def first(self):
        """The result for the first set."""
        self._turn = len(self._sets) - 1
        result = self.run()
        self._torch.cuda.synchronize()
        return result


class Replay:
    """One CUDA graph a set of inputs: what a call costs the device alone. Libraries choose their
    algorithms, and compilers compile, in the calls before."""

    def __init__(self, torch, call, sets, stream):
        self._graphs, self._turn, self._torch, self._stream, self._kept = [], 0, torch, stream, []
        with torch.no_grad(), torch.cuda.stream(stream):
            for _ in range(3):
                call(sets[0])
        torch.cuda.synchronize()
        for inputs in sets:
            graph = torch.cuda.CUDAGraph()
            with torch.no_grad(), torch.cuda.graph(graph, stream=stream):
                self._kept.append(call(inputs))
            self._graphs.append(graph)

    def run(self):
        self._turn = (self._turn + 1) % len(self._graphs)
        with self._torch.cuda.stream(self._stream):
            self._graphs[self._turn].replay()

    def first(self):
        """The result for the first set."""
        self._turn = len(self._graphs) - 1
        self.run()
        self._torch.cuda.synchronize()
        return self._kept[0]


def settled(bench):
    import torch

    # f32 is f32, as ours is
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    torch.backends.cudnn.benchmark = True
    return torch, torch.cuda.ExternalStream(bench.stream.value)


def disagreement(torch, got, ours, item):
    """Of a peer's result and what our memory holds; "" where they agree. torch rounds results to
    the operands' type."""
    got, ours = got.double().reshape(-1), ours.double().reshape(-1)
    if got.numel() != ours.numel():
        return f"{got.numel()} elements, ours has {ours.numel()}"
    apart = float((got - ours).abs().max()) / max(float(got.abs().max()), 1e-30)
    allowed = max(AGREE.get(spec["dtype"], 0) for spec in item["inputs"] + item["outputs"])
    return "" if apart <= allowed else f"differs from ours by {apart:.1e} of the largest value"


def contenders(bench, item, sets):
    """(contenders, notes). None of its failures is ours to stop for; each is a note."""
    torch, stream = settled(bench)
    if "network" in item:
        return network_contenders(bench, torch, item, sets, stream)
    function, found, notes = function_of(item), [], []
    if function is None:
        return [], ["no peer in torch is known"]
    named = [{tensor.spec["name"]: over(torch, tensor) for tensor in inputs} for inputs, _ in sets]
    eager = lambda tensors: function(torch.nn.functional, tensors)  # noqa: E731
    ours = over(torch, sets[0][1][0])
    for name, made in ways(bench, torch, eager, named, stream, item["program"] in COMPILED):
        started = time.perf_counter()
        try:
            peer = made()
            problem = disagreement(torch, peer.first(), ours, item)
            if problem:
                notes.append(f"{name}: {problem}")
                continue
            found.append(contender(torch, name, peer))
        except Exception as error:  # of torch, a compiler or a library below
            notes.append(failed(name, error))
        if time.perf_counter() - started > 5:
            notes.append(f"{name}: ready after {time.perf_counter() - started:.0f} s")
    return found, notes


def ways(bench, torch, call, sets, stream, compiles):
    """(name, what makes the peer) of each way in which torch runs a call. Eager operators of a
    few microseconds wait for Python, which starts them one by one; a graph is what they cost the
    device, as our own kernels run."""
    yield "torch", lambda: Peer(torch, call, sets, stream)
    yield "torch, graph", lambda: Replay(torch, call, sets, stream)
    if compiles and bench.options.torch_compile:
        yield (
            "torch.compile, graph",
            lambda: Replay(torch, torch.compile(call, dynamic=False), sets, stream),
        )


def contender(torch, name, peer):
    for _ in range(2):
        peer.run()
    torch.cuda.synchronize()
    return timing.Contender(name, peer.run, None)


def failed(name, error):
    return f"{name}: {type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"


def network_contenders(bench, torch, item, sets, stream):
    made, found, notes = torch_models.model(torch, item["network"]), [], []
    if made is None:
        return [], ["no network of this name in bench/gpu/kit/torch_models.py"]
    made = made.cuda().eval()
    inputs = [over(torch, pair[0][0]) for pair in sets]
    for name, make in ways(bench, torch, made, inputs, stream, True):
        try:
            found.append(contender(torch, name, make()))
        except Exception as error:
            notes.append(failed(name, error))
    notes.append("torch's weights are its own: the same layers, not the same numbers")
    return found, notes


def ceilings(bench):
    """Operations a second of torch's matrix products, bytes of its copy."""
    torch, stream = settled(bench)
    from .driver import Stopwatch

    watch, rates = Stopwatch(bench.driver, bench.stream, 0), {"torch_version": torch.__version__}

    def rate(work, amount):
        with torch.cuda.stream(stream):
            for _ in range(3):
                work()
            return amount / timing.median([watch.seconds_of(work) for _ in range(10)])

    for name, dtype, n, tf32 in (
        ("f32", torch.float32, 4096, False),
        ("tf32", torch.float32, 8192, True),
        ("bf16", torch.bfloat16, 8192, False),
        ("f64", torch.float64, 4096, False),
    ):
        torch.backends.cuda.matmul.allow_tf32 = tf32
        a, b = (torch.randn(n, n, device="cuda", dtype=dtype) for _ in range(2))
        c = torch.empty(n, n, device="cuda", dtype=dtype)
        rates[f"gemm_{name}_flops_per_second"] = rate(lambda: torch.mm(a, b, out=c), 2.0 * n**3)
    source = torch.randn(1 << 28, device="cuda")
    target = torch.empty_like(source)
    rates["copy_bytes_per_second"] = rate(lambda: target.copy_(source), 8.0 * source.numel())
    return rates
