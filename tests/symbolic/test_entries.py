"""What entries of arrays of symbols may be, and what is made of them where nothing differs from state to state."""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import condyle
from condyle.errors import UnsupportedError
from condyle.symbolic import Condition, Symbols, entries_of
from condyle.symbolic.arrays import FUNCTIONS, numbers_of, truths_of, unsupported
from condyle.symbolic.elementwise import Not, NotNegative, both, entry, number, truth
from condyle.symbolic.linear import solve_symmetric
from tests.symbolic.traced import Source, check, traced


@pytest.mark.parametrize(
    ("value", "kept"),
    [
        (np.True_, True),
        (np.False_, False),
        (True, True),
        (2, 2.0),
        (np.int8(-3), -3.0),
        (np.float32(0.5), 0.5),
        (np.float64(1.5), 1.5),
        (Fraction(1, 4), 0.25),
    ],
)
def test_a_number_is_a_float_and_a_truth_is_pythons(value: Any, kept: object) -> None:
    assert entry(value) == kept and type(entry(value)) is type(kept)
    (lone,) = entries_of(np.array([value], object), Source()).tolist()
    assert type(lone) is type(kept) and lone == kept


def test_a_float_a_symbol_and_a_truth_are_what_they_are() -> None:
    source = Source()
    symbol = source.input((1,)).entries[0]
    holds = NotNegative(symbol)
    for x in (1.5, symbol, holds):
        assert entry(x) is x is number(x)
    assert [type(number(x)) for x in (True, False)] == [float, float] and (number(True), number(False)) == (1.0, 0.0)
    assert (truth(2.0), truth(0.0), truth(True), truth(False), truth(float("nan"))) == (True, False, True, False, True)
    assert truth(holds) is holds and isinstance(truth(symbol), Not)


@pytest.mark.parametrize(("kind", "type_"), [("u1", float), ("i4", float), ("f4", float), ("f8", float), ("?", bool)])
def test_arrays_of_every_kind_of_number_are_taken(kind: str, type_: type) -> None:
    found = entries_of(np.ones((1, 2), kind), Source())
    assert found.dtype == object and [type(x) for x in found.flat] == [type_] * 2 and (found == 1).all()
    assert [type(x) for x in numbers_of(np.ones(2, kind), Source())] == [float, float]
    assert truths_of(np.ones(2, kind), Source()).tolist() == [True, True]


def test_lists_are_arrays_of_their_parts() -> None:
    source = Source()
    x = source.input((2,))
    assert entries_of([], source).shape == (0,) and entries_of([[1, 2], [3, 4]], source).tolist() == [[1, 2], [3, 4]]
    assert entries_of((x, [1, True]), source).tolist() == [x.entries.tolist(), [1.0, True]]
    assert entries_of(np.ma.masked_array([1.0, 2.0]), source).tolist() == [1.0, 2.0]


@pytest.mark.parametrize("value", [np.array([1j]), np.array(["a"]), np.array([None])])
def test_what_is_no_number_is_refused(value: Any) -> None:
    with pytest.raises(UnsupportedError, match="among symbols; give real numbers"):
        entries_of(value, Source())


def test_only_one_entry_that_is_known_has_a_value() -> None:
    source = Source()
    for entries in ([1.5], [[0.0]]):
        found = Symbols(np.array(entries, object), source)
        assert float(found) == np.ravel(entries)[0] and bool(found) == bool(np.ravel(entries)[0])
    assert bool(Condition(np.array([True], object), source))
    for many in (Symbols(np.ones(2, object), source), Symbols(np.ones(0, object), source), source.input((1,))):
        with pytest.raises(UnsupportedError, match="the truth of a symbol differs from state to state"):
            bool(many)
        with pytest.raises(UnsupportedError, match="a symbol has no value yet"):
            float(many)
    with pytest.raises(UnsupportedError, match="a symbol has no value yet"):
        float(Condition(np.array(True, object), source))


def test_a_symbol_has_no_hidden_attributes_of_an_array() -> None:
    x = Source().input((2, 3))
    for name in ("__array_interface__", "__array_struct__", "_colour"):
        assert not hasattr(x, name), name
    assert x.reshape(3, 2, order="F").entries.tolist() == x.entries.reshape(3, 2, order="F").tolist()


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("np.tanx", "np.tan"),
        ("np.greater_equals", "np.greater_equal"),
        ("np.logical_xors", "np.logical_xor"),
        ("np.matmuls", "np.matmul"),
        ("np.linalg.solves", "np.linalg.solve"),
        ("np.isnans", "np.isnan"),
    ],
)
def test_every_function_that_takes_symbols_may_be_meant(name: str, near: str) -> None:
    text = str(unsupported(name))
    assert re.match(rf"{name} takes no symbols: the nearest that do are ([\w., ]+, )?{re.escape(near)}[,;]", text), text
    assert "the nearest" not in str(unsupported("np.wholly_other"))


