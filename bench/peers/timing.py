"""Contenders timed round by round in changing order, as bench/measure.cc does: drift of the clock
hits all alike."""

import math
import time
from dataclasses import dataclass, field


@dataclass
class Contender:
    name: str
    run: object  # one execution
    result: object  # the output of the last execution, in the case's plain layout
    ours: bool = False
    note: str = ""
    alone: object = None  # the contender that does the same with one thread
    rounds: list = field(default_factory=list)  # seconds an execution


def median(values):
    values = sorted(values)
    half = len(values) // 2
    return values[half] if len(values) % 2 else (values[half - 1] + values[half]) / 2


def interval(values):
    """95 % of the median, by order statistics: no distribution is assumed."""
    values = sorted(values)
    reach = 1.96 * math.sqrt(len(values)) / 2
    low = max(0, math.floor(len(values) / 2 - reach))
    high = min(len(values) - 1, math.ceil(len(values) / 2 + reach))
    return values[low], values[high]


def ratio(a, b):
    """Of two contenders' rounds, pairwise: median and interval."""
    ratios = [x / y for x, y in zip(a.rounds, b.rounds)]
    return median(ratios), *interval(ratios)


def seconds_of(run, iterations):
    start = time.perf_counter()
    for _ in range(iterations):
        run()
    return time.perf_counter() - start


def calibrate(run, warm_up, round_seconds):
    """Executions that fill a round, after a warm-up."""
    total, iterations, each = 0.0, 1, 0.0
    while total < warm_up:
        spent = seconds_of(run, iterations)
        total += spent
        each = spent / iterations
        if spent < warm_up / 4:
            iterations *= 2
    return max(1, round(round_seconds / each))


def measure(contenders, rounds=15, round_seconds=0.02, warm_up=0.05):
    iterations = [calibrate(c.run, warm_up, round_seconds) for c in contenders]
    for round_number in range(rounds):
        for i in range(len(contenders)):
            at = (i + round_number) % len(contenders)
            contenders[at].rounds.append(
                seconds_of(contenders[at].run, iterations[at]) / iterations[at]
            )
