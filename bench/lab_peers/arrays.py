"""The array form of a Program (driver/lab/array_form.h) on libraries with NumPy's words: what
they share.

A step is a dictionary; `Steps` turns each into a function of the values and the buffers so far,
which a library then runs, or traces, in order. Values have the rank of their statement: one element
along axes that they do not vary over.
"""

import math


class Declined(Exception):
    """What a library has no words for."""


def number(text):
    return float(text) if any(c in text for c in ".einf") else int(text)


class View:
    """Dims of a view or a store: what is taken of the tensor, and where its dimensions stand
    among the axes."""

    def __init__(self, dims, rank):
        self.dims, self.rank = dims, rank
        self.kept = [d for d in dims if "axis" in d]
        self.axes = [d["axis"] for d in self.kept]
        self.index = tuple(d["at"] if "at" in d else self.slice(d) for d in dims)
        self.flipped = any(d["step"] < 0 for d in self.kept)
        order = sorted(range(len(self.axes)), key=self.axes.__getitem__)
        self.order = None if order == list(range(len(order))) else order
        self.expand = tuple(slice(None) if axis in self.axes else None for axis in range(rank))
        # back: from the statement's axes to the order of the tensor
        self.squeeze = tuple(slice(None) if axis in self.axes else 0 for axis in range(rank))
        self.back = [sorted(self.axes).index(axis) for axis in self.axes]
        self.counts = tuple(d["count"] for d in self.kept)

    @staticmethod
    def slice(d):
        last = d["start"] + d["step"] * (d["count"] - 1)
        stop = last + (1 if d["step"] > 0 else -1)
        return slice(d["start"], None if stop < 0 else stop, d["step"])

    def is_whole(self, shape):
        return len(self.dims) == len(shape) and all(
            "axis" in d and d["start"] == 0 and d["step"] == 1 and d["count"] == extent
            for d, extent in zip(self.dims, shape)
        )


class Matmul:
    """Two factors as a batched matrix product: which axes are batch, M, N and K."""

    def __init__(self, first, second, kept):
        a, b, kept = set(first), set(second), set(kept)
        self.only_a, self.only_b = sorted(a - b - kept), sorted(b - a - kept)  # summed beforehand
        self.batch, self.m = sorted(a & b & kept), sorted((a - b) & kept)
        self.n, self.k = sorted((b - a) & kept), sorted((a & b) - kept)
        self.result = self.batch + self.m + self.n

    def orders(self):
        """Axes of the first factor, of the second, in the order that a product wants them."""
        return self.batch + self.m + self.k, self.batch + self.k + self.n


def folded(axes, kept):
    """Pairs of factors, left to right, with the axes that are still needed after each."""
    have, pairs = set(axes[0]), []
    for i in range(1, len(axes)):
        needed = set(kept).union(*map(set, axes[i + 1 :]))
        left = (have | set(axes[i])) & needed
        pairs.append((sorted(have), sorted(axes[i]), sorted(left)))
        have = left
    return pairs


def product_of(first, second, kept, rank, matmul):
    """A batched matrix product of two factors of the statement's rank, in the words
    of NumPy's arrays."""
    parts = Matmul(first, second, kept)
    order_a, order_b = parts.orders()
    sorted_a, sorted_b = sorted(order_a), sorted(order_b)
    squeeze_a, squeeze_b = (
        tuple(slice(None) if axis in order else 0 for axis in range(rank))
        for order in (order_a, order_b)
    )
    permute_a, permute_b = (
        [sorted_a.index(x) for x in order_a],
        [sorted_b.index(x) for x in order_b],
    )
    expand = tuple(slice(None) if axis in parts.result else None for axis in range(rank))
    back = [parts.result.index(axis) for axis in sorted(parts.result)]
    batch, m, k = len(parts.batch), len(parts.m), len(parts.k)
    sum_a, sum_b = tuple(parts.only_a), tuple(parts.only_b)

    def run(a, b):
        a = a.sum(axis=sum_a, keepdims=True) if sum_a else a
        b = b.sum(axis=sum_b, keepdims=True) if sum_b else b
        a, b = a[squeeze_a].transpose(permute_a), b[squeeze_b].transpose(permute_b)
        outer, rows, columns = a.shape[:batch], a.shape[batch : batch + m], b.shape[batch + k :]
        inner = math.prod(a.shape[batch + m :])
        product = matmul(
            a.reshape((*outer, math.prod(rows), inner)),
            b.reshape((*outer, inner, math.prod(columns))),
        )
        return product.reshape((*outer, *rows, *columns)).transpose(back)[expand]

    return run