def test_a_condition_of_two_is_one_choice() -> None:
    """By a number that is 1 where both hold and -1 where one of them does not."""

    class Said:
        def __init__(self) -> None:
            self.asked: list[tuple[object, object]] = []

        def chosen(self, a: Any, b: Any) -> Any:
            self.asked.append((a, b))
            return Source().input((1,)).entries[0]

    first, second = Said(), Said()
    found: Any = both(first, second)
    found.chosen(3.0, 4.0)
    assert second.asked == [(1.0, -1.0)] and [b for _, b in first.asked] == [-1.0]


NUMBERS_IN: dict[str, tuple[Callable[[Any], Any], set[float]]] = {
    "expm1": (np.expm1, {0.5, 1.0, 2.0}),
    "log1p": (np.log1p, {0.5, 1.0}),
    "sinh": (np.sinh, {0.5, 1.0, 2.0}),
    "cosh": (np.cosh, {0.5}),
    "sign": (np.sign, {0.0, 1.0}),
    "arctan": (np.arctan, {1.0}),
    "arcsin": (np.arcsin, {1.0}),
    "both": (lambda x: np.where((x > 0) & (x < 5), 3.0, 4.0), {1.0, 3.0, 4.0, 5.0}),
    "square": (np.square, set()),
    "cube": (lambda x: x**3, set()),
    "root": (lambda x: x**0.5, set()),
    "mean": (lambda x: np.mean(np.stack([x, x * x, x * x * x])), {1.0 / 3.0}),
}
"""By name: a function, and the magnitudes of the numbers that its formula has."""


@pytest.mark.parametrize("name", NUMBERS_IN)
def test_functions_have_the_numbers_of_their_formulas(name: str) -> None:
    f, numbers = NUMBERS_IN[name]
    program, _ = traced(f, [()])
    assert {abs(float(node[1])) for node in program.nodes if node[0] == "const"} == numbers


EMPTY: dict[str, tuple[Callable[[Any], Any], object]] = {
    "sum": (np.sum, 0.0),
    "prod": (np.prod, 1.0),
    "any": (lambda x: np.any(x > 0), False),
    "all": (lambda x: np.all(x > 0), True),
    "add": (np.add.reduce, 0.0),
    "multiply": (np.multiply.reduce, 1.0),
}


@pytest.mark.parametrize("name", EMPTY)
def test_what_is_made_of_nothing(name: str) -> None:
    f, value = EMPTY[name]
    entry = f(Source().input((2,))[:0]).entries.item()
    assert entry == value and type(entry) is type(value)


def test_a_mean_of_nothing_is_no_number() -> None:
    assert np.isnan(float(np.mean(Source().input((2,))[:0])))


def test_numbers_among_symbols_are_reduced_to_numbers() -> None:
    known = Symbols(np.array([4.0, 1.0, 2.0], object), Source())
    wanted = {np.max: 4.0, np.min: 1.0, np.sum: 7.0, np.prod: 8.0, np.mean: 7.0 * (1.0 / 3.0)}
    for function, value in wanted.items():
        found = function(known).entries.item()
        assert type(found) is float and found == value
    assert np.var(known).entries.item() == pytest.approx(np.var([4.0, 1.0, 2.0]), rel=1e-15)


WITH_OUT: list[Callable[..., Any]] = [
    np.sum, np.prod, np.mean, np.max, np.min, np.var, np.std, np.any, np.all, lambda x, out: np.clip(x, 0, 1, out=out),
]  # fmt: skip


@pytest.mark.parametrize("function", WITH_OUT)
def test_numbers_hold_no_answer_of_symbols(function: Callable[..., Any]) -> None:
    with pytest.raises(UnsupportedError, match=r"^out= holds no symbols; leave it out$"):
        function(Source().input((2,)), out=np.zeros(()))


def test_number_types_are_taken_and_mean_nothing() -> None:
    x = np.array([[1.0, -2.0]])
    check(lambda x: np.add(x, 1.0, dtype=np.float64) + np.sum(x, dtype=np.float64) + np.add.reduce(x, dtype=float), x)
    check(lambda x: np.zeros_like(x, np.float64) + np.full_like(x, 2.0, float) + x, x)


