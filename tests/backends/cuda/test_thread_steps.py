"""Tiles of whole rows: every entry has a place of its own, and accesses have no bank conflicts."""

from __future__ import annotations

from collections import Counter

import numpy as np

from condyle.backends.cuda.target import WARP
from condyle.backends.cuda.thread_steps import Group

BANKS = 32


def conflicts(words: list[int]) -> int:
    """The most different words of one bank."""
    return max(Counter(word % BANKS for word in set(words)).values())


def test_whole_rows() -> None:
    """In float64, where half a warp has access at a time, at most two numbers meet in a bank."""
    for bits, most in ((32, 1), (64, 2)):
        for count in range(1, 65):
            group, lanes = Group(0, 0, count, 0, bits), range(WARP if bits == 32 else WARP // 2)
            places = [[row * count + row // group.gap + entry for entry in range(count)] for row in range(WARP)]
            assert len(np.unique(places)) == WARP * count
            assert np.max(places) + 1 == group.bytes(count) * 8 // bits
            number = np.sort(np.ravel(places))
            for k in range(count):  # the warp's accesses: adjacent numbers, between the same gaps
                first = WARP * k
                assert number[first : first + WARP].tolist() == [
                    lane + first + first // (group.gap * count) for lane in range(WARP)
                ]
            for entry in range(count):  # the threads' accesses
                own = [places[lane][entry] for lane in lanes]
                words = [word for x in own for word in range(x * bits // 32, (x + 1) * bits // 32)]
                assert conflicts(words) <= most
