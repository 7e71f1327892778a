"""The worker: one peer, one form or model, in a process of its own; started by driver/lab.

python -m lab_peers probe NAME...   versions of peers, or why they are not there, as one JSON
                                    object; probe-gpu: on one
python -m lab_peers work            orders from stdin, answers on stdout, a JSON object a line:

  {"do": "load", "peer": "torch", "threads": 1, "on_gpu": true}
      where there is time before `begin`; {}
  {"do": "begin", "peer": "torch", "threads": 1, "on_gpu": false, "form": {..}} or "model": PATH
      {"version": ..}
  {"do": "set", "tensors": [{"name", "dtype", "shape", "at"}]}
      memory of file 3, at these bytes; {}
  {"do": "clear"}
      the sets are forgotten; {}
  {"do": "run", "set": 0}
      one execution, its results in the memory of the set; {}
  {"do": "choose"}
      on a GPU: which way of starting an execution is quickest; {"way": words}
  {"do": "time", "executions": 10, "evict": 0}
      in turns over the sets; {"ns": .., for all of them}

An answer may be {"absent": why}, {"declined": why} or {"failed": why} instead. "evict": so many
bytes are written before each execution, which is then timed by itself, as it is where a run
changes its inputs. On a GPU the clock is the GPU's (device_clock.py).
"""

import json
import mmap
import os
import sys
import time

from . import peers
from .arrays import Declined


class Worker:
    def __init__(self):
        self._peer, self._sets, self._next, self._memory = None, [], 0, None

    def load(self, order):
        if not order["on_gpu"]:
            peers.settle(order["threads"])
        try:
            import numpy  # noqa: F401  (tensors are its arrays for every peer)

            self._peer = table(order["on_gpu"])[order["peer"]](order["threads"])
        except (ImportError, OSError) as error:
            return {"absent": f"{sys.executable}: {error}"}
        return {}

    def begin(self, order):
        missing = {} if self._peer else self.load(order)
        if missing:
            return missing
        if "model" in order:
            if not hasattr(self._peer, "model"):
                return {"declined": f"{order['peer']} reads no ONNX model"}
            self._peer.model(order["model"])
        else:
            self._peer.prepare(order["form"])
        return {"version": self._peer.version}

    def set(self, order):
        import numpy as np

        size = os.fstat(3).st_size
        if self._memory is None or len(self._memory) < size:
            self._memory = mmap.mmap(3, size)  # arrays hold on to the mapping that they came from
        arrays = {}
        for t in order["tensors"]:
            count = int(np.prod(t["shape"], dtype=np.int64))
            kind = (
                np.uint16
                if t["dtype"] in getattr(self._peer, "as_bits", ())
                else numpy_type(t["dtype"])
            )
            arrays[t["name"]] = np.frombuffer(self._memory, kind, count, t["at"]).reshape(
                t["shape"]
            )
        self._sets.append((arrays, self._peer.bind(arrays)))
        return {}

    def clear(self, order):
        self._sets, self._next = [], 0
        return {}

    def run(self, order):
        arrays, bound = self._sets[order["set"]]
        if bound.prepare:
            bound.prepare()
        bound.run()
        for name, result in bound.results().items():
            arrays[name][...] = result.reshape(arrays[name].shape)
        return {}

    def choose(self, order):
        return {"way": self._peer.choose(self._sets[0][1])}

    def time(self, order):
        if hasattr(self._peer, "clock"):
            return {
                "ns": self._peer.clock.nanoseconds(
                    self._starts(order["executions"]), order["evict"]
                )
            }
        evicted = bytearray(order["evict"])
        single = order["evict"] > 0 or self._sets[0][1].prepare is not None
        clock, total = time.perf_counter_ns, 0
        runs = [bound for _, bound in self._sets]
        turns = (
            [runs[(self._next + i) % len(runs)] for i in range(order["executions"])]
            if len(runs) > 1
            else None
        )
        self._next = (self._next + order["executions"]) % len(runs)
        if single:
            for i in range(order["executions"]):
                bound = turns[i] if turns else runs[0]
                if bound.prepare:
                    bound.prepare()
                if evicted:
                    evicted[::64] = bytes([i & 255]) * len(range(0, len(evicted), 64))
                start = clock()
                bound.run()
                total += clock() - start
        elif turns:
            start = clock()
            for bound in turns:
                bound.run()
            total = clock() - start
        else:
            run, count = runs[0].run, range(order["executions"])
            start = clock()
            for _ in count:
                run()
            total = clock() - start
        return {"ns": total}

    def _starts(self, executions):
        """Of each execution, in turns over the sets."""
        for _ in range(executions):
            self._next = (self._next + 1) % len(self._sets)
            yield self._sets[self._next][1].start


def table(on_gpu):
    if not on_gpu:
        return peers.PEERS
    from . import device_peers

    return device_peers.PEERS


def numpy_type(dtype):
    from .numpy_library import dtype_of

    return dtype_of(dtype)


def reason(error):
    lines = str(error).splitlines()
    return f"{type(error).__name__}: {lines[0][:300] if lines else ''}"


def work():
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what libraries print is no answer
    worker = Worker()
    for line in sys.stdin:
        order = json.loads(line)
        try:
            answer = getattr(worker, order["do"])(order)
        except Declined as why:
            answer = {"declined": str(why)}
        except Exception as error:  # of a library, of any kind
            answer = {"failed": reason(error)}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


def probe(names, on_gpu):
    found = {}
    for name in names:
        try:
            found[name] = {"version": table(on_gpu)[name](1).version}
        except (ImportError, OSError) as error:
            found[name] = {"absent": f"{sys.executable}: {error}"}
        except Exception as error:  # of a library, of any kind
            found[name] = {"absent": reason(error)}
    print(json.dumps(found))


if __name__ == "__main__":
    if sys.argv[1:2] == ["work"]:
        work()
    elif sys.argv[1:2] in (["probe"], ["probe-gpu"]):
        probe(sys.argv[2:], sys.argv[1] == "probe-gpu")
    else:
        sys.exit(__doc__)
