"""Groups of lanes: the same bits as a thread a state, whatever the lanes, the batch and the place in it."""

from __future__ import annotations

import dataclasses
import json
from functools import cache

import numpy as np
import pytest

from benchmarks.results import FOLDER
from condyle import Robot
from condyle.api import compiler_of
from condyle.backends.cuda.group.schedule import CHAIN, LATENCY, SPECIAL, SUM, UNROLL, group
from condyle.backends.cuda.launches import Part, Parts, grouped, straight
from condyle.backends.cuda.target import LANES, TARGET, WHOLE, Form, Request, Size, partitions, requested
from condyle.compile.gpu import partitions_of
from condyle.errors import UnsupportedError
from condyle.functions import DEFAULT, FUNCTIONS
from condyle.ir.program import Array, Output, Program
from condyle.specification import MinusProduct, expanded
from tests.backends.c.small import states, tangle, toy
from tests.backends.cuda.machine_code import hold_code
from tests.backends.cuda.memory import RaceError
from tests.backends.cuda.simulate import code, kernel, kernels, on_gpu, robot, simulate
from tests.backends.cuda.test_kernels import check_made, given
from tests.forces import function_with
from tests.processor import slow

RESULTS = FOLDER / "gpu_code.json"
UNLIMITED = dataclasses.replace(TARGET, values32=1 << 20, values64=1 << 20, pool=1 << 20)
"""As many registers as a thread asks for: nothing to plan, which takes minutes, and the same operations."""
SHORT = [("iiwa14", False, function, 64) for function in DEFAULT]
SHORT = [one for one in SHORT if one[2] not in ("did", "dfd", "difd")]
SHORT += [("iiwa14", False, function, 32) for function in ("id", "minv", "dfd")]
SHORT += [("hyq", False, "did", 32), ("hyq", True, "m", 32), ("atlas", False, "id", 32)]
LONG = [("iiwa14", False, function, 64) for function in ("did", "dfd", "difd")]
LONG += [("iiwa14", False, function, 32) for function in ("fd", "m", "did", "difd")]
LONG += [
    (name, floating, function, bits)
    for name in ("hyq", "atlas")
    for floating in (False, True)
    for function in DEFAULT
    for bits in (32, 64)
]


@cache
def lanes_of(one: Robot, function: str, bits: int, lanes: int, f_ext: bool = False) -> Part:
    return grouped(code(one, function, f_ext), lanes, bits)


def whole(program: Program, bits: int, part: Part) -> Parts:
    return Parts(program.name, bits, program.inputs, program.arrays, (part,))


def hold(one: Robot, function: str, bits: int, lanes: int, f_ext: bool = False) -> None:
    """To the reference, to the bits of a thread a state, or to one of no limits where threads run it in parts; and the
    code to its limits."""
    program = code(one, function, f_ext)
    made = whole(program, bits, lanes_of(one, function, bits, lanes, f_ext))
    answers = check_made(one, function, bits, made, f_ext, 5)
    inputs = [array.astype(f"f{bits // 8}") for array in given(one, function, 5, f_ext)]
    target = TARGET if kernels(one).usual(function_with(function, f_ext)) == WHOLE else UNLIMITED
    thread = whole(program, bits, kernel(one, function, bits, f_ext, target))
    for got, want in zip(answers, simulate(thread, inputs), strict=True):
        np.testing.assert_array_equal(got, want)
    if not f_ext:
        hold_code(made.launches[0], function, bits, one.nq > one.nv, lanes)


@pytest.mark.parametrize(("name", "floating", "function", "bits"), SHORT)
def test_every_function(name: str, floating: bool, function: str, bits: int) -> None:
    hold(robot(name, floating), function, bits, 32)


@pytest.mark.slow  # thread kernels of humanoids are interpreted beside them
@pytest.mark.parametrize(("name", "floating", "function", "bits"), LONG)
def test_every_robot(name: str, floating: bool, function: str, bits: int) -> None:
    hold(robot(name, floating), function, bits, 16)


def test_external_forces() -> None:
    hold(robot("iiwa14"), "did", 64, 16, f_ext=True)


@pytest.mark.parametrize(("seed", "bits"), [(3, 32), slow(3, 64), (4, 64), slow(5, 32)])
def test_any_program_any_lanes(seed: int, bits: int) -> None:
    """Every operation, sines of sines, roots and reciprocals among them."""
    program = tangle(seed)
    inputs = [np.reshape(array, (11, -1)) for array in states(program, 11, f"float{bits}")]
    wanted = simulate(whole(program, bits, straight(program, bits)), inputs)
    for lanes in LANES:
        for got, want in zip(
            simulate(whole(program, bits, grouped(program, lanes, bits)), inputs), wanted, strict=True
        ):
            np.testing.assert_array_equal(got, want)


