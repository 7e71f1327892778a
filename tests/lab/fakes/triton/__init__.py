"""Plays Triton: a kernel is executed as the Python that it is, an instance after
another (language.py)."""

import torch

from . import language

__version__ = "0 (a test's own)"


def cdiv(a, b):
    return -(-a // b)


class Config:
    def __init__(self, sizes, num_warps=4, num_stages=1):
        self.sizes = sizes


class jit:
    def __init__(self, function):
        self._function = function

    def __getitem__(self, grid):
        def launch(*arguments, num_warps=4, **sizes):
            first, second = [*(grid(sizes) if callable(grid) else grid), 1][:2]
            places = [
                language.Pointer(a.reshape(-1)) if isinstance(a, torch.Tensor) else a
                for a in arguments
            ]
            for x in range(first):
                for y in range(second):
                    language.PLACE[:] = x, y
                    self._function(*places, **sizes)

        return launch


def autotune(configs, key):
    """The last one is the smallest."""

    def take(kernel):
        class Tuned:
            def __getitem__(self, grid):
                return lambda *arguments, **more: kernel[grid](
                    *arguments, **more, **configs[-1].sizes
                )

        return Tuned()

    return take
