"""What the kernels are given: PolyBench's own formulas in numpy, but for gramschmidt. There its
columns are so nearly dependent that no two compilers agree on the result; it gets random numbers of
a fixed seed. It has more columns than rows, too: those beyond the rows are rounding errors divided
by their length, which are computed and not compared."""

import numpy as np


def grid(*extents):
    return np.ogrid[tuple(slice(0, extent) for extent in extents)]


def positive_definite(n):
    i, j = grid(n, n)
    lower = np.where(i == j, 1.0, np.where(j < i, 1 - j / n, 0.0))
    return lower @ lower.T


def gemm(NI, NJ, NK):
    (i, j), (ai, ak), (bk, bj) = grid(NI, NJ), grid(NI, NK), grid(NK, NJ)
    return {"C": (i * j + 1) % NI / NI, "A": ai * (ak + 1) % NK / NK, "B": bk * (bj + 2) % NJ / NJ}


def mm2(NI, NJ, NK, NL):
    (ai, ak), (bk, bj), (cj, cl), (i, l) = grid(NI, NK), grid(NK, NJ), grid(NJ, NL), grid(NI, NL)
    return {
        "A": (ai * ak + 1) % NI / NI,
        "B": bk * (bj + 1) % NJ / NJ,
        "C": (cj * (cl + 3) + 1) % NL / NL,
        "D": i * (l + 2) % NK / NK,
    }


def mm3(NI, NJ, NK, NL, NM):
    (ai, ak), (bk, bj), (cj, cm), (dm, dl) = grid(NI, NK), grid(NK, NJ), grid(NJ, NM), grid(NM, NL)
    return {
        "A": (ai * ak + 1) % NI / (5 * NI),
        "B": (bk * (bj + 1) + 2) % NJ / (5 * NJ),
        "C": cj * (cm + 3) % NL / (5 * NL),
        "D": (dm * (dl + 2) + 2) % NK / (5 * NK),
    }


def atax(M, N):
    i, j = grid(M, N)
    return {"A": (i + j) % N / (5 * M), "x": 1 + np.arange(N) / N}


def bicg(M, N):
    i, j = grid(N, M)
    return {"A": i * (j + 1) % N / N, "p": np.arange(M) % M / M, "r": np.arange(N) % N / N}


def doitgen(NQ, NR, NP):
    (r, q, p), (s, t) = grid(NR, NQ, NP), grid(NP, NP)
    return {"A": (r * q + p) % NP / NP, "C4": s * t % NP / NP}


def mvt(N):
    (i, j), v = grid(N, N), np.arange(N)
    return {
        "x1": v % N / N,
        "x2": (v + 1) % N / N,
        "y1": (v + 3) % N / N,
        "y2": (v + 4) % N / N,
        "A": i * j % N / N,
    }


def gemver(N):
    (i, j), v = grid(N, N), np.arange(N)
    return {
        "A": i * j % N / N,
        "u1": v,
        "u2": (v + 1) / N / 2,
        "v1": (v + 1) / N / 4,
        "v2": (v + 1) / N / 6,
        "y": (v + 1) / N / 8,
        "z": (v + 1) / N / 9,
        "x": 0 * v,
        "w": 0 * v,
    }


def gesummv(N):
    i, j = grid(N, N)
    return {"A": (i * j + 1) % N / N, "B": (i * j + 2) % N / N, "x": np.arange(N) % N / N}


def symm(M, N):
    (i, j), (ai, ak) = grid(M, N), grid(M, M)
    return {
        "C": (i + j) % 100 / M,
        "B": (N + i - j) % 100 / M,
        "A": np.where(ak <= ai, (ai + ak) % 100 / M, -999),
    }


def syr2k(M, N):
    (i, j), (ai, ak) = grid(N, N), grid(N, M)
    return {"A": (ai * ak + 1) % N / N, "B": (ai * ak + 2) % M / M, "C": (i * j + 3) % N / M}


