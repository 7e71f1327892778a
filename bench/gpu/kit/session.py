"""An artifact on the device and, as the reference, one on this processor."""

import ctypes as c

from peers.c_api import CUDA, POINTER

from .data import Host, described
from .driver import POISON

GUARD = 256  # bytes behind every tensor that nobody may write


class RunError(Exception):
    def __init__(self, status, text):
        super().__init__(text)
        self.status = status


class Session:
    """`driver` None: an artifact for this processor."""

    def __init__(self, api, path, driver=None, threads=0):
        self._api, self._handle, self._problem = api, POINTER(), POINTER()
        if driver is None:
            self._check(
                api.session_open(
                    path.encode(), threads, c.byref(self._handle), c.byref(self._problem)
                )
            )
        else:
            self._check(
                api.session_open_on_device(
                    path.encode(),
                    driver.number,
                    driver.path.encode(),
                    c.byref(self._handle),
                    c.byref(self._problem),
                )
            )

    def _check(self, status):
        if status != 0:
            text = self._api.problem_text(self._problem).decode()
            self._api.problem_free(self._problem)
            raise RunError(status, text)

    def close(self):
        self._api.session_close(self._handle)

    @staticmethod
    def _packed(tensors):
        from peers.c_api import DlTensor

        return (DlTensor * max(len(tensors), 1))(*tensors)

    def run_on_host(self, inputs, outputs):
        """Host tensors of this processor."""
        ins, outs = [h.tensor() for h in inputs], [h.tensor() for h in outputs]
        self._check(
            self._api.session_run(
                self._handle,
                c.cast(self._packed(ins), POINTER),
                len(ins),
                c.cast(self._packed(outs), POINTER),
                len(outs),
                c.byref(self._problem),
            )
        )

    def bound(self, inputs, outputs, stream):
        """A function that puts one run on these DeviceTensors into the stream."""
        ins, outs = [t.tensor for t in inputs], [t.tensor for t in outputs]
        packed = self._packed(ins), self._packed(outs)
        arguments = (
            self._handle,
            c.cast(packed[0], POINTER),
            len(ins),
            c.cast(packed[1], POINTER),
            len(outs),
            stream,
            c.byref(self._problem),
        )

        def run(kept=(packed, ins, outs)):
            self._check(self._api.session_run_on_device(*arguments))

        return run

    def wait(self):
        self._check(self._api.session_wait(self._handle, c.byref(self._problem)))


class DeviceTensor:
    """Memory of the device with a guard behind it."""

    def __init__(self, driver, spec, stream):
        self.driver, self.spec, self.stream = driver, spec, stream
        self._host = Host(spec)
        self._words = -(-self._host.size // 4) + GUARD // 4
        self.address = driver.allocate(4 * self._words)
        self.tensor = described(spec, self.address, CUDA, driver.number)

    def poison(self):
        self.driver.fill_words(self.address, POISON, self._words, self.stream)

    def upload(self, host):
        self.poison()
        self.driver.to_device(self.address, host.address, host.size, self.stream)
        self.driver.wait(self.stream)

    def download(self):
        """The tensor, and whether the guard is as it was."""
        guarded = Host({"name": "guard", "dtype": "u32", "shape": [self._words]})
        self.driver.to_host(guarded.address, self.address, guarded.size, self.stream)
        self.driver.wait(self.stream)
        self._host.set_bytes(c.string_at(guarded.address, self._host.size))
        behind = c.string_at(guarded.address + self._host.size, guarded.size - self._host.size)
        return self._host, behind.count(b"\xff") == len(behind)

    def free(self):
        self.driver.free(self.address)
