"""What needs a GPU: kernels on torch's and cupy's arrays without copies, in their streams. Prints
what it did.

    PYTHONPATH=build/release/python python3 python/tests/gpu_check.py [cuda:h100]

Exit status 0 where all is right, 77 where there is no GPU. torch and cupy are used where
they are installed.
"""

import sys
import time

import numpy as np

import polyte

TARGET = sys.argv[1] if len(sys.argv) > 1 else "cuda:native"
said = []


def check(name, right):
    said.append(bool(right))
    print(f"{'ok' if right else 'WRONG':6}{name}", flush=True)


def whole(*shape, seed=1):
    return np.random.default_rng(seed).integers(-3, 4, shape).astype("f4")


def own_arrays(kernel, a, b):
    there = [polyte.to_device(each) for each in (a, b)]
    check("DeviceArrays", np.array_equal(kernel(*there).numpy(), a @ b))
    check("this processor's arrays, copied", np.array_equal(kernel(a, b), a @ b))
    made = [kernel(*there, stream=0) for _ in range(20)]
    kernel.wait()
    check("20 calls in a stream", all(np.array_equal(each.numpy(), a @ b) for each in made))
    x = polyte.to_device(a)
    twice = polyte.program(
        "program twice(M, N)\n  inout x: f32[M, N]\n  x[m, n] = x[m, n] * 2\n"
    ).compile(target=TARGET, M=a.shape[0], N=a.shape[1])
    for _ in range(3):
        twice(x)
    check("in place", np.array_equal(x.numpy(), 8 * a))


def of_torch(kernel, a, b):
    try:
        import torch
    except ImportError:
        return print("skipped: torch is not installed")
    if not torch.cuda.is_available():
        return print("skipped: this torch has no CUDA")
    ta, tb = (torch.from_numpy(each).cuda() for each in (a, b))
    out = torch.full((a.shape[0], b.shape[1]), float("nan"), device="cuda")
    check(
        "torch's tensors",
        kernel(ta, tb, out=out) is out and torch.equal(out.cpu(), torch.from_numpy(a @ b)),
    )
    made = torch.from_dlpack(kernel(ta, tb))
    check(
        "a result for torch by DLPack",
        made.is_cuda and torch.equal(made.cpu(), torch.from_numpy(a @ b)),
    )
    made = torch.as_tensor(kernel(ta, tb), device="cuda")
    check(
        "a result for torch by __cuda_array_interface__",
        torch.equal(made.cpu(), torch.from_numpy(a @ b)),
    )
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for _ in range(10):
            ta2 = ta + 1
            kernel(ta2, tb, out=out, stream=stream)
            total = out.sum()
    stream.synchronize()
    kernel.wait()
    check("between torch's own kernels, in its stream", float(total) == float(((a + 1) @ b).sum()))
    address = out.data_ptr()
    check("nothing is copied", kernel(ta, tb, out=out).data_ptr() == address)
    timed(kernel, ta, tb, out, torch)


def timed(kernel, ta, tb, out, torch):
    torch.cuda.synchronize()
    stream, rounds = torch.cuda.current_stream(), 200
    start = time.perf_counter()
    for _ in range(rounds):
        kernel(ta, tb, out=out, stream=stream)
    queued = time.perf_counter() - start
    torch.cuda.synchronize()
    kernel.wait()
    print(
        f"      {1e6 * queued / rounds:.1f} us a call to queue, "
        f"{1e6 * (time.perf_counter() - start) / rounds:.1f} us in all"
    )


def of_cupy(kernel, a, b):
    try:
        import cupy
    except ImportError:
        return print("skipped: cupy is not installed")
    ca, cb, out = (
        cupy.asarray(a),
        cupy.asarray(b),
        cupy.empty((a.shape[0], b.shape[1]), cupy.float32),
    )
    kernel(ca, cb, out=out)
    check("cupy's arrays", np.array_equal(out.get(), a @ b))
    stream = cupy.cuda.Stream(non_blocking=True)
    with stream:
        made = cupy.from_dlpack(kernel(ca + 1, cb, stream=stream))
    stream.synchronize()
    check("in cupy's stream", np.array_equal(made.get(), (a + 1) @ b))


def main():
    try:
        polyte.to_device(np.zeros(1, "f4"))
    except polyte.errors.DeviceError as error:
        print(f"skipped: {error}")
        return 77
    a, b = whole(500, 300), whole(300, 700, seed=2)
    for scheduler in ("template", "poly"):
        kernel = polyte.op("C[m,n] = sum[k] A[m,k]*B[k,n]").compile(
            scheduler, target=TARGET, m=500, n=700, k=300
        )
        print(f"-- {kernel!r}" + (f", declined: {kernel.declined}" if kernel.declined else ""))
        own_arrays(kernel, a, b)
        of_torch(kernel, a, b)
        of_cupy(kernel, a, b)
    print(f"{sum(said)} passed, {len(said) - sum(said)} failed")
    return 0 if said and all(said) else 1


if __name__ == "__main__":
    sys.exit(main())