def test_a_state_that_no_condition_fits_is_zero() -> None:
    check(lambda x: np.select([x > 1, x > 0], [x, 2 * x]), np.array([[2.0], [0.5], [-3.0], [np.nan]]))


def test_limits_by_either_name() -> None:
    clip, x = FUNCTIONS[np.clip], Source().input((2,))
    for one, other in (
        (clip(x, min=-0.5, max=0.5), clip(x, -0.5, 0.5)),
        (clip(x, max=0.5), clip(x, None, 0.5)),
        (clip(x, min=0.5), clip(x, 0.5)),
    ):
        assert [e.index for e in one.entries] == [e.index for e in other.entries]  # type: ignore[attr-defined]
    assert clip(x) is x


@pytest.mark.parametrize("places", [[0.0, 0.5, 2.0], [1.0]])
def test_interpolation_has_its_values_at_the_places(places: list[float]) -> None:
    x = np.array([*places, *(p - 0.25 for p in places), *(p + 0.25 for p in places)])[:, None]
    values = [3.0, -1.0, 4.0][: len(places)]
    check(lambda x: np.interp(x, places, values), x)
    check(lambda x: np.interp(x, places, values, left=-7.0, right=9.0), x)
    check(lambda x: np.interp(x, places, values, -7.0), x)


@pytest.mark.parametrize(("xp", "fp"), [([], []), ([[1.0, 2.0]], [[1.0, 2.0]]), ([1.0, 2.0], [1.0]), (1.0, 2.0)])
def test_places_and_values_are_vectors_of_one_length(xp: Any, fp: Any) -> None:
    with pytest.raises(ValueError, match=r"^np\.interp: xp has shape .*; give two vectors of one length$"):
        np.interp(Source().input((2,)), xp, fp)


def test_interpolation_knows_no_period() -> None:
    with pytest.raises(UnsupportedError, match="period= is not taken"):
        np.interp(Source().input((2,)), [0.0, 1.0], [0.0, 1.0], period=2.0)


def test_norms_along_one_axis_in_a_tuple_are_of_vectors() -> None:
    A = np.random.default_rng(0).normal(size=(3, 2, 3))
    check(lambda A: np.linalg.norm(A, 2, (0,)) + np.linalg.norm(A, 1, axis=(0,)), A)
    check(lambda A: np.linalg.norm(A[None]), A)


def test_systems_have_one_or_many_right_sides() -> None:
    A = Source().input((2, 2))
    for wrong in (np.ones((2, 2, 2)), np.ones(3), np.ones((3, 2)), np.ones((2, 0, 1))):
        with pytest.raises(ValueError, match=r"np\.linalg\.solve: shapes \(2, 2\) and .* do not fit"):
            np.linalg.solve(A, wrong)
    for operand in (np.ones(2), [1.0, 2.0]):
        with pytest.raises(UnsupportedError, match="write every letter"):
            np.einsum(A, [0, 1], operand, [1])


def test_a_matrix_of_numbers_solves_for_many_columns() -> None:
    rng = np.random.default_rng(0)
    A, x, C = rng.normal(size=(3, 2, 4)), rng.normal(size=(3, 2)), rng.normal(size=(2, 2))
    check(lambda A, x: np.linalg.solve(C, A) + np.linalg.solve(C, x)[:, None], A, x, rtol=1e-12)
    check(lambda A, x: condyle.solve_symmetric(C @ C.T, A), A, x, rtol=1e-12)


def test_letters_that_stand_once_are_the_answers() -> None:
    rng = np.random.default_rng(0)
    A, B = rng.normal(size=(3, 2, 4)), rng.normal(size=(3, 4, 2))
    check(lambda A, B: np.einsum("ij,jk", A, B), A, B)
    check(lambda A, B: np.einsum("ki,jk", A, B), A, B)
    check(lambda A, B: np.einsum("ji", A) + np.einsum(" i j -> j i ", A), A, B)


def test_symmetric_systems_of_one_right_side_and_of_no_numbers() -> None:
    S = np.stack([np.diag([2.0, 4.0]), np.diag([1.0, np.nan]), np.diag([1.0, np.inf]), np.diag([1.0, -1.0])])
    S[0, 1, 0] = S[0, 0, 1] = 1.0
    found = solve_symmetric(S, np.array([1.0, 2.0]))
    assert found.shape == (4, 2) and np.isnan(found[1:]).all()
    np.testing.assert_allclose(S[0] @ found[0], [1.0, 2.0], rtol=1e-15)
    assert condyle.solve_symmetric is solve_symmetric
