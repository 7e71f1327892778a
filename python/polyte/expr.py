"""Values of a Program as Python expressions; polyte.build (builder.py) makes Programs of them.

    from polyte import expr as e

    y[m, n] = e.max(e.sum(x[m, k] * w[k, n], over=k) + b[n], 0)

An expression is what Program text would say (docs/program-text.md), with its element type:
types never convert by themselves, numbers take the type that their place asks for. Iterators
and sizes are whole numbers; where they stand in subscripts and ranges, sums of them times
constants, // and % by constants are possible. Whatever cannot be written raises ArgumentError
(a TypeError) or InvalidInput (a ValueError) that names the expression.
"""

from __future__ import annotations

import itertools
import numbers
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Union

from . import errors

if TYPE_CHECKING:
    from .builder import TensorVariable

DTYPES = ("f64", "f32", "f16", "bf16", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "bool")
Value = Union["Expr", int, float, bool]  # numbers of numpy, too
Over = Union["Name", Iterable["Name"]]  # iterators
_ANY, _SUM, _PRODUCT, _ATOM = range(4)  # how tightly a text holds together


def dtype_name(dtype: Any) -> str:
    """Polyte's name of an element type, given by it or as numpy does."""
    if isinstance(dtype, str) and dtype in DTYPES:
        return dtype
    import numpy as np

    try:
        name = np.dtype(dtype).name
    except TypeError:
        name = str(dtype)
    short = name
    for longer, shorter in (("bfloat", "bf"), ("float", "f"), ("uint", "u"), ("int", "i")):
        if name.startswith(longer):
            short = shorter + name[len(longer) :]
            break
    if short not in DTYPES:
        raise errors.InvalidInput(f"dtype {dtype!r}: expected one of {', '.join(DTYPES)}")
    return short


class Expr:
    """A value, or an index. `text`: as in Program text; `dtype`: its element type, None of
    numbers and indices."""

    __slots__ = ("text", "dtype", "_level", "_names", "_reductions")
    __array_ufunc__ = None  # numpy's scalars leave operators to us
    __iter__ = None

    def __init__(self, text: str, dtype: str | None, level: int, parts: Iterable[Expr] = ()):
        self.text, self.dtype, self._level = text, dtype, level
        self._names = tuple(dict.fromkeys(name for part in parts for name in part._names))
        self._reductions = tuple(dict.fromkeys(each for part in parts for each in part._reductions))

    def __repr__(self) -> str:
        return f"<{self.dtype or 'number'} {plain(self.text)}>"

    def __bool__(self) -> bool:
        raise errors.ArgumentError(
            f"'{plain(self.text)}' has no truth value while a Program is written: use "
            "e.where(c, a, b), e.min, e.max, & | ~ in place of if, min, max, and, or, not"
        )

    __hash__ = object.__hash__

    def astype(self, dtype: Any) -> Expr:
        """Converted: f32 to i32 truncates, wider whole numbers wrap."""
        name = dtype_name(dtype)
        return Expr(f"{name}({self.text})", name, _ATOM, [self])

    def __add__(self, other: Value) -> Expr:
        return _infix(self, "+", other)

    def __radd__(self, other: Value) -> Expr:
        return _infix(other, "+", self)

    def __sub__(self, other: Value) -> Expr:
        return _infix(self, "-", other)

    def __rsub__(self, other: Value) -> Expr:
        return _infix(other, "-", self)

    def __mul__(self, other: Value) -> Expr:
        return _infix(self, "*", other)

    def __rmul__(self, other: Value) -> Expr:
        return _infix(other, "*", self)

    def __truediv__(self, other: Value) -> Expr:
        return _infix(self, "/", other)

    def __rtruediv__(self, other: Value) -> Expr:
        return _infix(other, "/", self)

    def __floordiv__(self, other: Value) -> Expr:
        return _infix(self, "//", other)

    def __mod__(self, other: Value) -> Expr:
        return _infix(self, "%", other)

    def __rmod__(self, other: Value) -> Expr:
        return _infix(other, "%", self)

    def __lshift__(self, other: Value) -> Expr:
        return _infix(self, "<<", other)

    def __rshift__(self, other: Value) -> Expr:
        return _infix(self, ">>", other)

    def __and__(self, other: Value) -> Expr:
        return _logical(self, "&", other)

    def __or__(self, other: Value) -> Expr:
        return _logical(self, "|", other)

    def __xor__(self, other: Value) -> Expr:
        return _infix(self, "^", other)

    __rand__, __ror__, __rxor__ = __and__, __or__, __xor__

    def __pow__(self, other: Value) -> Expr:
        return _call("pow", self, other)

    def __rpow__(self, other: Value) -> Expr:
        return _call("pow", other, self)

    def __neg__(self) -> Expr:
        return Expr(f"-{_held(self, _ATOM)}", self.dtype, _ANY, [self])

    def __pos__(self) -> Expr:
        return self

    def __abs__(self) -> Expr:
        return _call("abs", self)

    def __invert__(self) -> Expr:
        return _call("not", self)

    def __lt__(self, other: Value) -> Expr:
        return _infix(self, "<", other, "bool")

    def __le__(self, other: Value) -> Expr:
        return _infix(self, "<=", other, "bool")

    def __gt__(self, other: Value) -> Expr:
        return _infix(self, ">", other, "bool")

    def __ge__(self, other: Value) -> Expr:
        return _infix(self, ">=", other, "bool")

    def __eq__(self, other: Value) -> Expr:  # type: ignore[override]
        return _infix(self, "==", other, "bool")

    def __ne__(self, other: Value) -> Expr:  # type: ignore[override]
        return _infix(self, "!=", other, "bool")


