"""The registry of functions: what is in it, what a name that is none gets for an answer, rollouts of exports."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

import condyle
from condyle.derivatives import vjp
from condyle.derivatives.iterations import check_inside
from condyle.errors import UnsupportedError
from condyle.functions import (
    DEFAULT,
    FUNCTIONS,
    LIBRARY,
    function_of,
    has_joint_loops,
    multiplied_by,
    products_of,
    quantities,
    registered,
)
from condyle.functions.open_rollouts import OpenRollout, open_rollout, open_rollouts, opened, rollout_by
from condyle.functions.repeat import iterate, repeat
from condyle.specification import Repeat
from condyle.specification.ports import F_EXT, OPEN

STEP, FD = FUNCTIONS["step"], FUNCTIONS["fd"]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("rollout", r"^there is no function 'rollout'; one of 50 steps is 'rollout_50_by_tau_of_step'$"),
        ("forward_dynamic", r"^there is no function 'forward_dynamic'; did you mean 'fd', forward_dynamics\?$"),
        ("mass_matrx", r"did you mean 'm', mass_matrix\?$"),
        ("dynamics", r"^there is no function 'dynamics'; there are id, fd, m, minv, did, dfd, difd, fk, "),
        (7, r"^there is no function 7; there are id, fd"),
    ],
)
def test_a_name_that_is_no_function_is_refused(name: Any, said: str) -> None:
    with pytest.raises(UnsupportedError, match=said):
        function_of(name)


def test_what_an_export_has_where_nothing_is_named() -> None:
    assert DEFAULT == ("id", "fd", "m", "minv", "did", "dfd", "difd") and set(FUNCTIONS.values()) == LIBRARY


@pytest.mark.parametrize(("name", "method"), [("fd", "own"), ("own", "forward_dynamics"), ("fd", "forward_dynamics")])
def test_a_name_is_registered_once(name: str, method: str) -> None:
    said = rf"there is a function '{name}' or a method '{method}' already"
    with pytest.raises(ValueError, match=said), registered(replace(FD, name=name, method=method)):
        pass
    assert FUNCTIONS["fd"] is FD
    with registered(replace(FD, name="own", method="own")) as own:
        assert FUNCTIONS["own"] is own
    assert "own" not in FUNCTIONS


def test_a_quantity_is_as_its_first_function_has_it() -> None:
    found = quantities()
    assert found["a"] is FUNCTIONS["id"].inputs[2] and found["tau"] is FUNCTIONS["id"].outputs[0]
    assert found["da_dq"] is FUNCTIONS["dfd"].outputs[0] and found["da_dq"].zeros == "connected"
    assert found["f_ext"] is F_EXT and all(found[name] is port for name, port in OPEN.items())
    assert list(found)[:4] == ["q", "v", "a", "tau"]


def test_which_functions_have_loops_over_joints() -> None:
    assert {name for name, function in FUNCTIONS.items() if has_joint_loops(function)} == {
        *("id", "fd", "m", "minv", "did", "dfd", "difd"),
        *("g", "nle", "cor"),
    }


def test_products_with_the_inverse_of_m() -> None:
    for name in ("difd", "dfd"):
        assert [(x.right, x.gives) for x in products_of(FUNCTIONS[name])] == [
            ("dtau_dq", "da_dq"),
            ("dtau_dv", "da_dv"),
        ]
        assert multiplied_by(FUNCTIONS[name]) is FUNCTIONS["did"]
    assert products_of(FD) == []


def test_names_of_open_rollouts() -> None:
    """A step's is short; others say what is repeated."""
    assert opened("rollout") == open_rollout(STEP, ("tau",)) and opened("rollout") == opened("rollout_by_tau_of_step")
    for function, name in ((STEP, "rollout"), (STEP.taking(F_EXT), "rollout_f_ext"), (FD, "rollout_fd")):
        assert open_rollout(function).name == name
    stepping = replace(FD, name="stepping")
    assert open_rollout(stepping).name == "rollout_stepping"
    rollout = open_rollout(STEP, ("tau",))
    assert opened(rollout) is rollout
    for wrong in ("fd", "step", "rollout_5_by_tau_of_step", "rollout_by_x_of_step", "rollout_every_2_of_step", 3, None):
        assert opened(wrong) is None


def test_an_open_rollout_is_repeated_as_often_as_one_asks() -> None:
    rollout = open_rollout(FD, ("tau",), ("a",))
    assert rollout.repeated(7, 1) == repeat(FD, 7, ("tau",), 1, summed=("a",))
    assert rollout.repeated(7, 3) == repeat(FD, 7, ("tau",), 3, summed=("a",))
    assert rollout.repeated(7, 0) == repeat(FD, 7, ("tau",), last=True, summed=("a",))


def test_what_documents_say_of_an_open_rollout() -> None:
    function = open_rollout(STEP, ("tau",)).function
    assert [port.doc.rpartition(", ")[2] for port in function.inputs] == [
        "before the first step",
        "before the first step",
        "for every step",
        "at every step",
    ]
    assert [port.name for port in function.outputs] == ["q_next", "v_next"]
    assert function.outputs[0].doc.endswith(", of the steps that are kept") and function.takes == ()
    assert function.equation == "step, `steps` times one after the other"
    summed = open_rollout(FD, (), ("a",)).function
    assert summed.outputs[0].doc.endswith(", summed over all steps") and summed.outputs[0].name == "a"


