"""The words of the drivers, number by number: loops over time, products, ports; and what is refused or said."""

from __future__ import annotations

import json
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

import condyle
from condyle.backends.common.facts import packed
from condyle.backends.cpu import build as building
from condyle.backends.cpu import joint_loop_steps, loops
from condyle.backends.cpu.assemble import LOOPS, Straight, full_layouts, packed_constants, port_numbers
from condyle.backends.cpu.build import Key, least_lanes
from condyle.backends.cpu.encode import Encoder, ObjectCode, Single, from_bytes, padded, to_bytes
from condyle.backends.cpu.loops import HELD, MINUS, PRODUCT, SAME, assemble_rolled, product_words, repeated
from condyle.backends.cpu.target import AVX2, AVX512, SINGLE, TARGET
from condyle.errors import BuildError, UnsupportedError
from condyle.functions import FUNCTIONS
from condyle.ir.loops import COUNT, Give, Take, TimeLoop
from condyle.ir.program import Array, Program
from condyle.ir.segments import Product, View
from condyle.model.tree import tree_of
from condyle.runtime.native import NativeKernel, Shape
from condyle.runtime.packed import full, layout
from condyle.trace.loops import roll

MADE = ("text", "constants", "table", "starts", "words", "work")
ONCE = Shape((3, 4), (5, 6), lanes=8, work_bytes=100, state_ns=2.0, side=3)
WIDE = replace(ONCE, in_sizes=(30, 40), out_sizes=(50, 60))


def loop(steps: int, **options: Any) -> TimeLoop:
    """The first input is carried, the second has rows; outputs: rows, a last value, a sum, the number of steps."""
    takes = Take(0), Take(every=2)
    return TimeLoop(steps, takes, (Give(0, 3), Give(1), Give(0, 0, True), Give(COUNT)), **options)


def test_a_loop_as_numbers() -> None:
    takes_and_gives = (0, 0, -1, 2, 0, 3, 0, 1, 0, 0, 0, 0, 1, COUNT, 0, 0)
    assert loops._numbers(loop(7)) == (7, 0, 4, -1, 0, *takes_and_gives)
    assert loops._numbers(loop(9, backwards=True, until=1, together=True)) == (9, 1, 4, 1, 1, *takes_and_gives)


def test_the_shape_of_a_loop() -> None:
    """Rows of both axes for what has one, of a sum as many numbers as of a row; time for all steps."""
    shape = loops._looped(ONCE, WIDE, loop(7), 999)
    assert shape == Shape((3, 4 * 40), (3 * 50, 6, 50, 1), 8, 999, 14.0, 3, 0)
    until = loops._looped(ONCE, WIDE, loop(160, until=1), 999)
    assert until.least == 0 and until.state_ns == 2.0 * 10  # a state that reads rows keeps its place
    alone = TimeLoop(160, (Take(0), Take()), (Give(0),), until=1)
    assert loops._looped(ONCE, WIDE, alone, 9).least == 128 * 8
    assert loops._looped(ONCE, WIDE, replace(alone, together=True), 9).least == 1 << 40


def test_what_a_loop_is_said_to_be() -> None:
    alone = TimeLoop(16, (Take(0),), (Give(0),), until=0)
    assert loops._said(loop(7), 8) == "7 steps a tile"
    assert loops._said(loop(7, until=1), 8) == "at most 7 steps, tiles of 8 states"
    assert loops._said(alone, 4) == "at most 16 steps, tiles of 4 states, one that is done leaves its place to the next"
    assert loops._said(replace(alone, together=True), 4) == "at most 16 steps, all states until one is done"


def test_only_a_kernel_of_tiles_is_repeated() -> None:
    assert repeated(cast(NativeKernel, SimpleNamespace(body=None)), loop(3)) is None


def product(minus: bool = False) -> Product:
    """Of 3 x 4 and 4 x 2 numbers in larger arrays."""
    return Product(View("a", 2, 5, 1), View("b", 1, 1, 6), "y", ((0, 1, 3),) * 2, ((0, 1, 2, 3),) * 3, minus)


