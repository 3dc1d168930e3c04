"""What symbols cannot do: each an error that says what can."""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import pytest

from condyle.errors import UnsupportedError
from tests.symbolic.traced import Source, traced

REFUSED = {
    "if": (lambda x: x[0] if x[0] > 0 else x[1], "np.where"),
    "while": (lambda x: next(x for _ in iter(lambda: bool(x.sum()), True)), "np.where"),
    "min": (lambda x: min(x[0], x[1]), "np.minimum"),
    "sorted": (lambda x: sorted(x), "np.minimum"),
    "and": (lambda x: (x[0] > 0) and (x[1] > 0), "np.logical_and"),
    "chained": (lambda x: np.where(0 < x < 1, x, 0.0), "np.logical_and"),
    "float": (lambda x: float(x[0]), "np.where"),
    "int": (lambda x: int(x[0]), "np.where"),
    "round": (lambda x: round(x[0]), "np.where"),
    "range": (lambda x: list(range(x[0])), "np.where"),
    "index": (lambda x: [1.0, 2.0][x[0]], "np.where"),
    "array": (lambda x: np.array([x[0], 1.0]), r"np\.stack"),
    "asarray": (lambda x: np.asarray(x), r"np\.stack"),
    "mask": (lambda x: x[x > 0], "np.where"),
    "symbols as index": (lambda x: x[x], "np.where"),
    "where alone": (lambda x: np.where(x > 0), r"np\.where\(condition, a, b\)"),
    "condition as number": (lambda x: (x > 0) * x, r"np\.where\(condition, 1\.0, 0\.0\)"),
    "condition among numbers": (lambda x: np.concatenate([x, x > 0]), r"np\.where\(condition, 1\.0, 0\.0\)"),
    "argmax": (lambda x: x.argmax(), r"np\.argmax takes no symbols"),
    "sort": (lambda x: np.sort(x), r"np\.sort takes no symbols"),
    "nonzero": (lambda x: np.nonzero(x), r"np\.nonzero takes no symbols"),
    "median": (lambda x: np.median(x), r"np\.median takes no symbols"),
    "eig": (lambda x: np.linalg.eig(x.reshape(1, 2)), r"np\.linalg\.eig takes no symbols: .*det\(J @ J\.T\)"),
    "tolist": (lambda x: x.tolist(), r"ndarray\.tolist takes no symbols"),
    "floor": (lambda x: x // 1, r"np\.floor_divide takes no symbols"),
    "complex": (lambda x: x * 1j, "real numbers"),
    "text": (lambda x: x + "a", "real numbers"),
    "object": (lambda x: x + np.array([None, None]), "NoneType among symbols"),
    "masked": (lambda x: x + np.ma.masked_array([1.0, 2.0], [0, 1]), r"masked entries; give x\.filled"),
    "masked parts": (lambda x: np.concatenate([x, np.ma.masked_array([1.0], [1])]), r"masked entries; give x\.filled"),
    "ragged": (lambda x: x * [[1.0, 2.0], [3.0]], r"parts of shapes \(2,\) and \(1,\); give parts of one shape"),
    "beyond float64": (lambda x: x * 10**400, r"beyond 1\.8e\+308"),
    "entry of text": (lambda x: np.concatenate([x, np.array(["a"])]), "str among symbols; give real numbers"),
    "product with text": (lambda x: np.outer(x, np.array(["a"], object)), "str among symbols; give real numbers"),
    "product with nothing": (lambda x: np.kron(x, None), "NoneType among symbols; give real numbers"),
    "decimal": (lambda x: x * Decimal("0.1"), r"Decimal among symbols; give real numbers .*float\(x\)"),
    "long cholesky": (lambda x: np.linalg.cholesky(np.outer(np.tile(x, 33), np.tile(x, 33))), "66 rows; 64 are"),
    "long determinant": (lambda x: np.linalg.det(np.outer(np.tile(x, 5), np.tile(x, 5))), "10 rows; 8 are"),
    "pinv": (lambda x: np.linalg.pinv(np.outer(x, x)), r"pinv takes .*: write A\.T @ np\.linalg\.inv\("),
    "svd": (lambda x: np.linalg.svd(np.outer(x, x)), r"svd takes no symbols: .*np\.linalg\.det\(J @ J\.T\)"),
    "no other way": (lambda x: np.fft.fft(x), r"np\.fft\.fft takes no symbols: docs/how-to/your-functions\.md lists"),
    "a near one": (lambda x: np.sum(np.hypot(x, x)) + np.nanmax(x), r"nanmax takes no symbols: the nearest .* np\.max"),
    "written input": (lambda x: x.__iadd__(1.0), r"x\.copy\(\)"),
    "entry of an input": (lambda x: x.__setitem__(0, 1.0), r"x\.copy\(\)"),
    "added to numbers": (lambda x: np.zeros(2).__iadd__(x), r"x = x \+ y"),
    "out": (lambda x: np.sum(x, out=np.zeros(())), "out="),
    "negative base": (lambda x: (-2.0) ** x, "positive"),
    "matrix norm": (lambda x: np.linalg.norm(np.outer(x, x), 2), "ord=2"),
    "ellipsis": (lambda x: np.einsum("...i->i", x), "every letter"),
    "places": (lambda x: np.interp(0.5, x, [1.0, 2.0]), "xp must be numbers"),
    "long solve": (lambda x: np.linalg.inv(np.outer(np.tile(x, 33), np.tile(x, 33))), r"at\.forward_dynamics"),
    "option": (lambda x: np.sum(x, where=x > 0), "np.sum of symbols: got an unexpected keyword argument 'where'"),
    "out of dot": (lambda x: np.dot(x, x, out=np.zeros(())), "no out="),
    "out of einsum": (lambda x: np.einsum("i->", x, out=np.zeros(())), "no out="),
    "integers": (lambda x: x.astype(int), "no value yet"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused_says_what_to_do(name: str) -> None:
    f, message = REFUSED[name]
    with pytest.raises(UnsupportedError, match=message):
        traced(f, [(2,)])


SHAPES = [
    ("shapes (2, 2) and (3,) do not fit: rows of the first have 2 entries, columns of the second 3",
     lambda x: x @ np.ones(3)),
    ("axis 3 is out of bounds", lambda x: x.sum(axis=3)),
    ("np.maximum of no entries; give one or more", lambda x: x.max(axis=1)[:0].max()),
    ("np.einsum: the result has 'k', which none of 'ij' has", lambda x: np.einsum("ij->k", x)),
    ("np.einsum: the result 'ii' has a letter twice", lambda x: np.einsum("ij->ii", x)),
    ("np.einsum: dimensions 'j' must have one length, got 2 and 3",
     lambda x: np.einsum("ij,jk", x, np.ones((3, 2)))),
    ("np.einsum: 'ijk' has 3 letters, its array has shape (2, 2)", lambda x: np.einsum("ijk->i", x)),
    ("np.einsum: 'ij,jk' is for 2 arrays, got 1", lambda x: np.einsum("ij,jk", x)),
    ("np.linalg.solve: shapes (2, 2) and (3,) do not fit", lambda x: np.linalg.solve(x, np.ones(3))),
    ("np.linalg.inv: shape (1, 2); give one square matrix", lambda x: np.linalg.inv(x[:1])),
    ("np.select: 1 conditions and 2 choices", lambda x: np.select([x > 0], [x, x])),
    ("could not be broadcast", lambda x: x + np.ones(3)),
    ("a number has no rows; multiply by it with *", lambda x: x @ 2.0),
    ("the leading dimensions do not broadcast", lambda x: np.ones((3, 2, 2)) @ np.stack([x, x])),
    ("np.where takes a condition alone or with two values", lambda x: np.where(x > 0, x)),
    ("np.interp: xp has shape (1,), fp (2,)", lambda x: np.interp(x, [1], [2, 3])),
]  # fmt: skip


@pytest.mark.parametrize(("said", "f"), SHAPES, ids=[said for said, _ in SHAPES])
def test_shapes_that_do_not_fit_are_numpys_errors(said: str, f: Callable[..., Any]) -> None:
    with pytest.raises(ValueError, match=re.escape(said)):
        traced(f, [(2, 2)])
    with pytest.raises((ValueError, np.linalg.LinAlgError)):
        f(np.ones((2, 2)))


def test_places_that_do_not_increase_are_refused() -> None:
    with pytest.raises(ValueError, match=r"np\.interp: xp must increase"):
        traced(lambda x: np.interp(x, [2.0, 1.0], [2.0, 3.0]), [(2,)])
    with pytest.raises(ValueError, match=r"np\.interp: xp must increase"):
        traced(lambda x: np.interp(x, [1.0, 2.0, 2.0], [2.0, 3.0, 4.0]), [(2,)])


def test_symbols_of_two_traces_do_not_meet() -> None:
    one, other = Source().input((2,)), Source().input((2,))
    joined = (np.add, np.matmul, np.arctan2, lambda x, y: np.stack([x, y]), lambda x, y: np.where(x > 0, 1.0, y))
    for f in joined:
        with pytest.raises(UnsupportedError, match="another trace"):
            f(one, other)


def test_what_is_known_in_every_state_is_a_number() -> None:
    x = Source().input((3,))
    zero = x - x
    assert float(zero[0]) == 0.0 and not zero[1] and (zero[1] == 0.0)
    assert repr(x) == "<Symbols (3,)>" and x.dtype == np.float64 and x.real is x and x.ndim == 1
    with pytest.raises(TypeError):
        hash(x)
    with pytest.raises(AttributeError, match="no attribute 'colour'"):
        _ = x.colour
