"""Scans give all prefixes, in the right order, whatever the length, the segments and the number of lanes."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from condyle.algorithms.scans.along import added, inward, outward
from condyle.algorithms.scans.paths import levels
from condyle.algorithms.scans.scan import blelloch, chunked, kogge_stone
from condyle.algorithms.scans.sums import Sums

SCANS = {
    "kogge_stone": kogge_stone,
    "blelloch": blelloch,
    "chunked": chunked,
    **{f"chunked in {lanes}": partial(chunked, lanes=lanes) for lanes in (1, 2, 3, 16)},
}


class Words:
    """Decimal numbers and their powers of ten: they compose as digits do, exactly, and not commutatively."""

    def identity(self) -> tuple[np.ndarray, np.ndarray]:
        return np.zeros(1), np.ones(1)

    def combine(self, base, tip):
        return base[0] * tip[1] + tip[0], base[1] * tip[1]


def row(n: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(n)
    return rng.integers(0, 10, (n, 1, 1)).astype(object), np.full((n, 1, 1), 10, object)


@pytest.mark.parametrize("name", SCANS)
@given(lengths=st.lists(st.integers(1, 20), min_size=1, max_size=5))
def test_prefixes(name: str, lengths: list[int]) -> None:
    position = np.array([k for length in lengths for k in range(length)])
    elements = row(len(position))
    got = SCANS[name](Words(), elements, position)[0].ravel()
    digits, want = elements[0].ravel(), []
    for k, place in enumerate(position):
        want.append(digits[k] + (10 * want[-1] if place else 0))
    assert list(got) == want


def test_elements_given_stay_as_they_are() -> None:
    elements = row(9)
    before = elements[0].copy()
    for scan in SCANS.values():
        scan(Words(), elements, np.arange(9))
    assert (elements[0] == before).all()


def parents_of(draws: list[int]) -> list[int]:
    return [max(-1, i - 1 - draw) for i, draw in enumerate(draws)]


TREES = st.lists(st.integers(0, 4), min_size=1, max_size=30).map(parents_of)


@pytest.mark.parametrize("name", ["kogge_stone", "blelloch", "chunked"])
@given(parents=TREES)
def test_words_from_the_root(name: str, parents: list[int]) -> None:
    elements = row(len(parents))
    got = outward(levels(parents), SCANS[name], Words(), elements)[0].ravel()
    want: list[int] = []
    for i, parent in enumerate(parents):
        want.append(elements[0][i, 0, 0] + (10 * want[parent] if parent >= 0 else 0))
    assert list(got) == want


@pytest.mark.parametrize("name", ["kogge_stone", "blelloch", "chunked"])
@given(parents=TREES)
def test_sums_of_subtrees(name: str, parents: list[int]) -> None:
    n = len(parents)
    own = (np.arange(1.0, n + 1.0).reshape(n, 1, 1),)
    zeros = (np.zeros((n, 1, 1)),)

    def form(links, received):
        return (own[0][links] + received[0],)

    got, received = inward(levels(parents), SCANS[name], Sums(zeros), form, lambda x: x, zeros)
    want = own[0].ravel().copy()
    for i in reversed(range(n)):
        if parents[i] >= 0:
            want[parents[i]] += want[i]
    assert list(got[0].ravel()) == list(want)
    assert received[0].sum() <= want.sum()


@given(parents=TREES)
def test_levels_hold_every_link_once_and_parents_before(parents: list[int]) -> None:
    seen: list[int] = []
    for level in levels(parents):
        for k, link in enumerate(level.links):
            before = level.parents[level.path[k]] if level.position[k] == 0 else level.links[k - 1]
            assert before == parents[link]
            assert before < 0 or before in seen or level.position[k] > 0
        seen += level.links.tolist()
    assert sorted(seen) == list(range(len(parents)))


def test_a_chain_is_one_path_and_short_limbs_are_taken_by_depth() -> None:
    assert len(levels(list(range(-1, 99)))) == 1
    star = [-1, *[0] * 30]
    assert len(levels(star)) == 2
    assert sum(level.steps for level in levels(star)) == 2


def test_adding_to_one_row_twice() -> None:
    (got,) = added((np.zeros((3, 1, 1)),), np.array([1, -1, 1]), (np.ones((3, 1, 1)),))
    assert list(got.ravel()) == [0, 2, 0]
