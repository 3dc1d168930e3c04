"""The lane-exchange map gives all products along a tree, in the right order, whatever its shape."""

from __future__ import annotations

from itertools import pairwise
from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from condyle.links.algorithms.arrays import ArrayLinks
from condyle.links.algorithms.links import Sums, exchange_map, levels

pytestmark = pytest.mark.smoke


class Words:
    """Decimal numbers and their powers of ten: they compose as digits do, exactly, and not commutatively."""

    def identity(self) -> tuple[np.ndarray, np.ndarray]:
        return np.zeros(1), np.ones(1)

    def combine(self, base, tip):
        return base[0] * tip[1] + tip[0], base[1] * tip[1]

    def handed(self, branch):
        return branch


def row(n: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(n)
    return rng.integers(0, 10, (n, 1, 1)).astype(object), np.full((n, 1, 1), 10, object)


def parents_of(draws: list[int]) -> list[int]:
    return [max(-1, i - 1 - draw) for i, draw in enumerate(draws)]


def links_of(parents: list[int]) -> ArrayLinks:
    """Links without joints: what scans need."""
    links = object.__new__(ArrayLinks)
    vars(links).update(vars(SimpleNamespace(exchange=exchange_map(parents, len(parents)), parents=np.array(parents))))
    return links


TREES = st.lists(st.integers(0, 4), min_size=1, max_size=30).map(parents_of)
CHAINS = st.integers(1, 40).map(lambda n: list(range(-1, n - 1)))


@given(parents=TREES | CHAINS)
def test_words_from_the_root(parents: list[int]) -> None:
    elements = row(len(parents))
    before = elements[0].copy()
    got = links_of(parents).outward(Words(), elements)[0].ravel()
    want: list[int] = []
    for i, parent in enumerate(parents):
        want.append(elements[0][i, 0, 0] + (10 * want[parent] if parent >= 0 else 0))
    assert list(got) == want
    assert (elements[0] == before).all()  # those that were given stay as they are


@given(parents=CHAINS)
def test_words_to_the_tip_of_a_chain(parents: list[int]) -> None:
    elements = row(len(parents))
    got = links_of(parents).inward(Words(), elements)[0].ravel()
    digits = "".join(map(str, elements[0].ravel()))
    assert list(got) == [int(digits[i:]) for i in range(len(parents))]


@given(parents=TREES)
def test_sums_of_subtrees_and_of_children(parents: list[int]) -> None:
    n = len(parents)
    own = (np.arange(1.0, n + 1.0).reshape(n, 1, 1),)
    links = links_of(parents)
    want, children = own[0].ravel().copy(), np.zeros(n)
    for i in reversed(range(n)):
        if parents[i] >= 0:
            want[parents[i]] += want[i]
            children[parents[i]] += own[0][i, 0, 0]
    assert list(links.inward(Sums((0.0,)), own)[0].ravel()) == list(want)
    assert list(links.of_children(own)[0].ravel()) == list(children)


@pytest.mark.parametrize("n", [1, 2, 9, 40, 130])
def test_rows_meet_every_link_once(n: int) -> None:
    """Row after row of partners: every link ends with the sum over what it carries, and over its ancestors."""
    rng = np.random.default_rng(n)
    parents = [int(rng.integers(max(-1, i - 5), i)) for i in range(n)]
    carried, before = np.eye(n), np.eye(n)
    for i in reversed(range(n)):
        if parents[i] >= 0:
            carried[parents[i]] += carried[i]
    for i in range(n):
        if parents[i] >= 0:
            before[i] += before[parents[i]]
    rows = exchange_map(parents, n + 3)
    for name, want in (("behind", carried), ("ancestors", before)):
        x = np.eye(n + 3)
        for one in np.array(rows[name], int).reshape(-1, n + 3):
            met = np.where(one < -1, -2 - one, one)  # branches have a mark
            x = x + np.where((met >= 0)[:, None], x[met], 0.0)
        np.testing.assert_array_equal(x[:n, :n], want)


@given(parents=TREES)
def test_levels_hold_every_link_once_and_parents_before(parents: list[int]) -> None:
    seen: list[int] = []
    for level in levels(parents):
        for path in level:
            assert parents[path[0]] < 0 or parents[path[0]] in seen
            assert all(parents[link] == before for before, link in pairwise(path))
        seen += [link for path in level for link in path]
    assert sorted(seen) == list(range(len(parents)))


def test_a_chain_is_one_path_and_short_branches_are_taken_by_depth() -> None:
    assert len(levels(list(range(-1, 99)))) == 1
    assert [len(level) for level in levels([-1, *[0] * 30])] == [1, 30]


def test_children_of_one_link_are_added() -> None:
    """All of them, though NumPy's own addition to rows would take the last alone."""
    value = cast("tuple[np.ndarray]", (np.ones((4, 1, 1)),))
    assert list(links_of([-1, 0, 0, 0]).of_children(value)[0].ravel()) == [3, 0, 0, 0]
