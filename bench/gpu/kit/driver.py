"""The CUDA driver through ctypes: memory, streams, events, and what it says of the device."""

import ctypes as c

ATTRIBUTES = {
    "threads_a_block": 1,
    "clock_khz": 13,
    "multiprocessors": 16,
    "memory_clock_khz": 36,
    "memory_bus_bits": 37,
    "l2_bytes": 38,
    "threads_a_multiprocessor": 39,
    "major": 75,
    "minor": 76,
    "shared_bytes_a_multiprocessor": 81,
    "shared_bytes_a_block": 97,
}
NOTHING = b".version 7.0\n.target sm_50\n.address_size 64\n.visible .entry nothing() { ret; }\n\0"
POISON = 0xFFFFFFFF  # not a number, in every type of floating point


class DriverError(Exception):
    """`lost`: nothing that is asked of this process's context after it succeeds."""


class Driver:
    """One device, its context current in this thread."""

    def __init__(self, path, number):
        try:
            self._library = c.CDLL(path)
        except OSError as error:
            raise DriverError(f"no CUDA driver: {error}") from error
        self.path, self.number = path, number
        self._call("cuInit", c.c_uint(0))
        device, context = c.c_int(), c.c_void_p()
        self._call("cuDeviceGet", c.byref(device), c.c_int(number))
        self._device = device
        self._call("cuDevicePrimaryCtxRetain", c.byref(context), device)
        self._call("cuCtxPushCurrent_v2", context)
        self._flush = None

    def _call(self, name, *arguments):
        result = getattr(self._library, name)(*arguments)
        if result != 0:
            text = c.c_char_p()
            self._library.cuGetErrorName(c.c_int(result), c.byref(text))
            raise DriverError(f"{name}: {(text.value or b'error').decode()} ({result})")

    # ---- the device

    def describe(self):
        name, version, memory = c.create_string_buffer(256), c.c_int(), c.c_size_t()
        self._call("cuDeviceGetName", name, c.c_int(255), self._device)
        self._call("cuDriverGetVersion", c.byref(version))
        self._call("cuDeviceTotalMem_v2", c.byref(memory), self._device)
        facts = {
            "device": name.value.decode(),
            "memory_bytes": memory.value,
            "driver_cuda": f"{version.value // 1000}.{version.value % 1000 // 10}",
        }
        for key, number in ATTRIBUTES.items():
            value = c.c_int()
            self._call("cuDeviceGetAttribute", c.byref(value), c.c_int(number), self._device)
            facts[key] = value.value
        facts["compute_capability"] = f"{facts.pop('major')}.{facts.pop('minor')}"
        return facts

    # ---- memory; addresses are numbers

    def allocate(self, size):
        address = c.c_uint64()
        self._call("cuMemAlloc_v2", c.byref(address), c.c_size_t(max(size, 4)))
        return address.value

    def free(self, address):
        self._call("cuMemFree_v2", c.c_uint64(address))

    def to_device(self, address, memory, size, stream):
        self._call(
            "cuMemcpyHtoDAsync_v2",
            c.c_uint64(address),
            c.c_void_p(memory),
            c.c_size_t(size),
            stream,
        )

    def to_host(self, memory, address, size, stream):
        self._call(
            "cuMemcpyDtoHAsync_v2",
            c.c_void_p(memory),
            c.c_uint64(address),
            c.c_size_t(size),
            stream,
        )

    def copy(self, to, source, size, stream):
        self._call(
            "cuMemcpyDtoDAsync_v2", c.c_uint64(to), c.c_uint64(source), c.c_size_t(size), stream
        )

    def fill_words(self, address, value, words, stream):
        self._call(
            "cuMemsetD32Async", c.c_uint64(address), c.c_uint(value), c.c_size_t(words), stream
        )

    # ---- kernels

    def graph_of(self, stream, work):
        """What `work` puts into the stream, to be launched as a whole."""
        graph, ready = c.c_void_p(), c.c_void_p()
        self._call("cuStreamBeginCapture_v2", stream, c.c_int(1))
        work()
        self._call("cuStreamEndCapture", stream, c.byref(graph))
        self._call("cuGraphInstantiateWithFlags", c.byref(ready), graph, c.c_ulonglong(0))
        return ready

    def graph_of_nothing(self, stream):
        """A graph of one kernel that does nothing: what a run costs before it does anything."""
        module, function = c.c_void_p(), c.c_void_p()
        self._call("cuModuleLoadData", c.byref(module), NOTHING)
        self._call("cuModuleGetFunction", c.byref(function), module, b"nothing")
        sizes = [c.c_uint(n) for n in (1, 1, 1, 32, 1, 1, 0)]
        return self.graph_of(
            stream, lambda: self._call("cuLaunchKernel", function, *sizes, stream, None, None)
        )

    def launch(self, graph, stream):
        self._call("cuGraphLaunch", graph, stream)

    # ---- streams and events

    def stream(self):
        stream = c.c_void_p()
        self._call("cuStreamCreate", c.byref(stream), c.c_uint(1))
        return stream

    def wait(self, stream):
        self._call("cuStreamSynchronize", stream)

    def event(self):
        event = c.c_void_p()
        self._call("cuEventCreate", c.byref(event), c.c_uint(0))
        return event

    def record(self, event, stream):
        self._call("cuEventRecord", event, stream)

    def seconds(self, start, end):
        milliseconds = c.c_float()
        self._call("cuEventSynchronize", end)
        self._call("cuEventElapsedTime", c.byref(milliseconds), start, end)
        return milliseconds.value * 1e-3

    def flush_cache(self, stream, size):
        """Writes more than the second cache holds, so that what runs next finds nothing there."""
        if size == 0:
            return
        if self._flush is None:
            self._flush = self.allocate(size)
        self.fill_words(self._flush, 0, size // 4, stream)


class Stopwatch:
    """Seconds that a stream takes for one piece of work, by the device's own clock."""

    def __init__(self, driver, stream, flush_bytes):
        self._driver, self._stream, self._flush_bytes = driver, stream, flush_bytes
        self._start, self._end = driver.event(), driver.event()

    def seconds_of(self, work):
        """The flush is under way while the work is put into the stream: starting it costs no time
        that is counted."""
        self._driver.flush_cache(self._stream, self._flush_bytes)
        self._driver.record(self._start, self._stream)
        work()
        self._driver.record(self._end, self._stream)
        return self._driver.seconds(self._start, self._end)
