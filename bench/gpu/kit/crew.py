"""Pieces of work by worker processes: a kernel that hangs, or takes the device's context with it,
is one failure."""

import json
import os
import queue
import subprocess
import sys
import threading
import time


class Stage:
    """A part of the run with a time of its own. What it did not come to is said."""

    def __init__(self, name, budget, total_end):
        self.name, self.started = name, time.monotonic()
        self.end = min(self.started + budget, total_end)
        self.notes, self.skipped = [], []
        print(f"== {name}, at most {max(self.end - self.started, 0):.0f} s", flush=True)

    def left(self):
        return self.end - time.monotonic()

    def say(self, text):
        self.notes.append(text)
        print(f"   {text}", flush=True)

    def skip(self, what, why):
        self.skipped.append({"what": what, "why": why})
        print(f"   skipped: {what}: {why}", flush=True)

    def report(self):
        return {
            "seconds": round(time.monotonic() - self.started, 1),
            "notes": self.notes,
            "skipped": self.skipped,
        }


class Crew:
    def __init__(self, script, common, patience):
        self._command, self._patience = [sys.executable, "-B", script, *common], patience

    def set_common(self, common):
        self._command = [*self._command[:3], *common]

    def command(self, work, ids, *more):
        return [*self._command, "--worker", work, *more, "--ids", *ids]

    def run(self, stage, work, ids, *more):
        """Lines of all ids, as they come; where time ends before them, what is left is said."""
        waiting = list(ids)
        while waiting:
            if stage.left() <= 0:
                stage.skip(
                    f"{len(waiting)} of {len(ids)}: {waiting[0]} and after",
                    "the stage's time is up",
                )
                return
            came = 0
            for line in self._lines(stage, self.command(work, waiting, *more), waiting[0]):
                came += 1
                yield line
            waiting = waiting[came:]

    def _lines(self, stage, command, first):
        """Of one worker. The piece that ended it has a line, too, unless the stage's time did."""
        env = {**os.environ, "PYTHONUNBUFFERED": "1"}
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env
        )
        lines, said = queue.Queue(), []
        reader = threading.Thread(target=self._read, args=(process.stdout, lines), daemon=True)
        errors = threading.Thread(target=lambda: said.extend(process.stderr), daemon=True)
        reader.start()
        errors.start()
        at, ids = 0, command[command.index("--ids") + 1 :]
        while at < len(ids):
            limit = min(self._patience, max(stage.left(), 0.1))
            try:
                line = lines.get(timeout=limit)
            except queue.Empty:
                process.kill()
                process.wait()
                if stage.left() > 0:
                    yield {
                        "id": ids[at],
                        "failed": f"nothing came for {self._patience:.0f} s: it was ended",
                    }
                return
            if line is None:
                process.wait()
                errors.join(1)
                last = said[-1].strip() if said else "no word"
                yield {
                    "id": ids[at],
                    "failed": f"the process ended with {process.returncode}: {last}",
                }
                return
            at += 1
            yield line
            if line.get("lost"):
                break
        process.wait()

    @staticmethod
    def _read(stream, lines):
        for text in stream:
            if text.startswith("{"):
                lines.put(json.loads(text))
        lines.put(None)