def in_turn(steps):
    """A function of several factors: each step takes what there is so far and the next one."""

    def run(first, *rest):
        for step, factor in zip(steps, rest):
            first = step(first, factor)
        return first

    return run


class Eager:
    """What libraries share that run each step at once."""

    def loop(self, count, body, written, values, buffers):
        for _ in range(count):
            for step in body:
                step(values, buffers)


class Steps:
    """A form made ready for one library: `run(buffers)` executes it on a dictionary of arrays."""

    def __init__(self, form, library):
        self.library = library
        self.shapes = {b["name"]: b["shape"] for b in form["buffers"]}
        self.types = {b["name"]: b["dtype"] for b in form["buffers"]}
        self.outputs = [b["name"] for b in form["buffers"] if b["role"] in ("out", "inout")]
        self.inputs = [b["name"] for b in form["buffers"] if b["role"] in ("in", "const", "inout")]
        self.changed = [b["name"] for b in form["buffers"] if b["role"] == "inout"]
        self._fresh = set()
        self._zeros = []  # buffers that are read or written in part before they are written whole
        self._known = set(self.inputs)
        self._program = self._list(form["steps"], False)
        for name in self.outputs:
            self._need(name)

    def _need(self, name):
        if name not in self._known:
            self._zeros.append(name)
            self._known.add(name)

    def _list(self, steps, inside):
        return [self._step(step, inside) for step in steps]

    def run(self, buffers):
        library = self.library
        for name in self._zeros:
            buffers[name] = library.zeros(self.types[name], self.shapes[name])
        values = {}
        for step in self._program:
            step(values, buffers)
        return buffers

    # ---- one step each

    def _step(self, step, inside):
        return getattr(self, "_" + step["op"])(step, inside)

    def _loop(self, step, inside):
        written = written_in(step["body"])
        for name in written:
            self._need(name)
        body, count = self._list(step["body"], True), step["count"]
        return lambda values, buffers: self.library.loop(count, body, written, values, buffers)

    def _source(self, source):
        """A buffer by its name, or a value (a padded tensor)."""
        if isinstance(source, str):
            self._need(source)
            return lambda values, buffers: buffers[source]
        return lambda values, buffers: values[source]

    def _set(self, step, function, *args):
        out = step["out"]
        self._fresh.add(out)  # no view of a tensor: a store may keep it
        if len(args) == 1:
            (a,) = args

            def run(values, buffers):
                values[out] = function(values[a])
        elif len(args) == 2:
            a, b = args

            def run(values, buffers):
                values[out] = function(values[a], values[b])
        else:

            def run(values, buffers):
                values[out] = function(*[values[a] for a in args])

        return run

    def _literal(self, step, inside):
        return self._constant(
            step, self.library.literal(step["dtype"], number(step["value"]), step["rank"])
        )

    def _range(self, step, inside):
        shape = [1] * step["rank"]
        shape[step["axis"]] = step["count"]
        return self._constant(step, self.library.arange(step["start"], step["count"], shape))

    def _constant(self, step, array):
        out = step["out"]

        def run(values, buffers):
            values[out] = array

        return run

    def _cast(self, step, inside):
        return self._set(step, self.library.cast(step["dtype"]), step["arg"])

    def _unary(self, step, inside):
        return self._set(step, self.library.unary(step["kind"]), step["arg"])

    def _binary(self, step, inside):
        return self._set(step, self.library.binary(step["kind"]), *step["args"])

    def _select(self, step, inside):
        return self._set(step, self.library.where, *step["args"])

    def _reduce(self, step, inside):
        return self._set(step, self.library.reduce(step["kind"], tuple(step["axes"])), step["arg"])

    def _place(self, step, inside):
        return self._set(step, self.library.place(step["kind"], step["axis"]), step["arg"])

    def _pad(self, step, inside):
        source, out = self._source(step["from"]), step["out"]
        pad = self.library.pad(step["low"], step["high"], number(step["value"]))

        def run(values, buffers):
            values[out] = pad(source(values, buffers))

        return run

    def _view(self, step, inside):
        source, out, view = (
            self._source(step["from"]),
            step["out"],
            View(step["dims"], step["rank"]),
        )
        take = self.library.view(view)

        def run(values, buffers):
            values[out] = take(source(values, buffers))

        return run

    def _gather(self, step, inside):
        source, out, indices = self._source(step["from"]), step["out"], step["indices"]
        self._fresh.add(out)

        def run(values, buffers):
            values[out] = source(values, buffers)[tuple(values[i] for i in indices)]

        return run

    def _einsum(self, step, inside):
        einsum = self.library.widened if "widened" in step else self.library.einsum  # products.py
        function = einsum(step["axes"], step["result"], step["rank"])
        return self._set(step, function, *step["args"])

    def _image(self, step, inside, function, *weights):
        source, out = self._source(step["from"]), step["out"]
        index = tuple(
            s["at"] if "at" in s else slice(s["start"], s["start"] + s["count"])
            for s in step["slices"]
        )
        kept = [d for d, s in enumerate(step["slices"]) if "at" not in s]
        order = [kept.index(d) for d in step["order"]]
        self._fresh.add(out)
        transpose = self.library.transpose

        def run(values, buffers):
            values[out] = function(
                transpose(source(values, buffers)[index], order), *[values[w] for w in weights]
            )

        return run

    def _conv(self, step, inside):
        shape = ImageShape(step)
        conv, library = self.library.conv(step), self.library

        def run(x, w):
            x = library.reshape(
                x,
                [
                    shape.batch,
                    shape.group * shape.channel,
                    *x.shape[len(x.shape) - len(step["low"]) :],
                ],
            )
            w = library.transpose(w[shape.weights_squeeze], shape.weights_order)
            w = library.reshape(w, [shape.group * shape.feature, shape.channel, *shape.taps])
            return library.transpose(conv(x, w).reshape(shape.result), shape.result_order)[
                shape.expand
            ]

        return self._image(step, inside, run, step["weights"])

    def _pool(self, step, inside):
        shape = ImageShape(step)
        pool, library = self.library.pool(step, shape.taps), self.library

        def run(x):
            x = library.reshape(x, [1, shape.batch, *x.shape[len(x.shape) - len(step["low"]) :]])
            return library.transpose(pool(x).reshape(shape.result), shape.result_order)[
                shape.expand
            ]

        return self._image(step, inside, run)

    def _store(self, step, inside):
        name, arg = step["buffer"], step["arg"]
        view, shape = View(step["dims"], step["rank"]), tuple(self.shapes[name])
        whole, library = view.is_whole(shape), self.library
        if not whole:
            self._need(name)
        self._known.add(name)
        fresh = arg in self._fresh

        def shaped(value):
            return library.transpose(value[view.squeeze], view.back)

        if whole:

            def run(values, buffers):
                buffers[name] = library.whole(shaped(values[arg]), shape, fresh)
        else:
            write = library.write(view)

            def run(values, buffers):
                buffers[name] = write(buffers[name], shaped(values[arg]))

        return run


