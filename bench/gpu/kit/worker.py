"""The process that touches the device. It says one line of JSON for each piece of work; whoever
started it takes a line that does not come, or an end, as this piece's failure, and starts another
worker for the rest."""

import ctypes
import json
import os
import sys
import time

from peers import timing
from peers.c_api import load_api

from . import data, torch_peers
from .contents import Pack
from .driver import Driver, Stopwatch
from .session import DeviceTensor, RunError, Session

FILLS = ("int:1", "normal:1")
CPU_FLOPS = 1e10  # of one processor by the reference, at least
NETWORK_TOLERANCE = 1e-3  # of the largest value, after some hundred sums
DEVICE = 6  # exit status: nothing more can be done in this process


class Bench:
    """What every piece of work needs."""

    def __init__(self, options):
        self.pack, self.options = Pack(options.pack), options
        for name in self.pack.contents["libraries"]:
            ctypes.CDLL(self.pack.path(f"lib/{name}"))  # found by its name from here on
        self.api = load_api(self.pack.path("lib/libpolyte_runtime.so"))
        self.data = data.Data(self.pack.path("lib/libpolyte_data.so"))
        self.driver = Driver(options.driver, options.device)
        self.stream = self.driver.stream()
        self.items = self.pack.items()
        self._references = {}

    def session(self, item):
        return Session(self.api, self.pack.artifact(item, self.options.scratch), self.driver)

    def filled(self, specs, fill):
        hosts = [data.Host(spec) for spec in specs]
        for host in hosts:
            self.data.fill(host, fill, host.spec.get("below", 0))
        return hosts

    def on_device(self, specs):
        return [DeviceTensor(self.driver, spec, self.stream) for spec in specs]

    def expected(self, item, fill, inputs):
        """Outputs of the reference, the same for all arms; None where this processor would take
        too long."""
        key = item.get("program") or item["network"], fill
        if key not in self._references:
            self._references = {k: v for k, v in self._references.items() if k[0] == key[0]}
            self._references[key] = self._reference(item, fill, inputs)
        return self._references[key]

    def _reference(self, item, fill, inputs):
        outputs = [data.Host(spec) for spec in item["outputs"]]
        if "expected" in item:
            for host, name in zip(outputs, item["expected"][fill]):
                with open(self.pack.path(name), "rb") as file:
                    host.set_bytes(file.read())
            return outputs
        if (
            item["flops"]
            > CPU_FLOPS * len(os.sched_getaffinity(0)) * self.options.reference_seconds
        ):
            return None
        session = Session(self.api, self.pack.path(item["reference"]))
        session.run_on_host(inputs, outputs)
        session.close()
        return outputs


# ---- pieces of work; each returns what its line says


def check_run(bench, item, outputs, run, session, expected, fill):
    """One run on poisoned outputs: problems and words."""
    problems, words = [], []
    for tensor in outputs:
        tensor.poison()
    run()
    session.wait()
    for tensor, right in zip(outputs, expected):
        got, guarded = tensor.download()
        tolerance = NETWORK_TOLERANCE if "network" in item else None
        is_right, text = data.verdict(
            bench.data.compare(got, right), tensor.spec["dtype"], tolerance
        )
        words.append(text)
        if not is_right:
            problems.append(f"{fill}, {tensor.spec['name']}: {text}")
        if not guarded:
            problems.append(f"{fill}, {tensor.spec['name']}: wrote behind its end")
    return problems, words


def correct(bench, name):
    item, started = bench.items[name], time.perf_counter()
    session = bench.session(item)
    inputs, outputs = bench.on_device(item["inputs"]), bench.on_device(item["outputs"])
    run = session.bound(inputs, outputs, bench.stream)
    line = {"id": name, "problems": [], "words": {}}
    for fill in FILLS:
        hosts = bench.filled(item["inputs"], fill)
        for tensor, host in zip(inputs, hosts):
            tensor.upload(host)
        expected = bench.expected(item, fill, hosts)
        if expected is None:
            line["not_checked"] = "the reference on this processor would take too long"
            continue
        for again in ("", ", replayed"):  # the second run is the first one's graph
            problems, words = check_run(bench, item, outputs, run, session, expected, fill + again)
            line["problems"] += problems
            line["words"][fill + again] = words
    for tensor in inputs + outputs:
        tensor.free()
    session.close()
    return {**line, "seconds": time.perf_counter() - started}


def once(bench, name):
    """One run and nothing else, for tools that look at it."""
    item = bench.items[name]
    session, inputs, outputs = (
        bench.session(item),
        bench.on_device(item["inputs"]),
        bench.on_device(item["outputs"]),
    )
    for tensor, host in zip(inputs, bench.filled(item["inputs"], "normal:1")):
        tensor.upload(host)
    session.bound(inputs, outputs, bench.stream)()
    session.wait()
    session.close()
    return {"id": name}