def test_outputs_that_are_inputs_constants_or_nothing() -> None:
    nodes = (("input", 0, 0), ("const", 2.5), ("neg", 0), ("sin", 1), ("cos", 0), ("sin", 3), ("mul", 0, 1))
    outputs = tuple(Output(0, k, node) for k, node in ((0, 0), (1, 1), (3, 2), (4, 3), (5, 4), (299, 5), (8, 6)))
    program = Program("odd", (Array("x", (3,)),), (Array("y", (300,)), Array("z", (5,))), nodes, outputs)
    inputs = [np.array([[-0.0, 1.0, 2.0], [1e6, 1.0, 2.0], [0.0, 1.0, 2.0]])]
    wanted = simulate(whole(program, 64, straight(program, 64)), inputs)
    for got, want in zip(simulate(whole(program, 64, grouped(program, 4, 64)), inputs), wanted, strict=True):
        np.testing.assert_array_equal(got, want)
        np.testing.assert_array_equal(np.signbit(got), np.signbit(want))  # zeros too


@pytest.mark.parametrize(("n", "block"), [(1, 128), (3, 32), (5, 32), (17, 128)])
def test_place_in_the_batch_does_not_matter(n: int, block: int) -> None:
    """A group alone, beside others and in full blocks: the same bits; nothing is written beyond the last state."""
    one = robot("iiwa14")
    inputs = given(one, "did", 20)
    made = whole(code(one, "did", False), 64, lanes_of(one, "did", 64, 8))
    everything = simulate(made, inputs, block=64)
    for got, want in zip(simulate(made, [array[:n] for array in inputs], block=block), everything, strict=True):
        np.testing.assert_array_equal(got, want[:n])
    for got, want in zip(simulate(made, [np.roll(a, 7, axis=0) for a in inputs], block=block), everything, strict=True):
        np.testing.assert_array_equal(got, np.roll(want, 7, axis=0))


def test_nan_spoils_its_own_state_only() -> None:
    one = robot("iiwa14")
    inputs = given(one, "fd", 8)
    made = whole(code(one, "fd", False), 64, lanes_of(one, "fd", 64, 16))
    (clean,) = simulate(made, inputs)
    inputs[0][5, 2] = np.nan
    (got,) = simulate(made, inputs)
    assert np.isnan(got[5]).any()
    np.testing.assert_array_equal(np.delete(got, 5, 0), np.delete(clean, 5, 0))


def test_lanes_need_their_barriers() -> None:
    """Without any one of them lanes race, so no order of the lanes can change an answer while they stand."""
    one = robot("iiwa14")
    part = lanes_of(one, "m", 64, 32)
    (text,) = part.texts
    pieces = text.ptx.split("bar.warp.sync 0xFFFFFFFF;")
    assert len(pieces) == 2 + UNROLL
    for k in range(1, len(pieces)):
        ptx = "bar.warp.sync 0xFFFFFFFF;".join([*pieces[: k - 1], pieces[k - 1] + pieces[k], *pieces[k + 1 :]])
        bare = dataclasses.replace(part, texts=(dataclasses.replace(text, ptx=ptx),))
        with pytest.raises(RaceError):
            simulate(whole(code(one, "m", False), 64, bare), given(one, "m", 2))


@pytest.mark.parametrize("program", [tangle(1), tangle(2, 600), toy(width=9, side=6)])
@pytest.mark.parametrize("lanes", [2, 32])
def test_schedule_keeps_its_promises(program: Program, lanes: int) -> None:
    """What is read was written two steps before, and nothing else in between; kinds of words stand where they may."""
    made = group(program, lanes)
    assert len(made.steps) % UNROLL == 0
    held: dict[int, int] = {}
    written: dict[int, int] = {}
    for time, step in enumerate(made.steps):
        assert len(step) <= lanes
        assert len({word.kind for word in step}) <= 1
        assert not step or step[0].kind == SUM or time % SPECIAL == SPECIAL - 1
        for word in step:
            operands, _ = made.word_slots[word]
            assert len(word.terms) <= CHAIN
            assert set(operands) == word.reads()
            assert all(held[slot] == value for value, slot in operands.items() if slot >= made.dump)
            assert all(written.get(slot, -LATENCY) + LATENCY <= time for slot in operands.values())
        for word in step:
            for k, node in enumerate(word.defines):
                held[made.word_slots[word][1] + k] = node
                written[made.word_slots[word][1] + k] = time
    slots = {output.node: made.slots[output.node] for output in made.program.outputs}
    assert all(held[slot] == node for node, slot in slots.items() if slot >= made.dump)


