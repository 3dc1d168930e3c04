"""The names of rollouts say all that they are, and are read back."""

from __future__ import annotations

from dataclasses import replace

import pytest

import condyle
from condyle.functions import FUNCTIONS, registered
from condyle.functions.rollouts import name_of, parsed
from condyle.specification import Function, Port, Repeat

CARRIED = ("q", "v")


@pytest.mark.parametrize(
    ("name", "repeat"),
    [
        ("rollout_50_by_tau_of_step", Repeat("step", 50, CARRIED, ("tau",))),
        ("rollout_50_by_tau_every_5_of_step", Repeat("step", 50, CARRIED, ("tau",), 5)),
        ("rollout_50_by_tau_last_of_step", Repeat("step", 50, CARRIED, ("tau",), 0)),
        ("rollout_7_of_step", Repeat("step", 7, CARRIED)),
        ("rollout_7_last_of_step", Repeat("step", 7, CARRIED, (), 0)),
        ("rollout_7_by_tau_dt_f_ext_of_step_f_ext", Repeat("step_f_ext", 7, CARRIED, ("tau", "dt", "f_ext"))),
        ("rollout_7_by_q_v_sum_kinetic_energy_last_of_ke", Repeat("ke", 7, (), ("q", "v"), 0, ("kinetic_energy",))),
        ("rollout_7_by_q_of_jacobian_fd_by_q", Repeat("jacobian_fd_by_q", 7, (), ("q",))),
    ],
)
def test_a_name_is_read_back(name: str, repeat: Repeat) -> None:
    assert parsed(name) == repeat
    of, steps, _, by_time, every, summed, _ = repeat
    assert name_of(of, steps, by_time, every or 1, not every, summed) == name
    assert FUNCTIONS[name].name == name


@pytest.mark.parametrize(
    "name",
    [
        "rollout_0_of_step",
        "rollout_50_by_q_of_step",
        "rollout_50_by_tau_tau_of_step",
        "rollout_50_every_0_of_step",
        "rollout_50_sum_q_of_step",
        "rollout_50_of_nothing",
        "rollout_50_step",
        "rollout_5_of_rollout_10_of_step",
        "jvp_rollout_10_of_step",
        "vjp_vjp_rollout_10_of_step",
        "rollout_5_of_vjp_rollout_10_of_step",
    ],
)
def test_other_names_are_no_functions(name: str) -> None:
    with pytest.raises(KeyError):
        FUNCTIONS[name]


def odd(*names: str) -> Function:
    ports = tuple(Port(name, (), "1", "-", "a number") for name in names)
    return Function("odd", "odd", "odd", ports, tuple(replace(port, name=f"of_{port.name}") for port in ports))


def test_names_that_read_in_two_ways_are_refused() -> None:
    with registered(odd("u", "v", "u_v")):
        assert parsed(name_of("odd", 3, ("u", "v"))) == Repeat("odd", 3, (), ("u", "v"))
        with pytest.raises(condyle.UnsupportedError, match="cannot be told apart"):
            name_of("odd", 3, ("u_v",))


def test_words_of_the_grammar_may_be_names_of_ports() -> None:
    with registered(odd("of", "every_5", "last", "sum_x", "by")):
        for by in (("of",), ("every_5",), ("last",), ("sum_x",), ("by", "of"), ("of", "last")):
            for options in ({}, {"every": 5}, {"last": True}, {"summed": ("of_of", "of_by")}):
                try:
                    name = name_of("odd", 3, by, **options)
                except condyle.UnsupportedError:
                    continue
                repeat = parsed(name)
                assert repeat is not None and set(repeat.by_time) == set(by)


def test_ports_have_a_time_axis() -> None:
    function = FUNCTIONS["rollout_12_by_tau_every_5_of_step"]
    assert function.signature == "(nq),(nv),(12,nv),()->(3,nq),(3,nv)"
    assert FUNCTIONS[f"vjp_{function.name}"].signature == ("(nq),(nv),(12,nv),(),(3,nv),(3,nv)->(nv),(nv),(12,nv),()")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"of": "nothing"}, "'nothing' is no function that can be repeated"),
        ({"of": "rollout_3_of_step"}, "is no function that can be repeated"),
        ({"steps": 0}, "steps=0; give a whole number from 1"),
        ({"every": 0}, "every=0; give a whole number from 1"),
        ({"every": 1.5}, "every=1.5; give a whole number from 1"),
        ({"by_time": ("q",)}, "give some of its inputs that are not carried, each once: tau, dt"),
        ({"by_time": ("force",)}, "by_time=.*give some of its inputs"),
        ({"summed": ("q",)}, "sum=.*give some of its outputs that are not carried"),
    ],
)
def test_errors(options: dict[str, object], message: str) -> None:
    given = {"of": "step", "steps": 5, **options}
    with pytest.raises(condyle.UnsupportedError, match=message):
        name_of(**given)  # type: ignore[arg-type]


def test_of_a_rollout_there_is_vjp_alone() -> None:
    dyn = condyle.load("iiwa14").compile(target="numpy")
    with pytest.raises(condyle.UnsupportedError, match="of a rollout there is vjp"):
        dyn.jvp("rollout_3_by_tau_of_step")
