"""Hardware plans: codes, plans that follow from compositions, refusals."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import condyle
from condyle import hardware
from condyle.backends.fpga.export import Facts, Sheet, write
from condyle.backends.fpga.tasks import BIAS, COLUMNS, INVERSE, PRODUCTS, SOLVED
from condyle.errors import UnsupportedError
from condyle.functions import FUNCTIONS, registered
from condyle.hardware import Options
from condyle.simulation import simulate
from condyle.specification import Call, Function
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
    assert {name: task.codes for name, task in hardware.functions().items()} == CODES


@pytest.mark.smoke
def test_plans_follow_from_compositions() -> None:
    plans = {name: task.passes for name, task in hardware.functions().items()}
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
        acc = hardware.accelerator(robot, Options(("minv", "weight", "again", "dfd_given")[:3]))
        assert acc.plan.id.code_bits == 4 < max(max(task.codes) for task in hardware.functions().values()).bit_length()
        left, right = (acc.plan.results[name] for name in ("minv", "weight"))
        assert left == right and acc.latency("minv") == acc.latency("weight")
        skip_without("iverilog", "make")
        sheet = Sheet({function: {} for function in acc.plan.functions}, 0, acc.plan.box)
        write(tmp_path, acc, Facts("rig", "", "", 125.0, "27x18"), sheet, hardware.tasks(robot, acc, 8), {})
        assert simulate(tmp_path, "rig", ("+stall_in=40", "+stall_out=40")).startswith("right: 24 tasks")


def test_five_bits_of_code(tmp_path: Path) -> None:
    robot = condyle.random_tree(1, 3, types=("revolute",), floating_base=True)
    with registered(INVERSE_AGAIN), registered(replace(INVERSE_AGAIN, name="third", method="third")):
        assert hardware.functions()["dfd_given"].codes == (15, 16)
        acc = hardware.accelerator(robot, Options(("third", "dfd_given")))
        assert acc.plan.id.code_bits == 5
        skip_without("iverilog", "make")
        sheet = Sheet({function: {} for function in acc.plan.functions}, 0, acc.plan.box)
        write(tmp_path, acc, Facts("rig", "", "", 125.0, "27x18"), sheet, hardware.tasks(robot, acc, 5), {})
        assert simulate(tmp_path, "rig", ("+stall_in=40", "+stall_out=40")).startswith("right: 10 tasks")


@pytest.mark.parametrize(
    "changed",
    [
        {"composition": ()},
        {"composition": (Call(FUNCTIONS["id"], ("tau",)),)},
        {"composition": (Call(FUNCTIONS["minv"], ("Minv",), ("p",)),)},
        {"composition": (Call(FUNCTIONS["m"], ("M",)), Call(FUNCTIONS["minv"], ("Minv",)))},
    ],
)
def test_a_function_without_a_plan_is_refused_by_name(tmp_path: Path, changed: dict[str, object]) -> None:
    own = replace(INVERSE_AGAIN, **changed)
    with registered(own):
        assert own.name not in hardware.functions()
        with pytest.raises(UnsupportedError, match=r"'weight' has no hardware plan; .* 'id', 'fd', .* 'dfd_given'"):
            condyle.export(condyle.chain(2, 0), "verilog", tmp_path, (own.name,))
    with pytest.raises(UnsupportedError, match="'weight' is not one of"):
        condyle.export(condyle.chain(2, 0), "verilog", tmp_path, (own.name,))
