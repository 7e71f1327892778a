"""The Programs of examples/programs, written in Python: test_expressions.py compares each with
its text."""

import polyte
from polyte import expr as e


def arg_max(b):
    M, N = b.sizes("M N")
    m, k = b.iters("m k")
    x, v, p = b.input("x", (M, N)), b.output("v", M), b.output("p", M, "i64")
    b.pair(v, p)[m] = e.argmax(x[m, k], over=k)


def attention(b):
    M, N, D = b.sizes("M N D")
    i, j, c, d = b.iters("i j c d")
    q, k, v, y = (
        b.input("q", (M, D)),
        b.input("k", (N, D)),
        b.input("v", (N, D)),
        b.output("y", (M, D)),
    )
    s, top, p, total, o = (b.temp(name) for name in ("s", "top", "p", "total", "o"))
    s[i, j] = e.sum(q[i, d] * k[j, d], over=d)
    top[i] = e.max(s[i, j], over=j)
    p[i, j] = e.exp(s[i, j] - top[i])
    total[i] = e.sum(p[i, j], over=j)
    o[i, c] = e.sum(p[i, j] * v[j, c], over=j)
    y[i, c] = o[i, c] / total[i]


def batched_matmul(p):
    B, M, N, K = p.sizes("B M N K")
    b, m, n, k = p.iters("b m n k")
    x, w, y = p.input("x", (B, M, K)), p.input("w", (B, K, N)), p.output("y", (B, M, N))
    y[b, m, n] = e.sum(x[b, m, k] * w[b, k, n], over=k)


def cholesky(b):
    N = b.sizes("N")
    A = b.inout("A", (N, N), "f64")
    with b.loop("k", N) as k:
        i = b.iters("i", k + 1, N)
        j = b.iters("j", k + 1, i + 1)
        A.label("D")[k, k] = e.sqrt(A[k, k])
        A.label("C")[i, k] = A[i, k] / A[k, k]
        A.label("U")[i, j] -= A[i, k] * A[j, k]


def conv_3x3(b):
    N, C, F, H, W = b.sizes("N C F H W")
    n, f, h, v, c, r, s = b.iters("n f h v c r s")
    x, w, y = b.input("x", (N, C, H, W)), b.const("w", (F, C, 3, 3)), b.output("y", (N, F, H, W))
    y[n, f, h, v] = e.sum(
        x[n, c, h + r - 1, v + s - 1].otherwise(0) * w[f, c, r, s], over=(c, r, s)
    )


def dense_relu(b):
    M, N, K = b.sizes("M N K")
    m, n, k = b.iters("m n k")
    x, w, bias, y = (
        b.input("x", (M, K)),
        b.const("w", (K, N)),
        b.input("b", N),
        b.output("y", (M, N)),
    )
    acc = b.temp("acc")
    acc[m, n] = e.sum(x[m, k] * w[k, n], over=k)
    y[m, n] = e.max(acc[m, n] + bias[n], 0)


def dot(b):
    N = b.sizes("N")
    i, z = b.iters("i"), b.iters("z", 1)
    x, v, s = b.input("x", N), b.input("v", N), b.output("s", 1)
    s[z] = e.sum(x[i] * v[i], over=i)


def first_axis_sum(b):
    M, N = b.sizes("M N")
    i, j = b.iters("i j")
    x, s = b.input("x", (M, N)), b.output("s", N)
    s[j] = e.sum(x[i, j], over=i)


def gather(b):
    N, V, D = b.sizes("N V D")
    n, d = b.iters("n d")
    table, id, y = b.const("table", (V, D)), b.input("id", N, "i64"), b.output("y", (N, D))
    y[n, d] = table[id[n], d]


def histogram(p):
    N, B = p.sizes("N B")
    n, b = p.iters("n b")
    bin, h = p.input("bin", N, "i32"), p.output("h", B, "i32")
    h[b] = 0
    h[bin[n]] += 1


def jacobi_2d(b):
    T, N = b.sizes("T N")
    i, j = b.iters("i j", 1, N - 1)
    A, B = b.inout("A", (N, N), "f64"), b.inout("B", (N, N), "f64")
    with b.loop("t", T):
        B[i, j] = 0.2 * (A[i, j] + A[i, j - 1] + A[i, j + 1] + A[i - 1, j] + A[i + 1, j])
        A[i, j] = 0.2 * (B[i, j] + B[i, j - 1] + B[i, j + 1] + B[i - 1, j] + B[i + 1, j])


