"""Small arrays: what is refused, and the algebra of motions, each against its definition."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from condyle.errors import DTypeError, ModelError, ShapeError, UnsupportedError
from condyle.model.array import (
    LARGEST,
    bracket,
    congruence,
    diagonal,
    dtype_name,
    frozen,
    generator_of,
    moderate,
    motion_matrix,
    reals,
    short,
    skew,
)
from condyle.model.named import number, suggest


def test_the_largest_number_is_allowed_and_no_larger_one() -> None:
    assert LARGEST == 1e30
    assert moderate([LARGEST, -LARGEST, 0.0])
    for wrong in (np.nextafter(LARGEST, np.inf), -np.nextafter(LARGEST, np.inf), np.nan, np.inf):
        assert not moderate([0.0, wrong])


def test_what_is_frozen_is_a_copy_that_cannot_be_written_and_has_no_negative_zero() -> None:
    given = np.array([-0.0, 1.0])
    array = frozen(given, 2)
    given[1] = 2.0
    assert array.tolist() == [0.0, 1.0] and not np.signbit(array).any() and not array.flags.writeable
    assert not np.signbit(number("mass", -0.0))
    with pytest.raises(ValueError, match=r"expected shape \(3,\), got \(2,\)"):
        frozen(given, 3)
    with pytest.raises(ModelError, match=r"^mass: expected a number, got 'x'$"):
        number("mass", "x")


@pytest.mark.parametrize(("value", "kind"), [("x", DTypeError), ([1j], DTypeError), ([[1.0], [1.0, 2.0]], ShapeError)])
def test_what_is_no_array_of_real_numbers(value: Any, kind: type[Exception]) -> None:
    with pytest.raises(kind, match=r"^q is "):
        reals("q", value)


def test_real_numbers_of_every_kind_are_taken() -> None:
    for kind in (np.float32, np.int8, np.uint16, np.bool_):
        assert reals("q", np.ones(2, kind)).dtype == kind


@pytest.mark.parametrize("dtype", [None, "int", "float16", 3])
def test_number_types_that_nothing_is_compiled_for(dtype: Any) -> None:
    assert [dtype_name(word) for word in ("f8", np.float64, "float32")] == ["float64", "float64", "float32"]
    with pytest.raises(UnsupportedError, match="allowed is 'float64', 'float32'"):
        dtype_name(dtype)


@pytest.mark.parametrize("rng", ["a", -1, 1.5])
def test_what_is_neither_a_seed_nor_a_generator(rng: Any) -> None:
    with pytest.raises(DTypeError, match=r"^chain: rng=.*: give a seed"):
        generator_of("chain", rng)


def test_numbers_for_a_prompt_are_on_one_line() -> None:
    assert short(np.array([-0.0, 1.23456, 1e-9])) == "[0 1.235 1e-09]"
    assert "\n" not in short(np.arange(300.0))


def test_motions_follow_their_definitions() -> None:
    """[linear; angular] at a child's origin, from the velocity field v + w x r; brackets by matrices."""
    rng = np.random.default_rng(0)
    r, x = rng.normal(size=(2, 4, 3))
    np.testing.assert_allclose(np.einsum("nij,nj->ni", skew(r), x), np.cross(r, x), atol=1e-15)
    turn = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    v, w = rng.normal(size=(2, 3))
    moved = motion_matrix(turn, r[0]) @ np.concatenate((v, w))
    np.testing.assert_allclose(moved, np.concatenate((turn @ (v + np.cross(w, r[0])), turn @ w)), atol=1e-14)
    one, other = rng.normal(size=(2, 6))

    def matrix(motion: np.ndarray) -> np.ndarray:
        """Of the Lie algebra of SE(3)."""
        found = np.zeros((4, 4))
        found[:3, :3], found[:3, 3] = skew(motion[3:]), motion[:3]
        return found

    want = matrix(one) @ matrix(other) - matrix(other) @ matrix(one)
    np.testing.assert_allclose(matrix(bracket(one, other)), want, atol=1e-14)
    columns, others = rng.normal(size=(2, 6, 6))
    np.testing.assert_array_equal(bracket(columns, others, 0).T, bracket(columns.T, others.T))


def test_a_congruence_is_symmetric_to_the_last_digit() -> None:
    rng = np.random.default_rng(1)
    turn, m = rng.normal(size=(3, 3)), diagonal(rng.normal(size=3))
    found = congruence(turn, m)
    assert np.array_equal(found, found.T) and np.count_nonzero(m) == 3
    np.testing.assert_allclose(found, turn @ m @ turn.T, atol=1e-14)


TWELVE = ", ".join(f"'{letter}'" for letter in "abcdefghijkl")


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (["elbow", "hips", "knee"], "; did you mean 'hips'?"),
        (["hip1", "hip12", "hip123", "hip4567"], "; did you mean 'hip1' or 'hip12' or 'hip123'?"),
        (list("abcdefghijkl"), f"; there are {TWELVE}"),
        (list("abcdefghijklm"), f"; there are {TWELVE} ..."),
        ([], ""),
    ],
)
def test_names_that_may_be_meant(names: list[str], said: str) -> None:
    """Three that are close, else the first twelve and whether there are more."""
    assert suggest("hip", names) == said
