from __future__ import annotations

import re

import numpy as np
import pytest

import condyle
from condyle.cli.check import Verdict, allowed, relative
from condyle.functions import FUNCTIONS

UNDRIVEN = [name for name, one in FUNCTIONS.items() if not one.needs.drives]
"""What is checked where neither joint forces nor actuators are asked for."""


def test_a_good_robot_is_fine(run, pendulum) -> None:
    ran = run("check", pendulum(), "--json")
    assert ran.status == 0, ran.out
    assert ran.json["fine"]
    named = [row["what"].split()[0] for row in ran.json["checks"] if "against" in row["what"]]
    left_out = ran.json["left_out"]
    assert sorted([*named, *left_out]) == sorted(UNDRIVEN)
    assert all("contacts" in FUNCTIONS[name].options for name in left_out)


def test_all_functions_of_an_arm_are_compared(run, tmp_path) -> None:
    """Rows of its contact depend on each other in some states: these are not compared."""
    path = tmp_path / "arm.urdf"
    path.write_text(condyle.chain(5, 1).to_urdf())
    ran = run("check", str(path), "--json")
    assert ran.json["fine"] and not ran.json["left_out"]
    assert [row["what"].split()[0] for row in ran.json["checks"]][: len(UNDRIVEN)] == UNDRIVEN


def test_what_the_tip_cannot_hold_is_left_out(run, tmp_path) -> None:
    path = tmp_path / "arm.urdf"
    path.write_text(condyle.chain(2, 1).to_urdf())
    ran = run("check", str(path))
    assert ran.status == 0 and "not checked: cfd" in ran.out
    assert "not checked" not in run("check", str(path), "--functions", "id").out
    assert "impact against" in run("check", str(path), "--functions", "impact").out


DRIVEN = """<mujoco><worldbody><body><joint name="a" axis="0 1 0" range="-60 60" limited="true" damping="0.2"
  frictionloss="0.1"/><geom size="0.1" pos="0.3 0 0"/><body pos="0.5 0 0"><joint name="b" axis="0 1 0" stiffness="2"/>
  <geom size="0.1" pos="0.3 0 0"/></body></body></worldbody>
  <actuator><position joint="a" kp="20" kv="2"/></actuator></mujoco>"""


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_joint_forces_and_actuators_are_checked_where_they_are_asked_for(run, tmp_path, dtype) -> None:
    path = tmp_path / "driven.xml"
    path.write_text(DRIVEN)
    words = ("--joint-forces", "all", "--actuators", "--functions", "id,step,jf,af,vjp_fd", "--dtype", dtype)
    ran = run("check", str(path), "--json", *words)
    assert ran.json["fine"], ran.out
    named = [row["what"].split()[0] for row in ran.json["checks"] if "reference" in row["what"]]
    assert named == ["id", "step_u", "jf", "af", "vjp_fd_u"]
    assert run("check", str(path), "--functions", "jf").status == 2
    options = ("--joint-forces", "all", "--actuators")
    counts = {row["function"] for row in run("info", str(path), "--counts", "--json", *options).json["counts"]}
    assert {"jf", "af", "fd_u", "m"} <= counts and "fd" not in counts
    assert run("explain", str(path), "step", "--json", *options).json["function"] == "step_u"
    timed = run("bench", str(path), "--functions", "fd,jf", "--batch", "16", "--json", *options).json["rows"]
    assert [row["function"] for row in timed] == ["fd_u", "jf"]
    assert "not applied" not in run("info", str(path), *options).out
    assert "(to apply: compile(joint_forces=('all',), actuators=True))" in run("info", str(path)).out


def test_float32_is_fine_too(run, pendulum) -> None:
    assert run("check", pendulum(), "--dtype", "float32").status == 0


def test_a_robot_without_joints_is_fine(run, tmp_path) -> None:
    post = tmp_path / "post.urdf"
    post.write_text('<robot name="post"><link name="base"/></robot>')
    ran = run("check", str(post))
    assert ran.status == 0 and "all checks passed" in ran.out, ran.err


def test_the_relative_error_is_that_of_the_worst_state() -> None:
    expected = np.array([[1.0, 100.0], [1.0, 0.0]])
    found = np.array([[1.5, 100.0], [1.1, 0.0]])
    assert np.isclose(relative(found, expected), 0.1)