def layer_norm(p):
    M, N = p.sizes("M N")
    i, j = p.iters("i j")
    x, g, b, y = p.input("x", (M, N)), p.const("g", N), p.const("b", N), p.output("y", (M, N))
    total, mean, squares, scale = (p.temp(name) for name in ("total", "mean", "squares", "scale"))
    total[i] = e.sum(x[i, j], over=j)
    mean[i] = total[i] / N.astype("f32")
    squares[i] = e.sum((x[i, j] - mean[i]) * (x[i, j] - mean[i]), over=j)
    scale[i] = 1 / e.sqrt(squares[i] / N.astype("f32") + 0.00001)
    y[i, j] = (x[i, j] - mean[i]) * scale[i] * g[j] + b[j]


def lstm_cell(b):
    T, H, X = b.sizes("T H X")
    i, k = b.iters("i k")
    j = b.iters("j", H)
    x, w, u = b.input("x", (T, X)), b.const("w", (4 * H, X)), b.const("u", (4 * H, H))
    h, c = b.inout("h", H), b.inout("c", H)
    g, r = b.temp("g", 4 * H, "f32"), b.temp("r", 4 * H, "f32")
    with b.loop("t", 0, T) as t:
        g[i] = e.sum(w[i, k] * x[t, k], over=k)
        r[i] = e.sum(u[i, k] * h[k], over=k)
        c[j] = e.sigmoid(g[j + H] + r[j + H]) * c[j] + e.sigmoid(g[j] + r[j]) * e.tanh(
            g[j + 2 * H] + r[j + 2 * H]
        )
        h[j] = e.sigmoid(g[j + 3 * H] + r[j + 3 * H]) * e.tanh(c[j])


def quantized_gemm(p):
    M, N, K = p.sizes("M N K")
    m, n, k = p.iters("m n k")
    a, b = p.input("a", (M, K), "u8"), p.const("b", (K, N), "i8")
    scale, c = p.input("scale", N), p.output("c", (M, N), "u8")
    acc = p.temp("acc")
    acc[m, n] = e.sum(a[m, k].astype("i32") * b[k, n].astype("i32"), over=k)
    c[m, n] = e.round(e.min(e.max(acc[m, n].astype("f32") * scale[n], 0), 255)).astype("u8")


def scan(b):
    N = b.sizes("N")
    b.assume(N >= 1)
    x, y, z = b.input("x", N), b.output("y", N), b.output("z", N)
    i, last = b.iters("i", 1), b.iters("i", N - 1, N)
    y.label("S0")[i] = x[i]
    with b.loop("t", 1, N) as t:
        y.label("S1")[t] = y[t - 1] + x[t]
    z.label("R0")[last] = x[last]
    with b.loop("t", 0, N - 1, step=-1) as t:
        z.label("R1")[t] = e.max(z[t + 1], x[t])


def seidel_2d(b):
    T, N = b.sizes("T N")
    i, j = b.iters("i j", 1, N - 1)
    A = b.inout("A", (N, N), "f64")
    with b.loop("t", T):
        A[i, j] = (A[i - 1, j] + A[i, j - 1] + A[i, j] + A[i, j + 1] + A[i + 1, j]) / 5


def softmax(b):
    M, N = b.sizes("M N")
    i, j = b.iters("i j")
    x, y = b.input("x", (M, N)), b.output("y", (M, N))
    top, powers, total = b.temp("top"), b.temp("e"), b.temp("total")
    top[i] = e.max(x[i, j], over=j)
    powers[i, j] = e.exp(x[i, j] - top[i])
    total[i] = e.sum(powers[i, j], over=j)
    y[i, j] = powers[i, j] / total[i]


def syrk(b):
    N, K = b.sizes("N K")
    i = b.iters("i", N)
    j, k = b.iters("j", i + 1), b.iters("k", K)
    A, C = b.input("A", (N, K)), b.inout("C", (N, N))
    C.label("S")[i, j] += A[i, k] * A[j, k]


def trmm(b):
    M, N = b.sizes("M N")
    j = b.iters("j", N)
    A, B = b.input("A", (M, M), "f64"), b.inout("B", (M, N), "f64")
    with b.loop("i", 0, M) as i:
        k = b.iters("k", i + 1, M)
        B.label("S")[i, j] += A[k, i] * B[k, j]


BUILT = {made.__name__: made for made in (
    arg_max, attention, batched_matmul, cholesky, conv_3x3, dense_relu, dot, first_axis_sum, gather,
    histogram, jacobi_2d, layer_norm, lstm_cell, quantized_gemm, scan, seidel_2d, softmax, syrk,
    trmm)}  # fmt: skip


def built(name):
    b = polyte.build(name)
    BUILT[name](b)
    return b.program()