class Name(Expr):
    """A size, or an iterator with its range, begin <= it < end, where it has one of its own."""

    __slots__ = ("begin", "end", "kind")

    def __init__(self, name: str, kind: str, begin: Expr | None = None, end: Expr | None = None):
        super().__init__(name, None, _ATOM)
        self._names = (self,)
        self.kind, self.begin, self.end = kind, begin, end


class Read(Expr):
    """An element of a tensor. `x[i] += v` updates it."""

    __slots__ = ("tensor",)

    def __init__(self, tensor: TensorVariable, text: str, subscripts: Iterable[Expr]):
        super().__init__(text, tensor.dtype, _ATOM, subscripts)
        self.tensor = tensor

    def otherwise(self, value: Value) -> Expr:
        """Where a subscript falls outside of its dimension nothing is read, and it is `value`."""
        value = of(value)
        joined_type(self, value, f"{self.text} else {value.text}")
        return Expr(f"({self.text} else {_held(value, _ATOM)})", self.dtype, _ATOM, [self, value])

    def updated(self, combiner: str, value: Value) -> Update:
        """`h[i] = h[i].updated("max", v)`: combiner is +, -, *, min, max, and, or."""
        return Update(self, combiner, value)

    def __iadd__(self, value: Value) -> Update:  # type: ignore[override]
        return Update(self, "+", value)

    def __isub__(self, value: Value) -> Update:  # type: ignore[override]
        return Update(self, "-", value)

    def __imul__(self, value: Value) -> Update:  # type: ignore[override]
        return Update(self, "*", value)

    def __iand__(self, value: Value) -> Update:  # type: ignore[override]
        return Update(self, "and", value)

    def __ior__(self, value: Value) -> Update:  # type: ignore[override]
        return Update(self, "or", value)


class Update:
    """What `x[i] += v` is until it is assigned to x[i]."""

    __slots__ = ("read", "combiner", "value")

    def __init__(self, read: Read, combiner: str, value: Value):
        if combiner not in ("+", "-", "*", "min", "max", "and", "or"):
            raise errors.InvalidInput(
                f"update of '{read.text}' by {combiner!r}: expected +, -, *, min, max, and, or"
            )
        self.read, self.combiner, self.value = read, combiner, of(value)
        joined_type(read, self.value, f"{read.text} {combiner}= {plain(self.value.text)}")