class Ours:
    """An arm of ours, on sets of tensors in turn."""

    def __init__(self, bench, name, sets):
        self.session = bench.session(bench.items[name])
        self.runs = [self.session.bound(inputs, outputs, bench.stream) for inputs, outputs in sets]
        self.turn = 0
        for run in self.runs:  # captures the graph
            run()
        self.session.wait()

    def close(self):
        self.session.close()

    def run(self):
        self.turn = (self.turn + 1) % len(self.runs)
        self.runs[self.turn]()


def measured(bench, contenders):
    """Rounds of all, in changing order, until the time is up; at least three."""
    watch = Stopwatch(bench.driver, bench.stream, bench.options.flush_bytes)
    deadline = time.perf_counter() + bench.options.seconds_a_program
    for contender in contenders:
        watch.seconds_of(contender.run)
    for number in range(bench.options.rounds):
        if number >= 3 and time.perf_counter() > deadline:
            break
        for i in range(len(contenders)):
            contender = contenders[(i + number) % len(contenders)]
            contender.rounds.append(watch.seconds_of(contender.run))
    return contenders


def timed_rows(contenders):
    ours, peers = [c for c in contenders if c.ours], [c for c in contenders if not c.ours]
    best, rows = min(peers, key=lambda c: timing.median(c.rounds), default=None), {}
    for c in contenders:
        low, high = timing.interval(c.rounds)
        rows[c.name] = {
            "real_time": timing.median(c.rounds) * 1e6,
            "time_unit": "us",
            "rounds": len(c.rounds),
            "interval": [low * 1e6, high * 1e6],
            "ours": c.ours,
        }
        if c in ours and best:
            ratio, low, high = timing.ratio(c, best)
            rows[c.name].update(
                {
                    "best_peer": best.name,
                    "ours_over_peer": ratio,
                    "ours_over_peer_interval": [low, high],
                }
            )
    return rows


def peers_of(bench, item, sets):
    """What torch cannot do is no reason not to time ours."""
    if not bench.options.torch:
        return [], []
    try:
        return torch_peers.contenders(bench, item, sets)
    except Exception as error:
        return [], [f"torch: {type(error).__name__}: {error}"]


def timed(bench, names):
    """The arms of one Program or network, "a+b", beside its peers."""
    items = [bench.items[name] for name in names.split("+")]
    first, sets = items[0], []
    for fill in ("normal:1", "normal:2"):
        inputs, outputs = bench.on_device(first["inputs"]), bench.on_device(first["outputs"])
        for tensor, host in zip(inputs, bench.filled(first["inputs"], fill)):
            tensor.upload(host)
        sets.append((inputs, outputs))
    ours = [Ours(bench, item["id"], sets) for item in items]
    contenders = [
        timing.Contender(f"polyte {item['arm']}", each.run, None, ours=True)
        for item, each in zip(items, ours)
    ]
    peers, notes = peers_of(bench, first, sets)
    rows = timed_rows(measured(bench, contenders + peers))
    for each in ours:
        each.close()
    for tensor in [tensor for pair in sets for side in pair for tensor in side]:
        tensor.free()
    return {"id": names, "rows": rows, "notes": notes}


def describe(bench, _):
    return {"id": "device", "facts": bench.driver.describe()}


def copy_ceiling(bench, _):
    """Bytes read and written a second by the driver's own copy."""
    size = bench.options.copy_bytes
    source, target = bench.driver.allocate(size), bench.driver.allocate(size)
    bench.driver.fill_words(source, 1, size // 4, bench.stream)
    watch = Stopwatch(bench.driver, bench.stream, 0)
    seconds = [
        watch.seconds_of(lambda: bench.driver.copy(target, source, size, bench.stream))
        for _ in range(12)
    ]
    bench.driver.free(source)
    bench.driver.free(target)
    return {"id": "copy", "bytes_per_second": 2 * size / timing.median(seconds[2:]), "bytes": size}


def launch_floor(bench, _):
    """Seconds of a graph whose one kernel does nothing, after a flush as every kernel has it."""
    graph, watch = (
        bench.driver.graph_of_nothing(bench.stream),
        Stopwatch(bench.driver, bench.stream, bench.options.flush_bytes),
    )
    seconds = [
        watch.seconds_of(lambda: bench.driver.launch(graph, bench.stream)) for _ in range(30)
    ]
    return {"id": "launch", "launch_seconds": timing.median(seconds[5:])}


def torch_ceilings(bench, _):
    return {"id": "torch", **torch_peers.ceilings(bench)}


WORK = {
    "describe": describe,
    "copy": copy_ceiling,
    "launch": launch_floor,
    "torch": torch_ceilings,
    "correct": correct,
    "once": once,
    "time": timed,
}


def main(options):
    bench = Bench(options)
    for name in options.ids:
        try:
            line = WORK[options.worker](bench, name)
        except RunError as error:
            line = {"id": name, "failed": str(error)}
            if error.status == DEVICE:
                print(json.dumps({**line, "lost": True}), flush=True)
                sys.exit(DEVICE)
        except Exception as error:  # a library's own kinds: the next piece may do
            line = {"id": name, "failed": f"{type(error).__name__}: {error}"}
        print(json.dumps(line), flush=True)
