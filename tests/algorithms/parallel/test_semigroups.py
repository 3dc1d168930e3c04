"""Every composition is associative and has its identity, and branches hand over loads: on random elements of links."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import condyle
from condyle.algorithms.joint import Wrench, joint_at
from condyle.algorithms.matrix import flat, refilled
from condyle.links.algorithms.articulated import Bias, Segment, Segments, extended
from condyle.links.algorithms.lie import Forces, Loaded, Motions, Moved
from condyle.links.algorithms.links import Inward, Map, Outward, Rotations, Sums, Turning, Turnings
from condyle.links.algorithms.phases import Maps, Together
from condyle.model.tree import tree_of
from condyle.spatial import six
from condyle.spatial.rotation import Axes, Transform

ROUNDING = 1e-11  # three compositions of elements whose entries differ by factors up to 1e3
LINKS = tree_of(condyle.random_tree(12, rng=4, types=("revolute", "prismatic", "helical", "spherical", "planar"))).links

Make = Callable[[np.random.Generator], Any]


def vector(rng: np.random.Generator) -> tuple[float, ...]:
    return tuple(map(float, rng.uniform(-1, 1, 3)))


def pair(rng: np.random.Generator) -> Any:
    return vector(rng), vector(rng)


def turn(rng: np.random.Generator) -> Any:
    q, _ = np.linalg.qr(rng.standard_normal((3, 3)))
    return tuple(tuple(map(float, row)) for row in q * np.linalg.det(q))


def pose(rng: np.random.Generator) -> Transform:
    return Transform(Axes(turn(rng)), vector(rng))


def affine(rng: np.random.Generator) -> Map:
    return Map(
        six.six_rows(six.six(map(float, row)) for row in rng.uniform(-1, 1, (6, 6))),
        six.six(map(float, rng.uniform(-1, 1, 6))),
    )


def joint(rng: np.random.Generator) -> tuple[Any, list[float]]:
    link = LINKS[int(rng.integers(len(LINKS)))]
    q = link.kind.random(rng, 1)[0]
    tau = [float(x) for x in rng.uniform(-1, 1, link.kind.nv)]
    return joint_at(link.kind, link.numbers, [float(x) for x in q]), tau  # type: ignore[misc]


def known(rng: np.random.Generator) -> Bias:
    force = Wrench(*pair(rng))
    return Bias(pair(rng), force)


def segment(rng: np.random.Generator) -> Segment:
    """One to eight links: the compliance of a single one has rank one."""
    first, tau = joint(rng)
    element = extended(first, known(rng), GUARDED.identity(), tau)
    for _ in range(int(rng.integers(8))):
        before, tau = joint(rng)
        element = extended(before, known(rng), element, tau)
    return element


GUARDED = Segments(8 * float(np.finfo(float).eps))
SEMIGROUPS: dict[str, tuple[Any, Make]] = {
    "sums": (Sums(Wrench((0.0,) * 3, (0.0,) * 3)), lambda rng: Wrench(*pair(rng))),
    "rotations": (Rotations(), turn),
    "turnings": (Turnings(), lambda rng: Turning(turn(rng), vector(rng))),
    "lie motions": (Motions(), lambda rng: Moved(pose(rng), pair(rng), pair(rng))),
    "lie forces": (Forces(), lambda rng: Loaded(pose(rng), Wrench(*pair(rng)))),
    "affine outward": (Outward(), affine),
    "affine inward": (Inward(), affine),
    "articulated": (GUARDED, segment),
    "columns": (Together(Outward(), 2), lambda rng: Maps(affine(rng).A, (affine(rng).b, affine(rng).b))),
}


def close(a: Any, b: Any) -> bool:
    """Equal to rounding, field by field."""
    for one, two in zip(a, b, strict=True) if isinstance(a, tuple) else [(a, b)]:
        x, y = np.array(flat(one)), np.array(flat(two))
        if not np.abs(x - y).max() <= ROUNDING * max(1.0, np.abs(y).max()):
            return False
    return True


@pytest.mark.parametrize("name", SEMIGROUPS)
@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_composition_is_associative_and_has_an_identity(name: str, seed: int) -> None:
    semigroup, make = SEMIGROUPS[name]
    rng = np.random.default_rng(seed)
    a, b, c = make(rng), make(rng), make(rng)
    left = semigroup.combine(semigroup.combine(a, b), c)
    right = semigroup.combine(a, semigroup.combine(b, c))
    assert close(left, right)
    assert close(semigroup.combine(semigroup.identity(), a), a)
    assert close(semigroup.combine(a, semigroup.identity()), a)


@pytest.mark.parametrize("name", ["sums", "lie forces", "affine inward", "articulated"])
@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_a_branch_hands_over_loads_alone(name: str, seed: int) -> None:
    """What a link gets of two branches does not depend on which comes first, nor on how their tips move."""
    semigroup, make = SEMIGROUPS[name]
    rng = np.random.default_rng(seed)
    link, one, two = make(rng), semigroup.handed(make(rng)), semigroup.handed(make(rng))
    left = semigroup.combine(semigroup.combine(link, one), two)
    assert close(left, semigroup.combine(semigroup.combine(link, two), one))
    assert close(semigroup.handed(one), one)


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_a_joint_in_front_is_its_element_in_front(seed: int) -> None:
    """`extended`, which eliminates the joint itself, and `combine`, which eliminates its compliance, agree."""
    rng = np.random.default_rng(seed)
    below = segment(rng)
    before, tau = joint(rng)
    bias = known(rng)
    alone = extended(before, bias, GUARDED.identity(), tau)
    assert close(GUARDED.combine(alone, below), extended(before, bias, below, tau))


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_float32_elements_stay_finite_and_near(seed: int) -> None:
    """Rounding may make a pivot of a compliance without full rank anything: the guard holds it."""
    rng = np.random.default_rng(seed)
    a, b = segment(rng), segment(rng)
    guard = Segments(8 * float(np.finfo(np.float32).eps))
    x, y = (refilled(e, [np.float32(s) for s in flat(e)]) for e in (a, b))
    got, want = guard.combine(x, y), GUARDED.combine(a, b)
    for one, two in zip(got, want, strict=True):
        p, q = np.array(flat(one), float), np.array(flat(two), float)
        assert np.abs(p - q).max() <= 2e-3 * max(1.0, np.abs(q).max())
