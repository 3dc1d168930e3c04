"""Whatever the words of a schedule are, nothing outside its slabs is read or written."""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np
import pytest

from condyle.runtime import machine
from condyle.runtime._native import Entry, Scheduled
from condyle.runtime.native import Shape, plan_entry

CALL, COPY, FLIP, LOOP = range(4)
IN, OUT, INSIDE = 12, 12, 24
"""Numbers of an input, an output, and the slab inside."""
HEAD = 9
"""Words before those of the operands."""
OPERANDS = ((0, 0, 3), (2, 0, 3), (2, 4, 0), (1, 0, 3), (1, 0, 1), (2, 23, 0))
MOVES = ((0, 3), (4, 1))
STEPS = (
    (COPY, 2, 0, 1, 3, 0),
    (FLIP, 2, 1, 3, 2, 3),
    (COPY, 1, 2, 4, 1, 0),
    (LOOP, 3, 0, -1, 0, 2),
    (LOOP, 2, 1, 5, 0, 0),
)


def words(
    operands: Sequence[Sequence[int]] = OPERANDS,
    moves: Sequence[Sequence[int]] = MOVES,
    steps: Sequence[Sequence[int]] = STEPS,
) -> list[int]:
    head = [1, 1, INSIDE, len(operands), len(moves), len(steps), IN, OUT, INSIDE]
    return [*head, *(word for group in (operands, moves, steps) for row in group for word in row)]


def scheduled(given: Sequence[int], entries: tuple[Entry, ...] = (), form: str = "d") -> Scheduled:
    return Scheduled(np.array(given, np.int64).tobytes(), entries, form)


def run(plan: Scheduled, form: str = "d") -> np.ndarray:
    """The output for 0, 1, 2, ...; around both arrays nothing changes."""
    entry = Entry(plan.address, plan.work_bytes, 1, form, (IN,), (OUT,), 1, plan.context)
    arrays = [np.full((2, 40), 99.0, form) for _ in range(2)]
    arrays[0][:, 14 : 14 + IN] = np.arange(2 * IN).reshape(2, IN)
    entry.run(2, [arrays[0][:, 14 : 14 + IN]], [arrays[1][:, 14 : 14 + OUT]], 1)
    for array in arrays:
        assert (array[:, :14] == 99.0).all() and (array[:, 26:] == 99.0).all()
    return arrays[1][:, 14:26]


@pytest.mark.parametrize("form", ["d", "f"])
def test_copies_and_transposes_in_a_loop(form: str) -> None:
    """At turn t rows t and t + 1 of the input, each transposed as 2 x 3 numbers, and number 4 of them to place t."""
    x = np.arange(2 * IN, dtype=form).reshape(2, IN)
    found = run(scheduled(words(), form=form), form)
    for problem, y in zip(x, found, strict=True):
        last = np.concatenate([problem[6:12], np.zeros(6)]).reshape(2, 2, 3).swapaxes(1, 2).ravel()
        assert y[3:].tolist() == last[3:].tolist()
        assert y[2] == problem[10]


def spoilt(rng: random.Random) -> list[int]:
    """One or two words changed, most of them a little."""
    changed = words()
    for _ in range(rng.randint(1, 2)):
        place = rng.randrange(len(changed))
        changed[place] += rng.choice([-1, 1, 2, -3, 5, 12, rng.randint(-40, 40), 1 << 29, -(1 << 40)])
    return changed


def test_spoilt_words_are_refused_or_stay_inside() -> None:
    rng, refused = random.Random(1), 0
    for _ in range(4000):
        changed = spoilt(rng)
        counts = changed[:2] != [1, 1] or changed[6:8] != [IN, OUT] or changed[HEAD - 1] > 1000
        loops = any(step[1] > 1000 for step in np.reshape(changed[-30:], (5, 6)))
        try:
            plan = scheduled(changed)
        except ValueError:
            refused += 1
            continue
        if not counts and not loops:  # else it is another function, or takes long
            run(plan)
    assert 1000 < refused < 3900


