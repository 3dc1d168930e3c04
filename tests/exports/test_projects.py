"""What a project is told about its robot, and what cannot be written."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import condyle
from condyle.compile.options import bound_of
from condyle.errors import UnsupportedError
from condyle.exports import exporting, projects
from condyle.exports.exporting import _opened, _timed, compiler_of, export_schedules, prefix_of
from condyle.exports.externals import HEAD, _apart, _is_flat, robot_unbuilt, source_of, unit
from condyle.exports.projects import check_folder, joints_of, names_of, order_of
from condyle.exports.targets import EXPORTS, options_of, planned
from condyle.functions import DEFAULT, FUNCTIONS
from condyle.functions.open_rollouts import open_rollout
from condyle.specification import UNBOUND

ARM, FD, ID = condyle.chain(2, 0), FUNCTIONS["fd"], FUNCTIONS["id"]


@pytest.fixture(scope="module")
def hand() -> condyle.Robot:
    """A floating palm, a ball, and two fingers of which the second follows the first."""
    builder = condyle.Builder()
    for name in ("palm", "ball", "left", "right"):
        builder.body(name, mass=1.0, com=(0.0, 0.1, 0.0), inertia=0.01 * np.eye(3))
    builder.joint("ball_joint", parent="palm", child="ball", type="spherical")
    builder.joint("open", parent="palm", child="left", type="revolute")
    builder.joint("follow", parent="palm", child="right", type="revolute", mimic=("open", -1.0, 0.0))
    return builder.build(floating_base=True)


def test_each_entry_has_its_joint(hand: condyle.Robot) -> None:
    """Coordinates that joints share are the first one's."""
    order = [(one.name, one.type, [*one.q], [*one.v], one.follows) for one in order_of(hand)]
    assert order == [
        ("root_joint", "free", [*range(7)], [*range(6)], None),
        ("ball_joint", "spherical", [*range(7, 11)], [*range(6, 9)], None),
        ("open", "revolute", [11], [9], None),
        ("follow", "revolute", [], [], "open"),
    ]
    found = joints_of(hand)
    assert found["q"] == [0] * 7 + [1] * 4 + [2] and found["v"] == [0] * 6 + [1] * 3 + [2]
    assert found["a"] == found["tau"] == found["v"]


def test_a_quaternion_is_divided_by_its_length(hand: condyle.Robot) -> None:
    q = np.arange(1.0, 13.0)
    found = unit(hand, q)
    expected = [*q[:3], *(q[3:7] / np.linalg.norm(q[3:7])), *(q[7:11] / np.linalg.norm(q[7:11])), q[11]]
    np.testing.assert_allclose(found, expected)
    assert not _is_flat(hand) and _is_flat(ARM)
    assert _apart(["q", "v"], ["q", "y", "v"]) == ("q_next", "y", "v_next")


def test_a_text_for_casadi_says_what_it_is_of() -> None:
    compiler = compiler_of(ARM, name="arm")
    text = source_of(ARM, compiler, [FUNCTIONS["m"]], UNBOUND)
    for line in (*HEAD, f"Condyle {condyle.__version__}, robot {ARM.fingerprint}."):
        assert line in text
    names = ("arm_m", "jac_arm_m", "adj1_arm_m", "jac_adj1_arm_m")
    assert all(f"int {name}(" in text for name in names)
    with pytest.raises(AssertionError, match="not built"):
        robot_unbuilt()
    assert "int arm_mass(" in source_of(ARM, compiler, [FUNCTIONS["m"]], UNBOUND, "mass")


def test_casadi_refuses_two_configurations(hand: condyle.Robot) -> None:
    with pytest.raises(UnsupportedError, match=r"'difference' of a robot with quaternions .* takes two configurations"):
        source_of(hand, compiler_of(hand), [FUNCTIONS["difference"]], UNBOUND)


def test_names_are_said_where_they_were_asked_for() -> None:
    plain = names_of(ARM, UNBOUND, (ID,))
    assert set(plain) == {"fingerprint", "joints", "gravity", "bodies", "ports"}
    assert plain["ports"] == {"id": ["q", "v", "a", "tau"]} and plain["bodies"] == [*ARM.body_names]
    assert plain["gravity"] == ARM.gravity.tolist()
    joints = [{"name": j.name, "type": j.type, "q_index": k, "v_index": k} for k, j in enumerate(ARM.joints)]
    assert plain["joints"] == joints
    frame = ARM.body_names[-1]
    contacts = (condyle.Contact(frame),)
    bound = bound_of(ARM, (frame,), "world", contacts=contacts, regressor=("damping",), sweeps=3)
    seen = names_of(ARM, bound, (FUNCTIONS["step"],))
    assert (seen["frames"], seen["reference_frame"]) == ([frame], "world")
    assert (seen["regressor"], seen["sweeps"]) == (["damping"], 3)
    assert seen["contacts"] == [{"frame": frame, "kind": "point", "other": None, "gains": [0.0, 0.0]}]
    assert seen["integrator"] == bound.integrator and "integrator" not in names_of(ARM, bound, (ID,))


