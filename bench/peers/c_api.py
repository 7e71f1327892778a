"""The runtime's C API (runtime/polyte_runtime.h) for ctypes; needs nothing but Python."""

import ctypes as c

CPU, CUDA = 1, 2  # device types of DLPack
POINTER = c.c_void_p


class DlTensor(c.Structure):
    _fields_ = [
        ("data", c.c_void_p),
        ("device_type", c.c_int32),
        ("device_id", c.c_int32),
        ("ndim", c.c_int32),
        ("code", c.c_uint8),
        ("bits", c.c_uint8),
        ("lanes", c.c_uint16),
        ("shape", c.POINTER(c.c_int64)),
        ("strides", c.c_void_p),
        ("byte_offset", c.c_uint64),
    ]


class TensorInfo(c.Structure):
    _fields_ = [
        ("name", c.c_char_p),
        ("code", c.c_uint8),
        ("bits", c.c_uint8),
        ("lanes", c.c_uint16),
        ("ndim", c.c_int32),
        ("shape", c.POINTER(c.c_int64)),
    ]


class Device(c.Structure):
    _fields_ = [("type", c.c_int32), ("id", c.c_int32)]


PROBLEM = c.POINTER(POINTER)
DESCRIBE = c.CFUNCTYPE(c.c_int, POINTER, c.c_int32, c.POINTER(TensorInfo))
COUNT = c.CFUNCTYPE(c.c_int32, POINTER)
STEP_TEXT = c.CFUNCTYPE(c.c_char_p, POINTER, c.c_int32)
UNUSED = c.c_void_p  # an entry that no script calls


class Api(c.Structure):
    _fields_ = [
        ("size", c.c_uint32),
        ("version", c.c_uint32),
        ("session_open", c.CFUNCTYPE(c.c_int, c.c_char_p, c.c_int32, c.POINTER(POINTER), PROBLEM)),
        ("session_close", c.CFUNCTYPE(None, POINTER)),
        ("input_count", COUNT),
        ("output_count", COUNT),
        ("input_info", DESCRIBE),
        ("output_info", DESCRIBE),
        (
            "session_run",
            c.CFUNCTYPE(c.c_int, POINTER, POINTER, c.c_int32, POINTER, c.c_int32, PROBLEM),
        ),
        ("problem_text", c.CFUNCTYPE(c.c_char_p, POINTER)),
        ("problem_status", c.CFUNCTYPE(c.c_int, POINTER)),
        ("problem_free", c.CFUNCTYPE(None, POINTER)),
        ("step_count", COUNT),
        ("step_group", STEP_TEXT),
        ("step_kernel", STEP_TEXT),
        (
            "session_run_timed",
            c.CFUNCTYPE(
                c.c_int, POINTER, POINTER, c.c_int32, POINTER, c.c_int32, POINTER, c.c_void_p
            ),
        ),
        ("symbol_count", COUNT),
        ("symbol_info", UNUSED),
        ("output_shape", UNUSED),
        ("step_scheduler_asked", STEP_TEXT),
        ("step_scheduler_used", STEP_TEXT),
        ("step_declined", STEP_TEXT),
        ("session_open_signed", UNUSED),
        (
            "session_open_on_device",
            c.CFUNCTYPE(c.c_int, c.c_char_p, c.c_int32, c.c_char_p, c.POINTER(POINTER), PROBLEM),
        ),
        ("session_device", c.CFUNCTYPE(Device, POINTER)),
        (
            "session_run_on_device",
            c.CFUNCTYPE(c.c_int, POINTER, POINTER, c.c_int32, POINTER, c.c_int32, POINTER, PROBLEM),
        ),
        ("session_wait", c.CFUNCTYPE(c.c_int, POINTER, PROBLEM)),
    ]


def load_api(path):
    library = c.CDLL(path)
    library.polyte_runtime_get_api.restype = c.POINTER(Api)
    api = library.polyte_runtime_get_api(1).contents
    if api.size < c.sizeof(Api):
        raise RuntimeError(
            f"{path}: its table has {api.size} bytes, expected {c.sizeof(Api)} or more"
        )
    return api
