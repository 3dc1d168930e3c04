"""Hardware plans: codes, plans that follow from compositions, refusals."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import condyle
from condyle import fpga
from condyle.errors import UnsupportedError
from condyle.fpga import Options
from condyle.fpga.functions import families, tasks
from condyle.fpga.rtl.accelerator import BIAS, COLUMNS, INVERSE, PRODUCTS, SOLVED
from condyle.fpga.rtl.export import Facts, Sheet, write
from condyle.fpga.simulation import simulate
from condyle.functions import FUNCTIONS, registered
from condyle.specification import Call, Function, MinusProduct
from tests.programs import skip_without

CODES = {
    "id": (0,),
    "fd": (1,),
    "m": (2,),
    "minv": (3,),
    "did": (4,),
    "dfd": (5, 7),
    "difd": (6,),
    "rk4": (8, 10),
    "euler": (9,),
    "minv_given": (11,),
    "fd_given": (12,),
    "dfd_given": (13, 14),
}
INVERSE_AGAIN = Function(
    "weight",
    "inverse_again",
    "M(q)^-1, once more",
    FUNCTIONS["minv"].inputs,
    FUNCTIONS["minv"].outputs,
    FUNCTIONS["minv"].ways,
    normal_form="joint_space",
    composition=(Call(FUNCTIONS["minv"], ("Minv",)),),
)


def test_codes_are_given_out_in_a_fixed_order() -> None:
    assert {name: task.codes for name, task in fpga.functions().items()} == CODES


@pytest.mark.smoke
def test_plans_follow_from_compositions() -> None:
    plans = {name: task.passes for name, task in fpga.functions().items()}
    net = {BIAS, INVERSE, SOLVED}
    assert [set(leaves) for leaves in plans["fd"]] == [net]
    assert [set(leaves) for leaves in plans["dfd"]] == [net, {COLUMNS, PRODUCTS}]
    assert plans["difd"] == ((COLUMNS, PRODUCTS),)
    assert plans["dfd"][0][-1] == SOLVED and plans["dfd_given"] == plans["dfd"]


def test_a_function_made_of_others_needs_no_plan_of_its_own(tmp_path: Path) -> None:
    """Its codes take one bit more than the library's functions need."""
    derivatives = replace(FUNCTIONS["dfd"], name="again", method="derivatives_again")
    robot = condyle.chain(2, 0)
    with registered(INVERSE_AGAIN), registered(derivatives):
        acc = fpga.accelerator(robot, Options(("minv", "weight", "again", "dfd_given")[:3]))
        assert acc.plan.id.code_bits == 4 < max(max(task.codes) for task in fpga.functions().values()).bit_length()
        left, right = (acc.plan.results[name] for name in ("minv", "weight"))
        assert left == right and acc.latency("minv") == acc.latency("weight")
        skip_without("iverilog", "make")
        sheet = Sheet({function: {} for function in acc.plan.functions}, 0, acc.plan.box)
        write(tmp_path, acc, Facts("rig", "", "", 125.0, "27x18"), sheet, fpga.tasks(robot, acc, 8), {})
        assert simulate(tmp_path, "rig", ("+stall_in=40", "+stall_out=40")).startswith("right: 24 tasks")


@pytest.mark.slow
def test_five_bits_of_code(tmp_path: Path) -> None:
    robot = condyle.random_tree(1, 3, types=("revolute",), floating_base=True)
    with registered(INVERSE_AGAIN), registered(replace(INVERSE_AGAIN, name="third", method="third")):
        assert fpga.functions()["dfd_given"].codes == (15, 16)
        acc = fpga.accelerator(robot, Options(("third", "dfd_given")))
        assert acc.plan.id.code_bits == 5
        skip_without("iverilog", "make")
        sheet = Sheet({function: {} for function in acc.plan.functions}, 0, acc.plan.box)
        write(tmp_path, acc, Facts("rig", "", "", 125.0, "27x18"), sheet, fpga.tasks(robot, acc, 5), {})
        assert simulate(tmp_path, "rig", ("+stall_in=40", "+stall_out=40")).startswith("right: 10 tasks")


@pytest.mark.parametrize(
    "changed",
    [
        {"composition": ()},
        {"composition": (Call(FUNCTIONS["id"], ("tau",)),)},
        {"composition": (Call(FUNCTIONS["minv"], ("Minv",), ("p",)),)},
        {"composition": (Call(FUNCTIONS["m"], ("M",)), Call(FUNCTIONS["minv"], ("Minv",)))},
        {"inputs": FUNCTIONS["step"].inputs},
        {"inputs": (*FUNCTIONS["fd"].inputs, FUNCTIONS["id"].inputs[2])},
        {"outputs": FUNCTIONS["m"].outputs},
        {"composition": (*FUNCTIONS["difd"].composition[:1], MinusProduct("Minv", "M", "Minv"))},
        {
            "inputs": FUNCTIONS["fd"].inputs,
            "outputs": FUNCTIONS["id"].outputs,
            "composition": (Call(FUNCTIONS["fd"], ("a",)), Call(FUNCTIONS["id"], ("tau",))),
        },
    ],
)
def test_a_function_without_a_plan_is_refused_by_name(tmp_path: Path, changed: dict[str, object]) -> None:
    own = replace(INVERSE_AGAIN, **changed)
    with registered(own):
        assert own.name not in fpga.functions()
        with pytest.raises(UnsupportedError, match=r"'weight' has no hardware plan; .* 'id', 'fd', .* 'dfd_given'"):
            condyle.export(condyle.chain(2, 0), "verilog", tmp_path, (own.name,))
    with pytest.raises(UnsupportedError, match="'weight' is not one of"):
        condyle.export(condyle.chain(2, 0), "verilog", tmp_path, (own.name,))


def test_every_function_with_a_plan_is_of_one_family() -> None:
    """The functions of a given base, where the base floats."""
    for floats in (False, True):
        every = families(condyle.load("hyq", floating_base=floats))
        names = [name for family in every for name in family]
        assert len(set(names)) == len(names) and {"id", "euler", "rk4"} < set(names)
        assert (set(names) == set(tasks())) is floats


def test_limits_are_of_every_entry_of_a_state() -> None:
    robot = condyle.load("hyq", floating_base=True)
    box = fpga.box_of(robot, {"v": 3.0, "a": 20.0}, 50.0)
    words, states = fpga.limits(robot, box), fpga.sampled(robot, 40, 0, box)
    for name, sample in states.items():
        every = {word.index: most for word, most in words.items() if word.name == name}
        assert sorted(every) == list(range(sample.shape[1])), name
        assert (np.abs(sample) <= np.array([every[k] for k in sorted(every)])).all(), name