def test_nan_is_never_fine() -> None:
    assert not Verdict("id", float("nan"), 1.0).fine


def test_the_condition_of_M_counts_only_where_M_is_solved_with() -> None:
    assert allowed(FUNCTIONS["id"], "float64", 1e12) == 1e-12
    assert allowed(FUNCTIONS["fd"], "float64", 1.0) == 1e-9
    assert allowed(FUNCTIONS["fd"], "float64", 1e9) > 1e-9
    assert allowed(FUNCTIONS["id"], "float32", 1e12) == 2e-5


def test_a_mass_matrix_without_inverse_is_found_wanting(run, pendulum) -> None:
    massless = """<robot name="x"><link name="base"/><link name="a"/>
      <joint name="j" type="continuous"><parent link="base"/><child link="a"/><axis xyz="0 0 1"/></joint></robot>"""
    ran = run("check", pendulum(text=massless))
    assert ran.status == 1
    assert "no inverse" in ran.out + ran.err


def test_another_target_than_the_one_asked_for_is_named(run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("condyle.backends.cpu.build.supported", tuple)
    ran = run("check", "ur5e", "--functions", "id")
    assert ran.status == 0
    assert "target c: machine code needs an x86-64 processor with AVX2 and FMA" in ran.out


DOUBTFUL = """<robot name="x"><link name="base"/><link name="a">
  <inertial><mass value="1"/><inertia ixx="1" iyy=".1" izz=".1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="j" type="revolute"><parent link="base"/><child link="a"/><axis xyz="1 0 0"/></joint></robot>"""
"""A joint without limits, which only the file's reader sees, and moments that no body has, which both see."""


def test_findings_of_the_file_and_of_the_model_are_told_once(run, pendulum) -> None:
    path = pendulum(text=DOUBTFUL)
    ran, told = run("check", path), run("check", path, "--json").json
    assert ran.status == 1 and not told["fine"]
    for words, line, severity in (("without limits", 3, "note"), ("principal moments", 1, "physics")):
        assert ran.out.count(words) == 1
        (found,) = [finding for finding in told["findings"] if words in finding["message"]]
        assert (found["line"], found["severity"]) == (line, severity)


def test_what_only_the_model_shows_is_told_too(run, pendulum, monkeypatch) -> None:
    import condyle
    from condyle.errors import Finding

    found = Finding("physics", "is odd", element="body 'a'")
    monkeypatch.setattr(condyle.Robot, "check", lambda self: [found])
    ran, told = run("check", pendulum()), run("check", pendulum(), "--json").json
    assert ran.status == 1 and "body 'a': is odd" in ran.out
    assert [finding["message"] for finding in told["findings"]].count("is odd") == 1


def test_zeros_compared_with_zeros_are_said(run) -> None:
    """A frame that is fixed to the world has no velocity; its placement is compared as ever."""
    words = ("check", "iiwa14", "--frames", "iiwa_link_0", "--functions", "fk,fv,vjp_fv")
    ran = run(*words)
    assert ran.status == 0
    for name in ("fv", "vjp_fv"):
        assert re.search(rf"(?m)^{name} against the reference .* only zeros$", ran.out), ran.out
    assert re.search(r"(?m)^vjp_fv against differences .* only zeros$", ran.out), ran.out
    assert re.search(r"(?m)^fk against the reference .* ok$", ran.out), ran.out
    assert "these functions are not verified" in ran.out
    rows = {row["what"]: row["zeros"] for row in run(*words, "--json").json["checks"]}
    assert rows["fv against the reference"] and not rows["fk against the reference"]
    assert "not verified" not in run("check", "iiwa14", "--functions", "fk,fv").out


def test_derivatives_of_a_step_are_those_that_were_named(run) -> None:
    """Contacts at a tip are compiled by default, whose flags the method of a derivative would take too."""
    ran = run("check", "ur5e", "--functions", "jacobian_step,vjp_step,jvp_step", "--json")
    assert ran.status == 0, ran.err
    assert [row["what"].split()[0] for row in ran.json["checks"][::2]][:3] == ["jacobian_step", "vjp_step", "jvp_step"]