class Reduction(Expr):
    """A sum, product .. over iterators. Within a larger value it becomes a tensor of its own."""

    __slots__ = ("op", "value", "over", "at")
    _numbers = itertools.count()  # tell the marks of nested ones apart

    def __init__(self, op: str, value: Value, over: Over, at: Expr | None = None):
        value, over = of(value), tuple(over) if isinstance(over, (tuple, list)) else (over,)
        if not over:
            raise errors.ArgumentError(f"{op} of '{plain(value.text)}' is over no iterator")
        for each in over:
            if not isinstance(each, Name) or each.kind != "iterator":
                raise errors.ArgumentError(
                    f"{op} of '{plain(value.text)}' is over {each!r}, expected iterators"
                )
        super().__init__(f"\0{op}:{next(Reduction._numbers)}\0", value.dtype, _ATOM)
        self.op, self.value, self.over, self.at = op, value, over, at
        inner = (
            [each for each in value._names if each not in set(over)] if at is None else value._names
        )
        self._names, self._reductions = tuple(inner), (self,)


# ---- making them


def plain(text: str) -> str:
    """For messages: nested reductions by name."""
    return "".join(
        part.split(":")[0] + "[..]" if i % 2 else part for i, part in enumerate(text.split("\0"))
    )


def of(value: Any) -> Expr:
    """A Python number, or a number of numpy, as an expression."""
    if isinstance(value, Expr):
        return value
    if isinstance(value, Update):
        raise errors.ArgumentError(
            f"the update of '{value.read.text}' is no value: it stands alone, x[i] += v"
        )
    if isinstance(value, bool) or type(value).__name__ in ("bool_", "bool"):
        return Expr("true" if value else "false", "bool", _ATOM)
    if isinstance(value, numbers.Integral):
        return Expr(str(int(value)), None, _ATOM if value >= 0 else _ANY)
    if isinstance(value, numbers.Real):
        number = float(value)
        if number - number != 0:
            raise errors.InvalidInput(f"{value!r} cannot be written in a Program")
        return Expr(repr(number), None, _ATOM if repr(number)[0] != "-" else _ANY)
    if hasattr(value, "label") and hasattr(value, "shape"):
        raise errors.ArgumentError(
            f"tensor '{value.name}' has no subscripts: write {value.name}[..]"
        )
    raise errors.ArgumentError(
        f"{value!r} is of type {type(value).__name__}, expected an expression or a number"
    )


def joined_type(a: Expr, b: Expr, text: str) -> str | None:
    """The one type of both; a number alone has none. ArgumentError names `text` where
    they differ."""
    if a.dtype and b.dtype and a.dtype != b.dtype:
        raise errors.ArgumentError(
            f"'{plain(text)}' joins {a.dtype} and {b.dtype}: write .astype()"
        )
    return a.dtype or b.dtype


def _held(part: Expr, level: int) -> str:
    return part.text if part._level >= level else f"({part.text})"


def _both(a: Any, sign: str, b: Any) -> tuple[Expr, Expr]:
    """Operands; of what is none it is said in which place."""
    try:
        return of(a), of(b)
    except errors.ArgumentError as error:
        shown = [plain(each.text) if isinstance(each, Expr) else repr(each) for each in (a, b)]
        raise errors.ArgumentError(f"'{shown[0]} {sign} {shown[1]}': {error}") from None


def _infix(a: Any, sign: str, b: Any, dtype: str | None = None) -> Expr:
    a, b = _both(a, sign, b)
    level = {"+": _SUM, "-": _SUM, "*": _PRODUCT, "/": _PRODUCT}.get(sign, _ANY)
    left, right = (level, level + 1) if level else (_ATOM, _ATOM)
    text = f"{_held(a, left)} {sign} {_held(b, right)}"
    joined = joined_type(a, b, text)
    if sign == "//" and joined:
        raise errors.ArgumentError(
            f"'{plain(text)}': // is of iterators and sizes, of values write / and floor"
        )
    if sign in ("<<", ">>") and joined and joined[0] not in "iu":
        raise errors.ArgumentError(f"'{plain(text)}': {sign} is of whole numbers, not {joined}")
    return Expr(text, dtype or joined, level, [a, b])


