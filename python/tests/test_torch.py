"""Operators of torch. Skipped where torch is not installed."""

import numpy as np
import pytest

import polyte

torch = pytest.importorskip("torch", reason="torch is not installed")
import polyte.torch  # noqa: E402

DENSE = polyte.program(
    "program dense(M, N, K)\n  in x: f32[M, K]\n  const w: f32[K, N]\n  out y: f32[M, N]\n"
    "  y[m, n] = sum[k] x[m, k] * w[k, n]\n"
)


def whole(*shape, seed=1):
    return torch.from_numpy(np.random.default_rng(seed).integers(-3, 4, shape).astype("f4"))


@pytest.fixture(scope="module")
def dense():
    made = polyte.torch.op(DENSE, "dense")

    def context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    def backward(ctx, grad):
        x, w = ctx.saved_tensors
        return made(grad, w.t()), made(x.t(), grad)

    made.register_autograd(backward, setup_context=context)
    return made


@pytest.mark.parametrize("m,n,k", [(1, 1, 1), (4, 5, 6), (17, 3, 8)])
def test_results(dense, m, n, k):
    x, w = whole(m, k), whole(k, n, seed=2)
    assert torch.equal(dense(x, w), x @ w) and torch.equal(torch.ops.polyte.dense(x, w), x @ w)


def test_torch_finds_nothing_wrong_with_it(dense):
    for arguments in (
        (whole(3, 4), whole(4, 5)),
        (whole(3, 4).requires_grad_(), whole(4, 5).requires_grad_()),
    ):
        torch.library.opcheck(dense, arguments)


def test_gradients_are_what_is_registered(dense):
    x, w = whole(3, 4).requires_grad_(), whole(4, 5, seed=2).requires_grad_()
    dense(x, w).square().sum().backward()
    got = x.grad.clone(), w.grad.clone()
    x.grad = w.grad = None
    (x @ w).square().sum().backward()
    assert torch.equal(got[0], x.grad) and torch.equal(got[1], w.grad)


def test_without_a_registered_gradient_torch_says_so():
    plain = polyte.torch.op(DENSE, "dense_without_gradient")
    with pytest.raises(RuntimeError, match="autograd"):
        plain(whole(2, 2).requires_grad_(), whole(2, 2)).sum().backward()


def test_it_is_one_operator_of_a_compiled_graph(dense):
    graphs = []

    def keep(graph, arguments):
        graphs.append(graph)
        return graph.forward

    f = torch.compile(lambda x, w: dense(x, w).relu() + 1, backend=keep, fullgraph=True)
    x, w = whole(3, 4), whole(4, 5)
    assert torch.equal(f(x, w), (x @ w).relu() + 1)
    assert [str(node.target) for node in graphs[0].graph.nodes if node.op == "call_function"][
        0
    ].startswith("polyte.dense")


def test_shapes_may_be_symbolic(dense):
    f = torch.compile(
        lambda x, w: dense(x, w) * 2, backend="aot_eager", fullgraph=True, dynamic=True
    )
    for m in (2, 3, 7):
        x, w = whole(m, 4), whole(4, m)
        assert torch.equal(f(x, w), 2 * (x @ w))


def test_fake_tensors(dense):
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode():
        y = dense(torch.empty(3, 4), torch.empty(4, 9))
        assert y.shape == (3, 9) and y.dtype == torch.float32
        with pytest.raises(Exception, match="'w' has shape"):
            dense(torch.empty(3, 4), torch.empty(5, 9))


def test_what_is_written_in_place():
    grow = polyte.torch.op(
        polyte.program(
            "program grow(N, T)\n  inout x: f32[N]\n  in one: f32[N]\n  loop t in 0..T\n"
            "    x[i] += one[i]   for i in 0..N\n"
        ),
        "grow",
        T=4,
    )
    x = torch.zeros(5)
    assert grow(x, torch.ones(5)) is None and x.tolist() == [4.0] * 5
    torch.library.opcheck(grow, (torch.zeros(5), torch.ones(5)))
    apart = torch.zeros(10)
    grow(apart[::2], torch.ones(5))
    assert apart.tolist() == [4.0, 0.0] * 5


def test_several_results_and_types():
    two = polyte.torch.op(
        polyte.program(
            "program two(N)\n  in x: bf16[N]\n  out y: bf16[N]\n  out z: i64[N]\n"
            "  y[i] = x[i] + x[i]\n  z[i] = i64(x[i])\n"
        ),
        "two",
    )
    y, z = two(torch.tensor([1.0, 2.0, -3.0], dtype=torch.bfloat16))
    assert y.dtype == torch.bfloat16 and y.tolist() == [2, 4, -6] and z.tolist() == [1, 2, -3]


def test_tensors_that_are_not_dense_are_copied(dense):
    x, w = whole(4, 3).t(), whole(8, 5, seed=2)[::2]
    assert torch.equal(dense(x, w), x @ w)


@pytest.mark.parametrize(
    "arguments,words",
    [
        (
            lambda: (torch.ones(2, 3), torch.ones(4, 5)),
            r"'w' has shape \[4, 5\], expected \[3, 5\]",
        ),
        (
            lambda: (torch.ones(2, 3, dtype=torch.float64), torch.ones(3, 5)),
            "'x' is torch.float64, expected torch.float32",
        ),
        (lambda: (torch.ones(3), torch.ones(3, 5)), "'x' has 1 dimensions, expected 2"),
    ],
)
def test_what_does_not_fit(dense, arguments, words):
    with pytest.raises(ValueError, match=words):
        dense(*arguments())


def test_kernels_take_tensors_as_they_are(matmul):
    kernel = matmul.compile(m=3, n=5, k=4)
    x, w, y = whole(3, 4), whole(4, 5), torch.empty(3, 5)
    assert kernel(x, w, out=y) is y and torch.equal(y, x @ w)