def test_a_product_as_words() -> None:
    """Flags, left and its distances, right and its distances, result, sizes, and where its table of blocks begins."""
    slots = [7, 7]
    words = product_words(product(), 100, 200, 300, slots)
    assert words == [PRODUCT, 0, 102, 5, 1, 201, 1, 6, 300, 3, 4, 2, 2, 11]
    # three lines, one at a time, of two columns and three terms
    assert slots == [7, 7, *(3, 2, 3), *(0, 1, 2), *(0, 1), *(0, 1, 3)]
    for kind in (SAME, HELD):
        assert product_words(product(True), 100, 200, 300, [], kind)[:2] == [PRODUCT, kind + MINUS]
    assert (MINUS, SAME, HELD) == (1, 2, 4)


def test_ports_as_numbers() -> None:
    """Of inputs the first slot, sizes and a table unless all is kept; of outputs both tables, the first one padded to
    sixteen slots with the zero."""
    slots = [9]
    few = layout((2, 2), (0, 1, 3), True, 8)
    layouts = ((full((3,), 8), few), (full((2,), 8), few))
    numbers = port_numbers((50, 60), ((5, 6), (10, 11, 12, 13)), 99, layouts, slots)
    assert numbers == [50, 3, 3, -1, 60, 4, 3, 1, 5, 2, 21, 2, 23, 4, 39, 3]
    assert few.offsets == (0, 1, 1, 2)  # entry 2 is entry 1 of the symmetric matrix
    assert slots == [9, *few.offsets, 5, 6, *[99] * 14, 5, 6, 10, 11, 12, 13, *[99] * 12, 10, 11, 13]


def test_entries_that_are_not_kept_are_the_zero() -> None:
    """What is written of them may be -0.0."""
    slots, diagonal = list[int](), layout((2, 2), (0, 3), False, 8)
    assert port_numbers((), ((10, 11, 12, 13),), 99, ((), (diagonal,)), slots) == [0, 4, 16, 2]
    assert slots == [10, 99, 99, 13, *[99] * 12, 10, 13]


def test_constants_are_repeated_where_kernels_read_vectors() -> None:
    assert packed_constants((1.0, 2.0), AVX512, 64) == packed((1.0, 2.0), 64)
    assert packed_constants((1.0, 2.0), AVX2, 64) == packed((1.0,) * 4 + (2.0,) * 4, 64)
    assert packed_constants((1.0,), AVX2, 32) == packed((1.0,) * 8, 32)


def test_layouts_of_everything() -> None:
    program = Program("f", (Array("x", (2, 2)),), (Array("y", (3,)), Array("z", ())), (), ())
    assert full_layouts(program, 4) == ((full((2, 2), 4),), (full((3,), 4), full((), 4)))


def test_numbers_of_a_plan() -> None:
    """Size, inputs, outputs, steps, values and loops; ports; steps; slots of values; loops. The zero comes first."""
    work = Straight(AVX512, 64, TARGET)
    work.values, work.steps, work.slots = [(4, 2.5)], [LOOPS, 0, 1], [3]
    made = work.assembled(8, 1, [50, 3, 3, -1, 5, 2, 21, 2], 17, (6, 6), (7.0,))
    assert made.numbers == (17, 1, 1, 1, 2, 2, 50, 3, 3, -1, 5, 2, 21, 2, LOOPS, 0, 1, 8, 4, 6, 6)
    assert made.values == (0.0, 2.5) and made.slots == (3,) and made.constants == packed((7.0,), 64)


def test_columns_and_tiles_are_read_from_the_numbers() -> None:
    numbers = (17, 2, 1, 0, 0, 5, *(0, 0, 31, 0), *(0, 0, 32, 0), *(0, 0, 0, 33), 1, 3, 1, 1, 1)
    assert building._columns(numbers, 0) == (31, 32) and building._columns(numbers, 1) == (33,)
    assert building._side(numbers) == 3 and building._side((17, 2, 1, 0, 0, 0, 9, 9)) == 1


