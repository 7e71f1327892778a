#!/usr/bin/env python3
"""exhaustion_test.py POLYTE CC: what happens where the system gives no more memory, descriptors,
space or threads.

Each call of a kind fails in turn, alone or with all that follow, in `polyte run` and in
`polyte compile`; where there are many, a sample. Allowed is success with the right result, or exit
status 5 with words and nothing left behind.
"""

import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

MODEL = "examples/digits/digits.onnx"
CALLS = ["memfd_create", "pipe2", "pthread_create", "write", "open", "mmap", "malloc"]
# Of a kind of call; fewer where time counts (tests/sweep.h).
MOST_POINTS = (
    {"run": 60, "compile": 24}
    if os.environ.get("POLYTE_SWEEP") == "all"
    else {"run": 20, "compile": 3}
)
FILL = ["--fill", "int:1", "--threads", "2"]


class Bench:
    def __init__(self, polyte, cc, folder):
        self.polyte, self.folder = polyte, Path(folder)
        self.library = self.folder / "fail_call.so"
        source = Path(__file__).with_name("fail_call.c")
        subprocess.run(
            [cc, "-O1", "-shared", "-fPIC", source, "-o", self.library, "-ldl"], check=True
        )

    def start(self, arguments, name, **environment):
        env = dict(
            os.environ,
            LD_PRELOAD=str(self.library),
            TMPDIR=str(self.folder / "absent"),
            **environment,
        )
        return subprocess.run(
            [self.polyte, *arguments],
            env=env,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=120,
        )

    def calls_of(self, arguments, call):
        report = self.folder / "calls"
        done = self.start(arguments, "count", FAIL_CALL=call, FAIL_REPORT=str(report))
        assert done.returncode == 0, done.stderr
        return int(report.read_text())


def points(calls, most):
    """The first third one by one, then ever fewer, and the last."""
    if calls <= most:
        return list(range(1, calls + 1))
    one_by_one = most // 3
    rest = most - one_by_one
    step = (calls / max(one_by_one, 1)) ** (1 / rest)
    later = {min(calls, round(max(one_by_one, 1) * step**i)) for i in range(1, rest + 1)}
    return sorted(set(range(1, one_by_one + 1)) | later | {calls})


def verdict(done, right):
    if done.returncode == 0:
        return None if right() else "exit 0 with another result"
    if done.returncode != 5:
        return f"exit {done.returncode}, expected 0 or 5"
    return None if done.stderr.strip() else "exit 5 without a word"


class Trials:
    """`polyte run` of an artifact and `polyte compile` of its model, while a call fails."""

    def __init__(self, bench):
        self.bench, self.output = bench, bench.folder / "out"
        self.artifact = bench.folder / "digits.polyte"
        self.output.mkdir()
        subprocess.run(
            [bench.polyte, "compile", MODEL, "-o", self.artifact], check=True, capture_output=True
        )
        self.expected = self.printed_by(self.artifact)
        assert self.expected

    def printed_by(self, artifact):
        command = [self.bench.polyte, "run", artifact, *FILL, "--print-top", "10"]
        return subprocess.run(command, capture_output=True, text=True).stdout

    def arguments(self, verb, target):
        if verb == "run":
            return ["run", str(self.artifact), *FILL, "--print-top", "10"]
        return ["compile", MODEL, "-o", str(target)]

    def points(self, verb, call):
        target = self.output / "count"
        calls = self.bench.calls_of(self.arguments(verb, target), call)
        target.unlink(missing_ok=True)
        return points(calls, MOST_POINTS[verb])

    def problem(self, verb, call, at, count):
        """What is wrong where call `at` fails, alone (count 1) or with those after it (0)."""
        target = self.output / f"{verb}-{call}-{at}-{count}"
        done = self.bench.start(
            self.arguments(verb, target),
            target.name,
            FAIL_CALL=call,
            FAIL_AT=str(at),
            FAIL_COUNT=str(count),
        )

        def right():
            printed = done.stdout if verb == "run" else self.printed_by(target)
            return printed == self.expected

        problem = verdict(done, right)
        if problem is None and done.returncode != 0 and target.exists():
            problem = "a file is left behind"
        target.unlink(missing_ok=True)
        where = f"{verb}: {call} {at}{'' if count else ' and after'}"
        return problem and f"{where}: {problem}: {done.stderr.strip()[-300:]}"


def main():
    polyte, cc = sys.argv[1:3]
    with tempfile.TemporaryDirectory() as folder:
        trials = Trials(Bench(polyte, cc, folder))
        with ThreadPoolExecutor(2) as pool:
            jobs = [
                pool.submit(trials.problem, verb, call, at, count)
                for verb in MOST_POINTS
                for call in CALLS
                for at in trials.points(verb, call)
                for count in (1, 0)
            ]
            failures = [job.result() for job in jobs if job.result()]
        left = [path.name for path in trials.output.iterdir()]
        if left:
            failures.append(f"left behind: {left}")
    print(f"{len(jobs)} failing calls, {len(failures)} not as they should be")
    for failure in failures[:60]:
        print("  " + failure.replace("\n", "\n    "))
    sys.exit(1 if failures or len(jobs) < 80 else 0)


main()