def test_functions_with_numbers_as_inputs_are_there_with_forces_too() -> None:
    step = open_rollout(FUNCTIONS["step"], ("tau",))
    assert _opened((ID, step), (), with_forces=True) == (ID, step)
    m = FUNCTIONS["m"]
    with_forces, alone = (_opened((ID, m, step), ("gravity",), with_forces=one) for one in (True, False))
    taken = [[port.name for port in getattr(one, "function", one).inputs] for one in with_forces]
    assert [("gravity" in ports, "f_ext" in ports) for ports in taken] == [
        *((True, False), (True, True)),
        (False, False),  # M knows no gravity
        *((True, False), (True, True)),
    ]
    assert len(alone) == 3 and [one.name for one in alone] == [with_forces[k].name for k in (0, 2, 3)]
    assert with_forces[-1].repeat.by_time == ("tau",)
    controlled = FUNCTIONS["step"].taking(condyle.specification.ports.CONTROLS)
    assert _timed(controlled, step.repeat) == ("u",) and _timed(FUNCTIONS["step"], step.repeat) == ("tau",)


def test_symbols_begin_with_the_name_of_a_bundled_robot() -> None:
    assert (prefix_of(condyle.load("iiwa14")), prefix_of(replace(ARM, name="mine"))) == ("iiwa14", "robot")


@pytest.mark.parametrize(
    ("error", "said"),
    [(OSError(28, "No space left"), "cannot be written: No space left"), (OSError("odd"), "written: odd")],
)
def test_a_disk_that_is_full_is_said(tmp_path: Path, monkeypatch, error: OSError, said: str) -> None:
    def fail(*_: object) -> None:
        raise error

    out = tmp_path / "a"
    monkeypatch.setattr(exporting, "write", fail)
    monkeypatch.setattr(exporting, "export_schedules_c", fail)
    with pytest.raises(UnsupportedError, match=rf"^out='{out}' .*{said}$"):
        condyle.export(ARM, "c", out, ("m",))
    with pytest.raises(UnsupportedError, match=rf"^out='{out}' .*{said}$"):
        export_schedules(ARM, "c", out, (), {})


def test_a_folder_that_cannot_be_written(tmp_path: Path, monkeypatch) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UnsupportedError, match=rf"'{tmp_path / 'file'}' is a file: name a folder"):
        check_folder(tmp_path / "file" / "below")
    check_folder(tmp_path / "a" / "b")
    asked = []
    monkeypatch.setattr(projects.os, "access", lambda path, mode: asked.append((path, mode)))
    with pytest.raises(UnsupportedError, match=rf"'{tmp_path}' is not writable: name another folder"):
        check_folder(tmp_path / "a" / "b")
    assert asked == [(tmp_path, os.W_OK | os.X_OK)]


@pytest.mark.parametrize("name", ["dsp", "clock", "f_ext", "step", "bus_clock"])
@pytest.mark.parametrize("value", ["5", True])
def test_an_option_of_hardware_is_a_number(tmp_path: Path, name: str, value: object) -> None:
    with pytest.raises(UnsupportedError, match=rf"^{name}={value!r}: give a number, in "):
        condyle.export(ARM, "verilog", tmp_path / "a", ("m",), **{name: value})


def test_a_word_is_text(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedError, match="word=32: give text, such as '27x18'"):
        condyle.export(ARM, "verilog", tmp_path / "a", ("m",), word=32)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("target", "options", "said"),
    [
        ("casadi", {"inputs": ("gravity",)}, "inputs (of target 'c' and 'cuda')"),
        ("casadi", {"dtype": "float32", "dsp": 3}, "dtype (of target 'c'), dsp (of target 'verilog')"),
        ("verilog", {"frames": ("link1",)}, "frames (of target 'c', 'casadi' and 'cuda')"),
        ("cuda", {"embedded": True}, "embedded (of target 'c')"),
        ("c", {"echo": True, "float32": True}, "echo (of target 'verilog'), float32 (of target 'verilog')"),
    ],
)
def test_an_option_of_another_target_is_named_with_its_targets(tmp_path: Path, target, options, said: str) -> None:
    with pytest.raises(UnsupportedError) as caught:
        condyle.export(ARM, target, tmp_path / "a", ("fd",), **options)
    assert str(caught.value).startswith(f"target {target!r} does not take these options: {said}; leave them out. ")
    assert str(caught.value).endswith(f"Options of {target!r}: {', '.join(options_of(target))}")


def test_targets_and_what_each_has() -> None:
    assert EXPORTS == ("c", "casadi", "cuda", "verilog")
    assert [bool(planned(target)) for target in EXPORTS] == [False, False, False, True]
    assert set(DEFAULT) <= set(planned("verilog"))


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("nonsense", "is not one of 'id', 'fd'"),
        (3, "3 is not one of .*a function of yours and an OptimalControl write projects of their own"),
        ("rollout_3_by_tau_of_step", "exports of rollouts, as 'rollout', take any number of steps"),
    ],
)
def test_names_that_are_no_functions_are_refused(tmp_path: Path, name: object, said: str) -> None:
    with pytest.raises(UnsupportedError, match=rf"functions: .*{said}"):
        condyle.export(ARM, "c", tmp_path / "a", (name,))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("nonsense", "'nonsense' is not one of 'id'"),
        ("vjp_fd", "target 'verilog' has no 'vjp_fd', targets 'c' and 'cuda' export it"),
    ],
)
def test_functions_that_hardware_lacks_are_refused(tmp_path: Path, name: str, said: str) -> None:
    with pytest.raises(UnsupportedError, match=said):
        condyle.export(ARM, "verilog", tmp_path / "a", (name,))
