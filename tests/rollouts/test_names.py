"""The names of rollouts say all that they are, and are read back."""

from __future__ import annotations

from dataclasses import replace

import pytest

import condyle
from condyle.functions import function_of, function_or_none, registered
from condyle.functions.repeat import repeat
from condyle.specification import Function, Port, Repeat

pytestmark = pytest.mark.smoke

CARRIED = ("q", "v")


@pytest.mark.parametrize(
    ("name", "origin"),
    [
        ("rollout_50_by_tau_of_step", Repeat(function_of("step"), 50, CARRIED, ("tau",))),
        ("rollout_50_by_tau_every_5_of_step", Repeat(function_of("step"), 50, CARRIED, ("tau",), 5)),
        ("rollout_50_by_tau_last_of_step", Repeat(function_of("step"), 50, CARRIED, ("tau",), 0)),
        ("rollout_7_of_step", Repeat(function_of("step"), 7, CARRIED)),
        ("rollout_7_last_of_step", Repeat(function_of("step"), 7, CARRIED, (), 0)),
        (
            "rollout_7_by_tau_dt_f_ext_of_step_f_ext",
            Repeat(function_of("step_f_ext"), 7, CARRIED, ("tau", "dt", "f_ext")),
        ),
        (
            "rollout_7_by_q_v_sum_kinetic_energy_last_of_ke",
            Repeat(function_of("ke"), 7, (), ("q", "v"), 0, ("kinetic_energy",)),
        ),
        ("rollout_7_by_q_of_jacobian_fd_by_q", Repeat(function_of("jacobian_fd_by_q"), 7, (), ("q",))),
    ],
)
def test_a_name_is_read_back(name: str, origin: Repeat) -> None:
    assert function_of(name).origin == origin
    of, steps, _, by_time, every, summed, *_ = origin
    assert repeat(of, steps, by_time, every or 1, not every, summed).name == name


@pytest.mark.parametrize(
    "name",
    [
        "iterate_50_until_kinetic_energy_of_ke",
        "iterate_7_until_kinetic_energy_together_of_ke",
        "iterate_7_until_kinetic_energy_by_q_v_sum_kinetic_energy_of_ke",
        "iterate_7_until_kinetic_energy_together_by_v_of_ke",
    ],
)
def test_an_iteration_is_read_back(name: str) -> None:
    function = function_of(name)
    origin = function.repeat
    assert function.name == name and origin is not None and origin.until == "kinetic_energy"
    assert origin.together == ("together" in name) and origin.by_time == tuple(x for x in "qv" if f"_{x}" in name)
    assert function_of(f"iterate_{origin.steps}{name[name.index('_until') :].replace('_of_ke', '_of_kinetic_energy')}")


@pytest.mark.parametrize(
    "name",
    [
        "rollout_0_of_step",
        "rollout_50_by_q_of_step",
        "rollout_50_by_tau_tau_of_step",
        "rollout_50_every_0_of_step",
        "rollout_50_sum_q_of_step",
        "rollout_50_of_nothing",
        "iterate_50_of_ke",
        "iterate_0_until_kinetic_energy_of_ke",
        "iterate_50_until_q_of_ke",
        "iterate_50_until_kinetic_energy_every_5_of_ke",
        "iterate_50_until_tau_of_id",
        "iterate_5_until_kinetic_energy_of_rollout_10_of_ke",
        "vjp_iterate_50_until_kinetic_energy_of_ke",
        "rollout_50_step",
        "rollout_5_of_rollout_10_of_step",
        "jvp_rollout_10_of_step",
        "vjp_vjp_rollout_10_of_step",
        "rollout_5_of_vjp_rollout_10_of_step",
    ],
)
def test_other_names_are_no_functions(name: str) -> None:
    assert function_or_none(name) is None


def odd(*names: str) -> Function:
    ports = tuple(Port(name, (), "1", "-", "a number") for name in names)
    return Function("odd", "odd", "odd", ports, tuple(replace(port, name=f"of_{port.name}") for port in ports))


def test_functions_whose_names_are_equal_are_not() -> None:
    """A name that could be two functions is read as one of them; as values they are told apart."""
    function = odd("u", "v", "u_v")
    both, joined = repeat(function, 3, ("u", "v")), repeat(function, 3, ("u_v",))
    assert both.name == joined.name and both != joined and both.key != joined.key
    with registered(function):
        assert function_of(both.name) == both


def test_words_of_the_grammar_may_be_names_of_ports() -> None:
    with registered(odd("of", "every_5", "last", "sum_x", "by")) as function:
        for by in (("of",), ("every_5",), ("last",), ("sum_x",), ("by", "of"), ("of", "last")):
            for options in ({}, {"every": 5}, {"last": True}, {"summed": ("of_of", "of_by")}):
                rollout = repeat(function, 3, by, **options)
                assert function_of(rollout.name).name == rollout.name
                assert {port.name for port in rollout.inputs if port.dims} == set(by)


def test_ports_have_a_time_axis() -> None:
    function = function_of("rollout_12_by_tau_every_5_of_step")
    assert function.signature == "(nq),(nv),(12,nv),()->(3,nq),(3,nv)"
    assert function_of(f"vjp_{function.name}").signature == ("(nq),(nv),(12,nv),(),(3,nv),(3,nv)->(nv),(nv),(12,nv),()")


def test_of_a_rollout_there_is_vjp_alone() -> None:
    dyn = condyle.load("iiwa14").compile(target="numpy")
    with pytest.raises(condyle.UnsupportedError, match="of a rollout there is vjp"):
        dyn.jvp("rollout_3_by_tau_of_step")