def test_options_of_an_open_rollout() -> None:
    assert rollout_by(FD, {"by_time": ("tau",), "sum": ("a",)}) == open_rollout(FD, ("tau",), ("a",))
    assert rollout_by(FD, {}) == open_rollout(FD)
    with pytest.raises(UnsupportedError, match=r"^rollout=.*: allowed are 'by_time' and 'sum', each a list of names$"):
        rollout_by(FD, {"every": ("2",)})


def test_open_rollouts_take_forces_too() -> None:
    step, forced = open_rollout(STEP, ("tau",)), open_rollout(STEP.taking(F_EXT), ("tau",))
    mass = open_rollout(FUNCTIONS["m"])
    assert open_rollouts([step, mass]) == [step, forced, mass] and open_rollouts([step, step]) == [step, forced]
    with pytest.raises(UnsupportedError, match=r"^functions: there are two rollouts of 'step'; export one of them"):
        open_rollouts([step, open_rollout(STEP, ("dt",))])


def test_a_cotangent_is_no_open_rollout() -> None:
    backwards = vjp(repeat(STEP, 1, ("tau",)))
    assert backwards.repeat is not None and opened(f"rollout_{backwards.name}") is None
    assert OpenRollout(backwards.repeat).repeat.backwards


@pytest.mark.parametrize("number", [0, -1, (1 << 24) + 1, True, 2.0, "2", None])
def test_steps_are_a_whole_number_up_to_two_to_the_24(number: Any) -> None:
    with pytest.raises(UnsupportedError, match=rf"steps={number!r}; give a whole number from 1 to 16777216$"):
        repeat(STEP, number)
    assert repeat(STEP, 1 << 24).repeat == Repeat(STEP, 1 << 24, ("q", "v")) and repeat(STEP, 1).name


def test_the_accuracy_of_a_rollout_is_that_of_all_its_steps() -> None:
    """As much as all its steps, up to 1e-3 and in float32 0.05."""
    for steps, wanted in ((7, (7e-9, 3.5e-4)), (2000, (2e-6, 0.05)), (1 << 24, (1e-3, 0.05))):
        assert repeat(STEP, steps).accuracy == pytest.approx(wanted)


def test_what_a_loop_inside_a_function_may_be() -> None:
    """Of the answers of the last step alone."""
    kept = repeat(STEP, 5, last=True)
    assert check_inside(kept) is kept.repeat
    step = condyle.function(lambda x: {"x": 0.5 * x, "done": x[0]}, inputs={"x": 2}).specification
    assert check_inside(iterate(step, 4)).until == "done"
    wrong = (
        repeat(STEP, 5),
        repeat(STEP, 5, every=2),
        repeat(STEP, 5, ("tau",), last=True),
        repeat(FD, 5, last=True, summed=("a",)),
        vjp(repeat(STEP, 5, last=True)),
        iterate(step, 4, together=True),
    )
    for function in wrong:
        with pytest.raises(UnsupportedError, match="inside another function a loop over time has the answers"):
            check_inside(function)


def test_a_rollout_is_not_repeated() -> None:
    rollout, done = repeat(STEP, 2), "done"
    for call, make in (("rollout", repeat), ("iterate", lambda function, most: iterate(function, most, done))):
        function = replace(rollout, outputs=(*rollout.outputs, replace(F_EXT, name=done, dims=())))
        with pytest.raises(UnsupportedError, match=rf"^{call}: 'rollout_2_of_step' is a rollout; repeat the function"):
            make(function, 3)


@pytest.mark.parametrize("by_time", [("q",), ("x",), ("tau", "tau"), "v"])
def test_inputs_by_time_are_named_once(by_time: Any) -> None:
    said = "^rollout: by_time=.*give some of its inputs that are not carried, each once: tau, dt$"
    with pytest.raises(UnsupportedError, match=said):
        repeat(STEP, 3, by_time)


def test_outputs_that_are_carried_have_no_sum() -> None:
    said = "^rollout: sum=.*give some of its outputs that are not carried, each once: it has none$"
    with pytest.raises(UnsupportedError, match=said):
        repeat(STEP, 3, summed=("q",))


def test_which_answers_a_rollout_keeps() -> None:
    assert repeat(STEP, 3, every=1).outputs[0].dims == ("3", "nq") == repeat(STEP, 7, every=3).outputs[0].dims
    assert repeat(STEP, 3, last=True).outputs[0].dims == ("nq",)
    with pytest.raises(UnsupportedError, match=r"^rollout: every=2 and last=True: give one of them$"):
        repeat(STEP, 3, every=2, last=True)
    for every in (0, 1.5):
        with pytest.raises(UnsupportedError, match=rf"^rollout: every={every}; give a whole number from 1"):
            repeat(STEP, 3, every=every)  # type: ignore[arg-type]


def test_the_equation_of_a_rollout_says_how_often() -> None:
    assert repeat(FD, 1).equation.startswith("forward dynamics once,")
    assert repeat(FD, 2).equation.startswith("forward dynamics 2 times,")
