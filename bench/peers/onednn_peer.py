"""oneDNN 2 through its C interface (the libdnnl of a distribution); its structs are memory that
only it looks into.

Layouts are its own choice (`any`) for images and constant weights, as in a network that it runs
alone, and reordered outside the timed region; other operands are row-major, and so are images of
drawn operators, whose Programs have them so.
"""

import ctypes as c

import numpy as np

from .polyte import aligned, aligned_copy
from .timing import Contender

F32, CPU, INFERENCE, TAG_ANY = 3, 1, 96, 1
CONVOLUTION_AUTO, RELU, REDUCTION_SUM, SOFTMAX_ACCURATE, NORM_SCALE_SHIFT = (
    3,
    31,
    0x2FFFC,
    0x30000,
    8 | 16,
)
QUERY_SRC, QUERY_WEIGHTS, QUERY_DST = 129, 131, 133
POOLING_MAX = 0x1FF
ARG_SRC, ARG_DST, ARG_WEIGHTS, ARG_BIAS = 1, 17, 33, 41
ARG_MEAN, ARG_VARIANCE, ARG_SCALE, ARG_SHIFT = 49, 50, 51, 52
DESCRIPTOR_BYTES = 1 << 14  # more than any descriptor of version 2


class Argument(c.Structure):
    _fields_ = [("arg", c.c_int), ("memory", c.c_void_p)]


class Version(c.Structure):
    _fields_ = [("major", c.c_int), ("minor", c.c_int), ("patch", c.c_int)]


def load(threads):
    for name in ("libdnnl.so.2", "libdnnl.so"):
        try:
            library = c.CDLL(name)
        except OSError:
            continue
        library.dnnl_version.restype = c.POINTER(Version)
        version = library.dnnl_version().contents
        if version.major == 2:
            return OneDnnPeer(library, f"oneDNN {version.major}.{version.minor}.{version.patch}")
    raise ImportError("no libdnnl of version 2")


def dims(values):
    return (c.c_int64 * 12)(*values)