@pytest.mark.slow
@pytest.mark.parametrize("lanes", [slow(1), 16])
def test_partitionings_agree(lanes: int) -> None:
    """Plancher's three are one function."""
    one = robot("iiwa14")
    for function, launches in (("dfd", {"split": 4, "fused": 3, "completely-fused": 1}), ("difd", {"split": 2})):
        for partition, number in launches.items():
            made = on_gpu(one, function, 64).launches(Form(lanes, partition))
            assert len(made.launches) == number
            check_made(one, function, 64, made, False, 5)


def test_words_for_forms() -> None:
    known = {function: partitions_of(FUNCTIONS[function]) for function in DEFAULT}
    assert {name: list(words) for name, words in known.items() if len(words) > 1} == {
        "dfd": ["split", "fused", "completely-fused"],
        "difd": ["split", "completely-fused"],
    }
    assert requested(FUNCTIONS["id"], "auto", known["id"]) == Request() == requested(FUNCTIONS["id"], "", known["id"])
    assert requested(FUNCTIONS["dfd"], "group8 fused", known["dfd"]) == Request((8,), "fused")
    for function in ("dfd", "difd"):
        for partition in known[function]:
            assert requested(FUNCTIONS[function], f"{partition} thread", known[function]) == Request((1,), partition)
    for function in DEFAULT:
        with pytest.raises(UnsupportedError):
            requested(FUNCTIONS[function], "group8 thread", known[function])
    with pytest.raises(UnsupportedError, match="it can be one of auto, group, thread"):
        requested(FUNCTIONS["m"], "split", known["m"])


def test_few_states_take_groups_and_many_take_threads() -> None:
    """The estimate, which is not a measurement, is monotone in what it must be."""
    function = on_gpu(robot("iiwa14"), "dfd", 32)
    forms = [function.form(n) for n in (1, 256, 1 << 20)]
    assert [form.lanes > 1 for form in forms] == [True, True, False]
    times = [function.us(Form(32), n) for n in (1, 64, 4096, 1 << 16)]
    assert times == sorted(times)
    named = dataclasses.replace(function, words="group fused").form(1 << 20)
    assert named.lanes > 1 and named.partition == "fused"


def test_a_product_needs_its_right_side_for_itself() -> None:
    """What is read twice, given, or an answer is not multiplied where it lies: one kernel serves."""
    dfd = FUNCTIONS["dfd"]
    *_, by_q, by_v = steps = expanded(dfd)
    assert isinstance(by_q, MinusProduct) and isinstance(by_v, MinusProduct)
    for odd in (by_v._replace(right=by_q.right), by_v._replace(right="v"), by_v._replace(right="da_dtau")):
        assert list(partitions(dfd, (*steps[:-1], odd))) == [WHOLE]


def test_states_that_do_not_fit_are_refused() -> None:
    tight = dataclasses.replace(TARGET, shared=1000)
    with pytest.raises(UnsupportedError, match="take more lanes"):
        grouped(tangle(1), 2, 64, tight)


@pytest.mark.parametrize("function", DEFAULT)
def test_the_estimate_counts_what_is_there(function: str) -> None:
    """Steps of the schedule, and instructions in the recorded machine code, as the choice reckons them."""
    program = code(robot("iiwa14"), function, False)
    size = Size(program)
    for lanes in (8, 16, 32):
        assert 0.7 < size.steps(lanes) / len(group(program, lanes).steps) < 1.3
    rows = json.loads(RESULTS.read_text())["kernels"]
    key = {"robot": "iiwa14", "function": function, "lanes": 1, "bits": 32, "arch": "sm_90", "floating": False}
    (row,) = (row for row in rows if key.items() <= row.items())
    assert 0.9 < size.thread / row["instructions"] < 1.1


def test_what_does_not_fit_is_not_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    def too_large(*_: object) -> Part:
        raise UnsupportedError("no room")

    one = compiler_of(robot("iiwa14"))
    assert one.gpu(FUNCTIONS["did"], "float32", 132).form(1).lanes > 1
    monkeypatch.setattr("condyle.compile.gpu.grouped", too_large)
    other = compiler_of(robot("iiwa14"))
    assert other.gpu(FUNCTIONS["did"], "float32", 132).form(1) == Form()
    other.kernels = {FUNCTIONS["did"]: "group16"}
    named = other.gpu(FUNCTIONS["did"], "float32", 132)
    with pytest.raises(UnsupportedError, match="no room"):
        named.launches(named.form(1))