def syrk(M, N):
    (i, j), (ai, ak) = grid(N, N), grid(N, M)
    return {"A": (ai * ak + 1) % N / N, "C": (i * j + 2) % M / M}


def trmm(M, N):
    (ai, ak), (i, j) = grid(M, M), grid(M, N)
    return {"A": np.where(ak < ai, (ai + ak) % M / M, 1.0 * (ai == ak)), "B": (N + i - j) % N / N}


def correlation(M, N):
    i, j = grid(N, M)
    return {"data": i * j / M + i}


def covariance(M, N):
    i, j = grid(N, M)
    return {"data": i * j / M}


def factorized(N):
    return {"A": positive_definite(N)}


def durbin(N):
    return {"r": N + 1 - np.arange(N)}


def gramschmidt(M, N):
    return {
        "A": np.random.default_rng(1).random((M, N)),
        "R": np.zeros((N, N)),
        "Q": np.zeros((M, N)),
    }


def ludcmp(N):
    return {"A": positive_definite(N), "b": (np.arange(N) + 1) / N / 2 + 4}


def trisolv(N):
    i, j = grid(N, N)
    return {"L": np.where(j <= i, (i + N - j + 1) * 2 / N, 0), "b": np.arange(N)}


def deriche(W, H):
    i, j = grid(W, H)
    return {"img": (313 * i + 991 * j) % 65536 / 65535}


def floyd_warshall(N):
    i, j = grid(N, N)
    missing = ((i + j) % 13 == 0) | ((i + j) % 7 == 0) | ((i + j) % 11 == 0)
    return {"path": np.where(missing, 999, i * j % 7 + 1)}


def nussinov(N):
    return {"seq": (np.arange(N) + 1) % 4, "table": np.zeros((N, N))}


def adi(TSTEPS, N):
    i, j = grid(N, N)
    return {"u": (i + N - j) / N}


def fdtd_2d(TMAX, NX, NY):
    i, j = grid(NX, NY)
    return {
        "ex": i * (j + 1) / NX,
        "ey": i * (j + 2) / NY,
        "hz": i * (j + 3) / NX,
        "fict": np.arange(TMAX),
    }


def heat_3d(TSTEPS, N):
    i, j, k = grid(N, N, N)
    return {"A": (i + j + N - k) * 10 / N, "B": (i + j + N - k) * 10 / N}


def jacobi_1d(TSTEPS, N):
    return {"A": (np.arange(N) + 2) / N, "B": (np.arange(N) + 3) / N}


def jacobi_2d(TSTEPS, N):
    i, j = grid(N, N)
    return {"A": (i * (j + 2) + 2) / N, "B": (i * (j + 3) + 3) / N}


def seidel_2d(TSTEPS, N):
    i, j = grid(N, N)
    return {"A": (i * (j + 2) + 2) / N}


MAKERS = {"gemm": gemm, "2mm": mm2, "3mm": mm3, "atax": atax, "bicg": bicg, "doitgen": doitgen,
          "mvt": mvt, "gemver": gemver, "gesummv": gesummv, "symm": symm, "syr2k": syr2k,
          "syrk": syrk, "trmm": trmm, "correlation": correlation, "covariance": covariance,
          "cholesky": factorized, "durbin": durbin, "gramschmidt": gramschmidt, "lu": factorized,
          "ludcmp": ludcmp, "trisolv": trisolv, "deriche": deriche,
          "floyd-warshall": floyd_warshall, "nussinov": nussinov, "adi": adi, "fdtd-2d": fdtd_2d,
          "heat-3d": heat_3d, "jacobi-1d": jacobi_1d, "jacobi-2d": jacobi_2d,
          "seidel-2d": seidel_2d}  # fmt: skip

# What of an output is compared, where not all of it.
COMPARED = {("gramschmidt", "Q"): lambda Q: Q[:, : len(Q)]}
