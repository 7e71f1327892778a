"""oneDNN 3 through its C interface: memory over arrays, primitives, their execution. Its
objects are handles."""

import ctypes as c
import os

CPU, INFERENCE, IN_ORDER, ANY = 1, 96, 1, 1
TYPES = {"f16": 1, "bf16": 2, "f32": 3, "i32": 4, "i8": 5, "u8": 6}
CONVOLUTION_AUTO, POOL_MAX, POOL_MEAN_OF_ALL = 3, 0x1FF, 0x2FF
ELTWISE = {
    "relu": 0x20,
    "tanh": 0x21,
    "abs": 0x24,
    "sqrt": 0x25,
    "linear": 0x26,
    "sigmoid": 0x29,
    "exp": 0x2A,
    "log": 0x2D,
    "round": 0x32,
}
BINARY = {
    "add": 0x1FFF0,
    "mul": 0x1FFF1,
    "max": 0x1FFF2,
    "min": 0x1FFF3,
    "div": 0x1FFF4,
    "sub": 0x1FFF5,
}
REDUCTION = {"max": 0x2FFF2, "min": 0x2FFF3, "add": 0x2FFF4, "mul": 0x2FFF5}
SRC, SRC_1, DST, WEIGHTS = 1, 2, 17, 33
QUERY_SRC, QUERY_WEIGHTS, QUERY_DST = 129, 131, 133


class Argument(c.Structure):
    _fields_ = [("arg", c.c_int), ("memory", c.c_void_p)]


class Version(c.Structure):
    _fields_ = [("major", c.c_int), ("minor", c.c_int), ("patch", c.c_int)]


def find():
    """The library, of POLYTE_ONEDNN or of the loader's path, and its version. ImportError where
    it is not there."""
    given = os.environ.get("POLYTE_ONEDNN")
    for name in [given] if given else ["libdnnl.so.3", "libdnnl.so"]:
        try:
            library = c.CDLL(name)
        except OSError as error:
            problem = error
            continue
        library.dnnl_version.restype = c.POINTER(Version)
        version = library.dnnl_version().contents
        if version.major == 3:
            return library, f"oneDNN {version.major}.{version.minor}.{version.patch}"
        problem = f"{name} is of version {version.major}, expected 3"
    raise ImportError(f"{problem}; POLYTE_ONEDNN names a libdnnl.so.3")


def dims(values):
    return (c.c_int64 * max(len(values), 1))(*values)


class Dnnl:
    def __init__(self):
        self._library, self.version = find()
        self._library.dnnl_primitive_desc_query_md.restype = c.c_void_p
        self._library.dnnl_primitive_desc_query_md.argtypes = [c.c_void_p, c.c_int, c.c_int]
        self._engine, self._stream = c.c_void_p(), c.c_void_p()
        self.call("engine_create", c.byref(self._engine), CPU, c.c_size_t(0))
        self.call("stream_create", c.byref(self._stream), self._engine, IN_ORDER)

    def call(self, name, *arguments):
        status = getattr(self._library, "dnnl_" + name)(*arguments)
        if status != 0:
            raise RuntimeError(
                f"oneDNN: {name}: status {status}" + (", not implemented" if status == 3 else "")
            )

    def plain(self, array, dtype):
        """The descriptor of an array as it lies in memory."""
        md = c.c_void_p()
        strides = [s // array.itemsize for s in array.strides]
        self.call(
            "memory_desc_create_with_strides",
            c.byref(md),
            array.ndim,
            dims(array.shape),
            TYPES[dtype],
            dims(strides),
        )
        return md

    def any(self, shape, dtype):
        md = c.c_void_p()
        self.call(
            "memory_desc_create_with_tag", c.byref(md), len(shape), dims(shape), TYPES[dtype], ANY
        )
        return md

    def memory(self, md, array=None):
        handle = c.c_void_p()
        # else allocated
        place = c.c_void_p(2**64 - 1) if array is None else c.c_void_p(array.ctypes.data)
        self.call("memory_create", c.byref(handle), md, self._engine, place)
        return handle

    def primitive(self, kind, *arguments):
        pd, handle = c.c_void_p(), c.c_void_p()
        self.call(kind + "_primitive_desc_create", c.byref(pd), self._engine, *arguments)
        self.call("primitive_create", c.byref(handle), pd)
        return pd, handle

    def queried(self, pd, what):
        return c.c_void_p(self._library.dnnl_primitive_desc_query_md(pd, what, 0))

    def runner(self, handle, arguments):
        array = (Argument * len(arguments))(
            *[Argument(arg, memory) for arg, memory in arguments.items()]
        )
        execute, wait = self._library.dnnl_primitive_execute, self._library.dnnl_stream_wait
        stream, count = self._stream, len(arguments)

        def run():
            execute(handle, stream, count, array)
            wait(stream)

        return run

    def reorder(self, from_md, from_memory, to_md, to_memory):
        pd, handle = c.c_void_p(), c.c_void_p()
        self.call(
            "reorder_primitive_desc_create",
            c.byref(pd),
            from_md,
            self._engine,
            to_md,
            self._engine,
            None,
        )
        self.call("primitive_create", c.byref(handle), pd)
        return self.runner(handle, {SRC: from_memory, DST: to_memory})