class ImageShape:
    """Extents of a convolution or pool, and the way from (batch, group, feature, points) back to
    the statement's axes."""

    def __init__(self, step):
        extents = step["extents"]

        def product(axes):
            return math.prod(extents[a] for a in axes)

        group, feature, channel = (
            step.get("group", []),
            step.get("feature", []),
            step.get("channel", []),
        )
        self.batch, self.group = product(step["batch"]), product(group)
        self.feature, self.channel = product(feature), product(channel)
        self.taps = [extents[a] for a in step["taps"]]
        axes = step["batch"] + group + feature + step["points"]
        self.result = [extents[a] for a in axes]
        self.result_order = [axes.index(a) for a in sorted(axes)]
        self.expand = tuple(slice(None) if a in axes else None for a in range(step["rank"]))
        weights = group + feature + channel + step["taps"]
        self.weights_squeeze = tuple(
            slice(None) if a in weights else 0 for a in range(step["rank"])
        )
        self.weights_order = [sorted(weights).index(a) for a in weights]


def written_in(steps):
    names = []
    for step in steps:
        for name in (
            written_in(step["body"])
            if step["op"] == "loop"
            else [step["buffer"]]
            if step["op"] == "store"
            else []
        ):
            if name not in names:
                names.append(name)
    return names