@pytest.mark.parametrize(
    "change",
    [
        {"operands": ((0, 0, 3), (2, 0, 3), (2, 4, 0), (0, 0, 3), (1, 0, 1), (2, 23, 0))},  # writes an input
        {"operands": ((0, 1, 3), *OPERANDS[1:])},
        {"operands": ((0, 0, -3), *OPERANDS[1:])},
        {"operands": ((3, 0, 3), *OPERANDS[1:])},
        {"moves": ((0, 4), (4, 1))},
        {"moves": ((0, 3), (0, -3))},
        {"steps": ((CALL, 1, 0, 0, 0, 0),)},
        {"steps": ((FLIP, 1, 0, 3, 0, 3),)},
        {"steps": ((FLIP, 3, 0, 3, 2, 3),)},
        {"steps": ((COPY, 0, 0, 3, 1, 0),)},
        {"steps": ((LOOP, 2, 1, -1, 0, 0),)},
        {"steps": ((LOOP, 2, 0, 6, 0, 0),)},
        {"steps": ((LOOP, 2, 0, -1, 1, 2),)},
        {"steps": ((4, 1, 0, 0, 0, 0),)},
    ],
)
def test_words_that_lead_out(change: dict[str, Sequence[Sequence[int]]]) -> None:
    with pytest.raises(ValueError, match="do not fit together"):
        scheduled(words(**change))


@pytest.mark.skipif(not machine.instruction_sets(), reason="no machine code of ours runs here")
def test_calls_keep_to_the_sizes_of_their_entries() -> None:
    """An entry of 3 numbers in, 2 out, that writes zeros; rows of any stride, panels of whole tiles."""
    plan = machine.plan(
        machine.instruction_sets()[0], 64, machine.RETURN, b"", (*range(5, 7), *[7] * 14, 5, 6), b"",
        (32, 1, 1, 0, 0, 0, 0, 3, 3, -1, 0, 2, 16, 2),
    )  # fmt: skip
    shape = Shape((3,), (2,), plan.lanes, plan.work_bytes, 1.0)
    rows, panels = (plan_entry(plan, shape, np.dtype("float64"), way) for way in (0, 3))
    lanes = plan.lanes
    size = 3 * lanes

    def fits(entry: Entry, count: int, stride: tuple[int, int]) -> bool:
        given = [1, 1, 0, 2, 0, 1, size, 2 * lanes, 0, 0, 0, stride[0], 1, 0, stride[1], CALL, count, 0, 0, 0, 0]
        try:
            made = scheduled(given, (entry,))
        except ValueError:
            return False
        whole = Entry(made.address, made.work_bytes, 1, "d", (size,), (2 * lanes,), 1, made.context)
        y = np.full((1, 2 * lanes), np.nan)
        whole.run(1, [np.ones((1, size))], [y], 1)
        return True

    for entry in (rows, panels):
        assert fits(entry, lanes, (3, 2)) and fits(entry, lanes, (0, 2)) and not fits(entry, 2 * lanes, (0, 2))
        assert not fits(entry, lanes, (4, 2)) and not fits(entry, lanes, (3, 3)) and not fits(entry, lanes, (-3, 2))
    assert fits(rows, 1, (7, 7)) and fits(rows, lanes - 1, (3, 2)) and fits(rows, lanes, (1, 1))
    assert not fits(panels, 1, (3, 2)) and not fits(panels, lanes, (1, 2)) and not fits(panels, lanes, (3, 0))
    with pytest.raises(ValueError, match="do not fit together"):
        scheduled([1, 1, 0, 2, 0, 1, size, 16, 0, 0, 0, 3, 1, 0, 2, CALL, 1, 0, 0, 0, 0], (rows,), "f")


def test_other_arguments_are_refused() -> None:
    for given in ((b"", (1,), "d"), (b"", (), "i"), (b"", [], "d"), ("", (), "d")):
        with pytest.raises(TypeError):
            Scheduled(*given)  # type: ignore[arg-type]
    for data in (b"", bytes(40), bytes(47)):
        with pytest.raises(ValueError, match="do not fit together"):
            Scheduled(data, (), "d")
