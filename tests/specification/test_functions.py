"""What a specification says where nothing is said, what it is found by, and steps that answer."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, fields, replace
from typing import Any

import pytest

from condyle.derivatives import derivative, jacobian, jvp, vjp
from condyle.functions import FUNCTIONS, function_of, function_or_none
from condyle.functions.repeat import iterate, repeat
from condyle.identity import digest
from condyle.specification import NO_WAYS, NOTHING, USUAL, Call, Function, Port, Repeat, names
from condyle.specification.integrators import Method, Stage
from condyle.specification.ports import CONTROLS, DAMPING, F_EXT, GRAVITY, IMPLICIT, by_controls
from condyle.specification.routes import Route, Size

FD, ID, STEP = FUNCTIONS["fd"], FUNCTIONS["id"], FUNCTIONS["step"]


def test_defaults_of_ports_and_routes() -> None:
    said = {field.name: field.default for field in fields(Port)[5:]}
    flags = dict.fromkeys(("symmetric", "is_fraction", "is_positive"), False)
    assert said == {
        "given_by": "",
        "zeros": "none",
        "beside": "",
        "by": "",
        "is_shared": None,
        "lanes": 0,
        "lower": 0,
        **flags,
    }
    assert {field.name: field.default for field in fields(Route)[1:]} == {
        **dict.fromkeys(("loops", "alone", "shallow", "baseline", "recorded"), False),
        "part": "",
        "factors": None,
        "size": None,
        "alias": "",
        "whole": None,
        "parts": (),
    }
    assert Size(7) == (7, 0, 0, 0) and Stage(0.5, 0.25) == (0.5, 0.25, 0.0, 0.0)
    assert not Method("m", (), 1).moves_last


def test_defaults_of_functions() -> None:
    bare = Function("f", "g", "", (), ())
    assert bare.ways is NO_WAYS and bare.numerics is USUAL and bare.needs is NOTHING
    assert (bare.routes, bare.closed) == ({}, {})
    assert bare.size == (600, 0, 0, 0) and bare.accuracy == (1e-12, 2e-5) and bare.condition == 0.0
    assert NOTHING == ((), (), (), False, "", False)
    assert (bare.source, bare.takes, bare.normal_form, bare.composition) == ("", (), "exact", ())
    assert bare.inverse is None and bare.outputs_with == {} and bare.origin is None
    assert (bare.symbol, bare.call, bare.content, bare.called) == ("", "", "", "g")
    assert Repeat(FD, 3, ("q",)) == (FD, 3, ("q",), (), 1, (), False, "", False, 0)
    assert Call(FD, ("a",)).takes == ()


@pytest.mark.parametrize("value", [FD, FD.inputs[0], Route(len), Method("m", (), 1)])
def test_specifications_cannot_be_changed(value: Any) -> None:
    with pytest.raises(FrozenInstanceError):
        setattr(value, fields(value)[0].name, "other")


def test_functions_are_found_by_what_they_were_made_of() -> None:
    assert FD.key == digest(("function", "fd", "")) and len(FD.key) == 64
    own = replace(FD, name="own", content="1")
    assert own.key == digest(("function", "own", "1")) != replace(own, content="2").key
    assert FD.taking(F_EXT).key == digest(("taking", FD.key, ("f_ext",)))
    assert jacobian(FD, "q").key == digest(("derivative", "jacobian", FD.key, ("q",)))
    rollout = repeat(STEP, 5)
    assert rollout.repeat is not None
    assert rollout.key == digest(("repeat", STEP.key, *rollout.repeat[1:]))


def test_functions_of_one_name_are_equal_where_they_were_made_alike() -> None:
    own = replace(FD, name="own")
    alike, other = replace(own, content="1"), replace(own, content="2")
    assert own == own and own != replace(own) and alike == replace(alike) and alike != other and own != alike
    assert jvp(alike) == jvp(replace(alike)) and jvp(alike) != jvp(other) and jvp(alike) != vjp(alike)
    assert FD != "fd" and FD != ID and hash(own) == hash("own") and str(own) == "own" and repr(own) == "<Function own>"


@pytest.mark.parametrize(("steps", "every", "rows"), [(7, 1, 7), (7, 3, 3), (6, 3, 2), (7, 7, 1), (7, 9, 1), (7, 0, 1)])
def test_how_many_steps_answer(steps: int, every: int, rows: int) -> None:
    assert Repeat(STEP, steps, (), every=every).rows == rows


def test_what_a_function_is_without_what_it_takes() -> None:
    both = FD.taking(F_EXT, GRAVITY)
    assert both.without_forces is FD.taking(GRAVITY) and FD.without_forces is FD and both.plain is FD
    assert FD.taking(GRAVITY).without_forces is FD.taking(GRAVITY)
    assert both.has_forces and not FD.taking(GRAVITY).has_forces and not both.takes_f_ext
    assert [port.name for port in FD.every_input] == ["q", "v", "tau", "f_ext"]
    assert both.every_input == both.inputs and list(FD.by_name) == ["q", "v", "tau", "f_ext", "a"]
    assert FD.signature == "(nq),(nv),(nv)->(nv)"
    for name in ("f_ext", "implicit"):
        assert name not in FD.numbers
    assert CONTROLS.name in FD.taking(DAMPING).takes and IMPLICIT.name in FD.takes
    root = vjp(jvp(both))
    assert root.root is FD and repeat(STEP, 2).root.name == "rollout_2_of_step" and root.repeat is None


def test_answers_with_the_name_of_an_input_are_called_next() -> None:
    assert [port.name for port in STEP.named_outputs] == ["q_next", "v_next"]
    assert [port.name for port in FD.named_outputs] == ["a"]


def test_inputs_that_are_configurations_also_by_time() -> None:
    in_time = repeat(FUNCTIONS["g"], 4, ("q",))
    assert in_time.inputs[0].dims == ("4", "nq")
    assert in_time.takes_configurations(in_time.inputs[0]) and STEP.takes_configurations(STEP.inputs[0])
    assert not STEP.takes_configurations(STEP.inputs[1]) and not FD.takes_configurations(in_time.inputs[0])


def test_derivatives_by_tau_become_those_by_controls() -> None:
    by_tau = FUNCTIONS["dfd"].taking(CONTROLS).outputs[-1]
    assert by_tau.name.endswith("_du") and by_tau.dims == ("nv", "nu") and by_tau.by == "u" and "by u" in by_tau.doc
    assert by_tau.zeros == "none" and not by_tau.symmetric
    assert by_controls(FD.inputs[0]) is FD.inputs[0]


@pytest.mark.parametrize("together", [False, True])
@pytest.mark.parametrize("by_time", [(), ("v",), ("q", "v")])
def test_names_of_iterations_are_read_back(by_time: tuple[str, ...], together: bool) -> None:
    energy = FUNCTIONS["ke"]
    (answer,) = (port.name for port in energy.outputs)
    for summed in ((), (answer,)):
        iterated = iterate(energy, 12, answer, together, by_time, summed)
        words = "_together" * together + ("_by_" + "_".join(by_time) if by_time else "")
        words += f"_sum_{answer}" if summed else ""
        assert iterated.name == f"iterate_12_until_{answer}{words}_of_ke"
        assert function_of(iterated.name) == iterated
    assert function_or_none(f"iterate_12_until_q_of_{energy.name}") is None
    assert function_or_none(f"iterate_012_until_{answer}_of_ke") is None


def test_long_names_are_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    assert names.LONGEST == 500
    for longest, is_read in ((6, True), (5, False)):
        monkeypatch.setattr(names, "LONGEST", longest)
        assert (function_or_none("vjp_fd") is not None) == is_read


def test_partial_derivatives() -> None:
    for by, partial in ((("q",), True), (("q", "v", "tau"), False)):
        origin = derivative("jacobian", FD, by).origin
        assert getattr(origin, "is_partial", None) == partial