def _logical(a: Any, sign: str, b: Any) -> Expr:
    a, b = _both(a, sign, b)
    words = {"&": "and", "|": "or"}
    return _infix(a, words[sign] if "bool" in (a.dtype, b.dtype) else sign, b)


def _call(name: str, *values: Value) -> Expr:
    values = [of(value) for value in values]
    text = f"{name}({', '.join(value.text for value in values)})"
    typed = [value for value in values if value.dtype]
    for value in typed[1:]:
        joined_type(typed[0], value, text)
    return Expr(text, typed[0].dtype if typed else None, _ATOM, values)


def _function(name: str, says: str) -> Callable[[Value], Expr]:
    def function(x: Value) -> Expr:
        return _call(name, x)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = says
    return function


sqrt = _function("sqrt", "The square root.")
floor = _function("floor", "The nearest whole number below.")
ceil = _function("ceil", "The nearest whole number above.")
round = _function("round", "The nearest whole number, halves to even.")
trunc = _function("trunc", "The nearest whole number towards zero.")
exp = _function("exp", "e to the x.")
log = _function("log", "The natural logarithm.")
tanh = _function("tanh", "The hyperbolic tangent.")
erf = _function("erf", "The error function.")
sigmoid = _function("sigmoid", "1 / (1 + exp(-x)).")
sin = _function("sin", "The sine.")
cos = _function("cos", "The cosine.")


def fma(a: Value, b: Value, c: Value) -> Expr:
    """a * b + c, rounded once."""
    return _call("fma", a, b, c)


def where(condition: Value, a: Value, b: Value) -> Expr:
    """a where the condition holds, else b; both are computed. The condition is bool."""
    condition, a, b = of(condition), of(a), of(b)
    text = f"select({condition.text}, {a.text}, {b.text})"
    if condition.dtype != "bool":
        raise errors.ArgumentError(
            f"'{plain(text)}': the condition is {condition.dtype or 'a number'}, expected bool"
        )
    return Expr(text, joined_type(a, b, text), _ATOM, [condition, a, b])


def _least_or_most(op: str, values: tuple[Value, ...], over: Over | None) -> Expr:
    if over is not None:
        if len(values) != 1:
            raise errors.ArgumentError(f"{op} over iterators takes one value, got {len(values)}")
        return Reduction(op, values[0], over)
    if len(values) < 2:
        raise errors.ArgumentError(f"{op} takes two values or more, or one and over=")
    result = values[0]
    for value in values[1:]:
        result = _call(op, result, value)
    return result


def min(*values: Value, over: Over | None = None) -> Expr:
    """The least of two or more values, or of one over iterators."""
    return _least_or_most("min", values, over)


def max(*values: Value, over: Over | None = None) -> Expr:
    """The largest of two or more values, or of one over iterators."""
    return _least_or_most("max", values, over)


def sum(value: Value, over: Over) -> Reduction:
    """The sum over an iterator or several; a product inside is a fused multiply-add."""
    return Reduction("sum", value, over)


def product(value: Value, over: Over) -> Reduction:
    """The product over an iterator or several."""
    return Reduction("product", value, over)


def all(value: Value, over: Over) -> Reduction:
    """Whether a bool value holds for all."""
    return Reduction("and", value, over)


def any(value: Value, over: Over) -> Reduction:
    """Whether a bool value holds for one."""
    return Reduction("or", value, over)


def _position(op: str, value: Value, over: Over, at: Value | None) -> Reduction:
    if at is None:
        if isinstance(over, (tuple, list)):
            raise errors.ArgumentError(
                f"{op} of '{plain(of(value).text)}' over several iterators: say where it is, at="
            )
        at = over
    return Reduction(op, value, over, of(at))


def argmax(value: Value, over: Over, at: Value | None = None) -> Reduction:
    """The largest value and where it is, `at` (the iterator); of equal ones the first.
    For b.pair(v, p)[m]."""
    return _position("argmax", value, over, at)


def argmin(value: Value, over: Over, at: Value | None = None) -> Reduction:
    """The least value and where it is, as argmax."""
    return _position("argmin", value, over, at)