def test_memory_that_is_refused_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError("no such page")

    code = ObjectCode("avx2", 64, (1,), (1,), 1, b"", b"", b"", b"", b"", None)
    monkeypatch.setattr(building.machine, "plan", refuse)
    monkeypatch.setattr(building.machine, "chain", refuse)
    monkeypatch.setattr("condyle.backends.cpu.chain.assemble_chain", lambda *_: SimpleNamespace(
        **dict.fromkeys(MADE)))  # fmt: skip
    for load in (lambda: building.load(code), lambda: building.build_chain(cast(Any, None), "float64", AVX2)):
        with pytest.raises(BuildError, match=r"^the system does not let this process make code: no such page$"):
            load()


def test_a_chain_is_estimated_by_its_joints(monkeypatch: pytest.MonkeyPatch) -> None:
    """150 ns a joint of a lane, and 2 us for the scans; a state has all lanes."""
    plan = SimpleNamespace(work_bytes=64, entry=3, context=4, lanes=8)
    made, asked = SimpleNamespace(**dict.fromkeys(MADE, b"")), list[tuple[Any, ...]]()
    monkeypatch.setattr("condyle.backends.cpu.chain.assemble_chain", lambda *_: made)
    monkeypatch.setattr(building.machine, "chain", lambda *_: plan)
    monkeypatch.setattr(building, "entry_of", lambda *arguments: asked.append(arguments))
    code = SimpleNamespace(inputs=(("q", 0), ("v", 1)), outputs=(("y", 2),), length=5, size=lambda name, k: 10 + k)
    kernel = building.build_chain(cast(Any, code), "float32", AVX512)
    assert asked == [(3, Shape((10, 11), (12,), 1, 64, 2750.0), np.dtype("float32"), 4)]
    assert kernel.description == "machine code, avx512, the chain in 8 segments" and kernel.dtype == np.dtype("float32")