class OneDnnPeer:
    def __init__(self, library, version):
        self.version, self._library = version, library
        library.dnnl_primitive_desc_query_md.restype = c.c_void_p
        library.dnnl_primitive_desc_query_md.argtypes = [c.c_void_p, c.c_int, c.c_int]
        self._engine, self._stream = c.c_void_p(), c.c_void_p()
        self._call("engine_create", c.byref(self._engine), CPU, c.c_size_t(0))
        self._call("stream_create", c.byref(self._stream), self._engine, 1)

    def _call(self, name, *arguments):
        status = getattr(self._library, "dnnl_" + name)(*arguments)
        if status != 0:
            raise RuntimeError(f"dnnl_{name}: status {status}")

    def plain(self, shape, strides=None):
        """A memory descriptor; strides in elements, row-major without."""
        if strides is None:
            strides = [int(np.prod(shape[i + 1 :])) for i in range(len(shape))]
        md = c.create_string_buffer(DESCRIPTOR_BYTES)
        self._call("memory_desc_init_by_strides", md, len(shape), dims(shape), F32, dims(strides))
        return md

    def any(self, shape):
        md = c.create_string_buffer(DESCRIPTOR_BYTES)
        self._call("memory_desc_init_by_tag", md, len(shape), dims(shape), F32, TAG_ANY)
        return md

    def memory(self, md, array=None):
        handle = c.c_void_p()
        allocate = c.c_void_p(2**64 - 1)
        self._call(
            "memory_create",
            c.byref(handle),
            md,
            self._engine,
            allocate if array is None else c.c_void_p(array.ctypes.data),
        )
        return handle

    def primitive(self, descriptor, attributes=None):
        """Descriptor of the primitive and the primitive."""
        pd, handle = c.c_void_p(), c.c_void_p()
        self._call("primitive_desc_create", c.byref(pd), descriptor, attributes, self._engine, None)
        self._call("primitive_create", c.byref(handle), pd)
        return pd, handle

    def runner(self, handle, arguments):
        array = (Argument * len(arguments))(*[(arg, memory) for arg, memory in arguments.items()])
        execute, wait = self._library.dnnl_primitive_execute, self._library.dnnl_stream_wait
        stream, count = self._stream, len(arguments)

        def run():
            execute(handle, stream, count, array)
            wait(stream)

        return run

    def reorder(self, from_md, to_md, source, target):
        pd, handle = c.c_void_p(), c.c_void_p()
        self._call(
            "reorder_primitive_desc_create",
            c.byref(pd),
            from_md,
            self._engine,
            to_md,
            self._engine,
            None,
        )
        self._call("primitive_create", c.byref(handle), pd)
        return self.runner(handle, {ARG_SRC: source, ARG_DST: target})

    def queried(self, pd, what):
        return c.c_void_p(self._library.dnnl_primitive_desc_query_md(pd, what, 0))

    def chosen(self, pd, what, array):
        """Memory in the layout that the primitive chose, with the contents of a row-major array."""
        md, source = self.queried(pd, what), self.plain(array.shape)
        memory = self.memory(md)
        self.reorder(source, md, self.memory(source, array), memory)()
        return memory

    def contenders(self, case):
        kind = f"drawn_{case.kind}" if case.plain else case.kind
        if any(array.dtype != np.float32 for array in case.inputs.values()):
            return []
        make = getattr(self, kind, None)
        return make(case) if make else []

    def _finish(self, handle, arguments, y, held, name="oneDNN"):
        run = self.runner(handle, arguments)
        return [Contender(name, lambda: run() or held, lambda: y)]

    def transpose(self, case):
        x, y = aligned_copy(case.inputs["x"]), aligned(case.reference.shape, np.float32)
        from_md, to_md = self.plain(x.shape), self.plain(x.shape, [1, x.shape[0]])
        run = self.reorder(from_md, to_md, self.memory(from_md, x), self.memory(to_md, y))
        return [Contender("oneDNN", lambda: run() or x, lambda: y)]

    def _unary(self, case, descriptor, x_md, y_md):
        x, y = aligned_copy(case.inputs["x"]), aligned(case.reference.shape, np.float32)
        _, handle = self.primitive(descriptor)
        return self._finish(
            handle, {ARG_SRC: self.memory(x_md, x), ARG_DST: self.memory(y_md, y)}, y, x
        )

    def softmax(self, case):
        md, descriptor = self.plain(case.reference.shape), c.create_string_buffer(DESCRIPTOR_BYTES)
        self._call(
            "softmax_v2_forward_desc_init", descriptor, INFERENCE, SOFTMAX_ACCURATE, md, md, 1
        )
        return self._unary(case, descriptor, md, md)

    def first_axis_sum(self, case):
        rows, columns = case.sizes
        x_md, y_md = self.plain((rows, columns)), self.plain((1, columns))
        descriptor = c.create_string_buffer(DESCRIPTOR_BYTES)
        self._call(
            "reduction_desc_init", descriptor, REDUCTION_SUM, x_md, y_md, c.c_float(0), c.c_float(0)
        )
        return self._unary(case, descriptor, x_md, y_md)

    def layer_norm(self, case):
        x, g, b = (aligned_copy({**case.inputs, **case.constants}[name]) for name in "xgb")
        y, md = aligned(x.shape, np.float32), self.plain(x.shape)
        descriptor, statistics = c.create_string_buffer(DESCRIPTOR_BYTES), self.plain(x.shape[:1])
        self._call(
            "layer_normalization_forward_desc_init",
            descriptor,
            INFERENCE,
            md,
            statistics,
            c.c_float(1e-5),
            NORM_SCALE_SHIFT,
        )
        _, handle = self.primitive(descriptor)
        vector = self.plain(g.shape)
        arguments = {
            ARG_SRC: self.memory(md, x),
            ARG_DST: self.memory(md, y),
            ARG_SCALE: self.memory(vector, g),
            ARG_SHIFT: self.memory(vector, b),
            ARG_MEAN: self.memory(statistics),
            ARG_VARIANCE: self.memory(statistics),
        }
        return self._finish(handle, arguments, y, (x, g, b))

    def _matmul(self, case, packed):
        a, b = (aligned_copy({**case.inputs, **case.constants}[name]) for name in "AB")
        y, descriptor = (
            aligned(case.reference.shape, np.float32),
            c.create_string_buffer(DESCRIPTOR_BYTES),
        )
        a_md, y_md = self.plain(a.shape), self.plain(y.shape)
        self._call(
            "matmul_desc_init",
            descriptor,
            a_md,
            self.any(b.shape) if packed else self.plain(b.shape),
            None,
            y_md,
        )
        pd, handle = self.primitive(descriptor)
        arguments = {
            ARG_SRC: self.memory(a_md, a),
            ARG_WEIGHTS: self.chosen(pd, QUERY_WEIGHTS, b),
            ARG_DST: self.memory(y_md, y),
        }
        return self._finish(handle, arguments, y, (a, b))

    def gemm(self, case):
        return self._matmul(case, packed=False)

    def gemm_prepacked(self, case):
        return self._matmul(case, packed=True)

    def _relu_after(self):
        operations, attributes = c.c_void_p(), c.c_void_p()
        self._call("post_ops_create", c.byref(operations))
        self._call(
            "post_ops_append_eltwise", operations, c.c_float(1), RELU, c.c_float(0), c.c_float(0)
        )
        self._call("primitive_attr_create", c.byref(attributes))
        self._call("primitive_attr_set_post_ops", attributes, operations)
        return attributes

    def _conv(self, x, w, b, y_shape):
        """Batch of one, 3x3, padding 1; w has groups as its first axis where there are any."""
        descriptor, one = c.create_string_buffer(DESCRIPTOR_BYTES), dims([1, 1])
        self._call(
            "convolution_forward_desc_init",
            descriptor,
            INFERENCE,
            CONVOLUTION_AUTO,
            self.any(x.shape),
            self.any(w.shape),
            self.any(b.shape),
            self.any(y_shape),
            one,
            one,
            one,
        )
        pd, handle = self.primitive(descriptor, self._relu_after())
        y, y_md = aligned(y_shape, np.float32), self.queried(pd, QUERY_DST)
        chosen_y, plain_y = self.memory(y_md), self.plain(y_shape)
        back = self.reorder(y_md, plain_y, chosen_y, self.memory(plain_y, y))
        run = self.runner(
            handle,
            {
                ARG_SRC: self.chosen(pd, QUERY_SRC, x),
                ARG_DST: chosen_y,
                ARG_WEIGHTS: self.chosen(pd, QUERY_WEIGHTS, w),
                ARG_BIAS: self.memory(self.plain(b.shape), b),
            },
        )

        def result():
            back()
            return y[0]

        return [Contender("oneDNN", lambda: run() or (x, w, b), result)]

    def conv_3x3(self, case):
        x, b, w = case.inputs["x"][None], case.inputs["b"], case.constants["w"]
        return self._conv(
            aligned_copy(x), aligned_copy(w), aligned_copy(b), (1, *case.reference.shape)
        )

    def depthwise(self, case):
        x, b, w = case.inputs["x"][None], case.inputs["b"], case.constants["w"]
        return self._conv(
            aligned_copy(x), aligned_copy(w[:, None]), aligned_copy(b), (1, *case.reference.shape)
        )

    # ---- drawn operators

    def drawn_softmax(self, case):
        return self.softmax(case)

    def drawn_gemm(self, case):
        arrays = [aligned_copy(array) for array in case.plain.inputs.values()]
        turn = case.plain.turned
        seen = [a.swapaxes(-1, -2) if turned else a for a, turned in zip(arrays, turn)]
        mds = [self.plain(a.shape, [stride // a.itemsize for stride in a.strides]) for a in seen]
        y = aligned(case.reference.shape, np.float32)
        descriptor, y_md = c.create_string_buffer(DESCRIPTOR_BYTES), self.plain(y.shape)
        self._call("matmul_desc_init", descriptor, *mds, None, y_md)
        _, handle = self.primitive(descriptor)
        arguments = {
            ARG_SRC: self.memory(mds[0], arrays[0]),
            ARG_WEIGHTS: self.memory(mds[1], arrays[1]),
            ARG_DST: self.memory(y_md, y),
        }
        return self._finish(handle, arguments, y, arrays)

    drawn_batched = drawn_gemm

    def drawn_conv(self, case):
        plain = case.plain
        x, w = (aligned_copy(array) for array in (plain.inputs["x"], plain.constants["w"]))
        if plain.groups > 1:
            w = w[:, None]
        steps, spread = dims([plain.stride] * 2), dims([plain.dilation - 1] * 2)
        reach = [(d - 1) * plain.dilation for d in w.shape[-2:]]
        rows = [(d - r - 1) // plain.stride + 1 for d, r in zip(x.shape[2:], reach)]
        features = w.shape[0] * (w.shape[1] if plain.groups > 1 else 1)
        y = aligned((1, features, *rows), np.float32)
        x_md, y_md = self.plain(x.shape), self.plain(y.shape)
        descriptor, none = c.create_string_buffer(DESCRIPTOR_BYTES), dims([0, 0])
        self._call(
            "dilated_convolution_forward_desc_init",
            descriptor,
            INFERENCE,
            CONVOLUTION_AUTO,
            x_md,
            self.any(w.shape),
            None,
            y_md,
            steps,
            spread,
            none,
            none,
        )
        pd, handle = self.primitive(descriptor)
        run = self.runner(
            handle,
            {
                ARG_SRC: self.memory(x_md, x),
                ARG_DST: self.memory(y_md, y),
                ARG_WEIGHTS: self.chosen(pd, QUERY_WEIGHTS, w),
            },
        )
        return [Contender("oneDNN", lambda: run() or (x, w), lambda: plain.back(y))]

    drawn_depthwise = drawn_conv

    def drawn_pool(self, case):
        plain = case.plain
        x = aligned_copy(plain.inputs["x"])
        rows = [(d - plain.window) // plain.stride + 1 for d in x.shape[2:]]
        y = aligned((*x.shape[:2], *rows), np.float32)
        x_md, y_md = self.plain(x.shape), self.plain(y.shape)
        descriptor, none = c.create_string_buffer(DESCRIPTOR_BYTES), dims([0, 0])
        self._call(
            "pooling_v2_forward_desc_init",
            descriptor,
            INFERENCE,
            POOLING_MAX,
            x_md,
            y_md,
            dims([plain.stride] * 2),
            dims([plain.window] * 2),
            none,
            none,
            none,
        )
        _, handle = self.primitive(descriptor)
        run = self.runner(handle, {ARG_SRC: self.memory(x_md, x), ARG_DST: self.memory(y_md, y)})
        return [Contender("oneDNN", lambda: run() or x, lambda: plain.back(y))]