def test_lanes_where_no_code_of_ours_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of the widest registers; a panel is as narrow as half of them where it takes no more registers."""
    monkeypatch.setattr(building, "supported", tuple)
    assert (building.lanes("float64"), building.lanes("float32")) == (8, 16)
    assert least_lanes("float64", (4, 4)) == 4 and least_lanes("float64", (5,)) == 8 and least_lanes("float64", ()) == 4
    monkeypatch.setattr(building, "supported", lambda: (AVX2,))
    assert (building.lanes("float64"), building.lanes("float32")) == (4, 8)
    assert least_lanes("float32", (8,)) == 8 and least_lanes("float32", (9,)) == 8


def test_keys_hold_all_that_a_kernel_depends_on(monkeypatch: pytest.MonkeyPatch) -> None:
    key = Key("abc", "id key", "[]", "float64", "id")
    monkeypatch.setattr(building, "identity", lambda: "sources")
    monkeypatch.setattr(building, "supported", lambda: (AVX2, AVX512))
    repeated_key = "Key(fingerprint='abc', function='id key', routes='[]', dtype='float64')"
    assert building._parts(key) == ["cpu", "sources", np.__version__, "avx2", repeated_key]
    for name, value in (("supported", tuple), ("identity", lambda: "")):
        with monkeypatch.context() as patch:
            patch.setattr(building, name, value)
            assert building._parts(key) == []
    assert building._parts(Key("", "id key", "[]", "float64", "id")) == []


def test_steps_that_need_too_much_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    rolled = roll(tree_of(condyle.chain(3, 1)), FUNCTIONS["id"])
    with monkeypatch.context() as patch:
        patch.setattr(joint_loop_steps, "FRONT", -1)
        with pytest.raises(UnsupportedError, match=r"needs \d+ slots of its own, at most -1 are there"):
            assemble_rolled(rolled, AVX512, 64)
    monkeypatch.setattr(joint_loop_steps, "SAVED", ())
    monkeypatch.setattr(joint_loop_steps, "FREE", ())
    with pytest.raises(UnsupportedError, match=r"a step of rolled sweeps sees \d arrays, machine code 0"):
        assemble_rolled(rolled, AVX512, 64)


@pytest.mark.parametrize("isa", [AVX512, AVX2, SINGLE["avx2"]], ids=["avx512", "avx2", "single"])
def test_distances_have_as_few_bytes_as_they_need(isa: Any) -> None:
    """None, one where it fits, else four; behind rbp and r13 there is always one, behind r12 another byte before it."""
    encoder = Encoder(isa, 64)
    unit = isa.slot_bytes(64)
    short = unit if isa.stretch else 1
    assert encoder.behind(0, 7, 0, unit) == b"\x07" and encoder.behind(3, 6, 0, unit) == b"\x1e"
    assert encoder.behind(0, 5, 0, unit) == b"\x45\0" and encoder.behind(0, 13, 0, unit) == b"\x45\0"
    assert encoder.behind(0, 12, 0, unit) == b"\x04\x24"
    if isa.stretch:
        for number in (1, 127, -1, -128):
            assert encoder.behind(1, 7, number, unit) == bytes((0x4F, number & 255))
    for number in (128, -129):
        distance = (number * short).to_bytes(4, "little", signed=True)
        assert encoder.behind(1, 7, number, short) == b"\x8f" + distance
    assert encoder.behind(0, 12, 1 << 20, 1) == b"\x84\x24" + (1 << 20).to_bytes(4, "little")
    for distance in (-(1 << 31), (1 << 31) - 1):
        assert len(encoder.behind(0, 7, distance, 1)) == 5
    for distance in (-(1 << 31) - 1, 1 << 31):
        with pytest.raises(UnsupportedError, match="arrays lie too far apart for machine code"):
            encoder.behind(0, 7, distance, 1)


def test_kernels_begin_at_lines_of_the_cache() -> None:
    assert [len(padded(b"x" * n)) for n in (0, 1, 63, 64, 65)] == [0, 64, 64, 64, 128]
    assert padded(b"x" * 62) == b"x" * 62 + b"\xcc\xcc"


def test_object_code_as_bytes() -> None:
    single = Single(b"t", b"c", b"n")
    code = ObjectCode("avx2", 64, (3, 1), (2,), 9, b"text", b"cons", b"slot", b"vals", b"nums", single, None)
    data = to_bytes(code)
    assert data == (
        b'["machine code 2", "avx2", 64, [3, 1], [2], 9, [4, 4, 4, 4, 4, 1, 1, 1, 0, 0, 0]]\ntextconsslotvalsnumstcn'
    )
    assert from_bytes(data) == code
    for wrong, said in (
        (data[:-1], "cut short"), (data + b"x", "cut short"), (data.replace(b", 0, 0, 0]", b", 0, 0]"), "cut short"),
        (data.replace(b"code 2", b"code 1"), "not object"), (b"[1]\n", "not object"), (b"{}\n", "not object"),
        *((short, "not object") for short in (b"[]\n", b"{}", b'["machine code 2"]\n')), (b"", "Expecting value"),
        (data.replace(b'"avx2", ', b""), "not object"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=said):
            from_bytes(wrong)


WORD_FACTS = ["machine code 2", "avx2", 64, [1], [1], 7, [0] * 11]


@pytest.mark.parametrize("place", range(1, 7))
@pytest.mark.parametrize("wrong", [None, True, 1.5, -1, [None], [-1], [True], {"a": 1}])
def test_object_code_with_facts_of_other_types(place: int, wrong: object) -> None:
    facts = [*WORD_FACTS[:place], wrong, *WORD_FACTS[place + 1 :]]
    with pytest.raises(ValueError, match=r"^not object code$"):
        from_bytes(json.dumps(facts).encode() + b"\n")
    assert from_bytes(json.dumps(WORD_FACTS).encode() + b"\n").operations == 7
