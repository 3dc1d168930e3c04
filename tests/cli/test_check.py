from __future__ import annotations

import re

import numpy as np
import pytest

import condyle
from condyle.cli import check
from condyle.cli.check import Verdict, allowed, relative
from condyle.cli.states import States, draw
from condyle.functions import FUNCTIONS, function_of
from condyle.specification import Function

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
    assert allowed(FUNCTIONS["fd"], "float64", 1e9) == 16.0 * 1e9 * 2.0**-52
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


def test_a_verdict_says_whether_the_error_is_allowed() -> None:
    assert Verdict("id", 1.0, 1.0).fine and not Verdict("id", 1.1, 1.0).fine
    said = [Verdict("id", *numbers).said for numbers in ((0.0, 1.0), (0.0, 1.0, True), (2.0, 1.0, True))]
    assert said == ["ok", "only zeros", "FAILED"]


SLIDES = """<robot name="slides"><link name="base"/>
  <link name="cart"><inertial><mass value="999999"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>
  </inertial></link>
  <link name="load"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>
  </inertial></link>
  <joint name="x" type="prismatic"><parent link="base"/><child link="cart"/><axis xyz="1 0 0"/>
    <limit lower="-1" upper="1" effort="1" velocity="1"/></joint>
  <joint name="y" type="prismatic"><parent link="cart"/><child link="load"/><axis xyz="0 1 0"/>
    <limit lower="-1" upper="1" effort="1" velocity="1"/></joint></robot>"""


def test_what_is_allowed_follows_the_condition_of_M(run, pendulum) -> None:
    """M is diagonal, with the entries 1e6 and 1."""
    words = ("--functions", "id,fd,difd,vjp_id,vjp_fd", "--json")
    rows = {row["what"]: row for row in run("check", pendulum(text=SLIDES), *words).json["checks"]}
    solving = 16.0 * 1e6 * 2.0**-52
    assert {what: row["allowed"] for what, row in rows.items() if "vjp_id" not in what and "difd" not in what} == {
        "id against the reference": 1e-12,
        "fd against the reference": pytest.approx(solving),
        "vjp_fd against the reference": pytest.approx(1e-7),
        "vjp_fd against differences": pytest.approx(solving / 1e-6),
        "law: id(fd(tau)) = tau": pytest.approx(solving),
        "law: M Minv = 1": pytest.approx(solving),
        "law: did by differences in v": 1e-6,
    }
    assert rows["vjp_id against differences"]["allowed"] == 1e-6
    assert rows["law: did by differences in v"]["zeros"] and not rows["law: M Minv = 1"]["zeros"]


class Doubling:
    """Dynamics whose answers of one function are twice as large."""

    def __init__(self, robot: condyle.Robot, function: Function) -> None:
        self._dynamics, self._function = robot.compile(target="numpy"), function

    def call(self, function: Function, inputs):
        found = self._dynamics.call(function, inputs)
        return tuple(2.0 * x for x in found) if function == self._function else found


@pytest.mark.parametrize("name", ["jvp_g", "vjp_g", "jacobian_g", "hessian_g", "jacobian_ke_by_v"])
def test_a_derivative_that_is_twice_as_large_is_half_wrong(pendulum, name: str) -> None:
    """Of one joint: w . D e is one number, twice which is off by half of itself."""
    robot, function = condyle.load(pendulum()), function_of(name)
    states = draw(robot, 4, "float64", (function,))
    right = check.error(robot, robot.compile(target="numpy"), function, states)
    assert right < 1e-8
    assert check.error(robot, Doubling(robot, function), function, states) == pytest.approx(0.5, abs=1e-8)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("weak", "taken"),
    [
        ((False, False, False, False), [0, 1, 2, 3]),
        ((True, False, True, False), [1, 1, 3, 3]),
        ((True, True, True, False), [3, 3, 3, 3]),
        ((True, True, True, True), [0, 1, 2, 3]),
    ],
)
def test_states_with_weak_contacts_are_replaced_by_others(
    monkeypatch, weak: tuple[bool, ...], taken: list[int]
) -> None:
    robot = condyle.chain(2, rng=0)
    states = States({"q": np.arange(4.0), "v": 10.0 + np.arange(4.0)}, {}, "float64")
    monkeypatch.setattr(check, "weak", lambda *_: np.array(weak))
    found = check.independent(robot, [condyle.Contact("tip")], states).quantities
    assert found["q"].tolist() == taken and (found["v"] == 10.0 + found["q"]).all()
    assert check.independent(robot, (), states).quantities["q"].tolist() == [0, 1, 2, 3]


def test_contacts_are_weak_where_their_rows_depend_on_each_other() -> None:
    """A point that two perpendicular slides carry moves in two directions; three slides hold it in all."""
    axes = np.eye(3)
    robots = []
    for n in (2, 3):
        builder = condyle.Builder()
        for k in range(n):
            builder.body(f"b{k}", mass=1.0, inertia=0.01 * np.eye(3))
            parent = f"b{k - 1}" if k else "world"
            builder.joint(f"j{k}", parent=parent, child=f"b{k}", type="prismatic", axis=axes[k])
        robots.append(builder.build())
    for robot, expected in zip(robots, (True, False), strict=True):
        contact = condyle.Contact(f"b{robot.nv - 1}")
        assert check.weak(robot, [contact]).tolist() == [expected] * 64
        assert check.weak(robot, [contact], robot.random_state(3, 0).q).tolist() == [expected] * 3


def test_functions_without_an_inverse_are_still_compared(run, pendulum) -> None:
    massless = """<robot name="x"><link name="base"/><link name="a"/>
      <joint name="j" type="continuous"><parent link="base"/><child link="a"/><axis xyz="0 0 1"/></joint></robot>"""
    ran = run("check", pendulum(text=massless), "--functions", "id,fd,m", "--target", "numpy")
    assert ran.status == 1 and ran.out.rstrip().endswith("check failed")
    lines = [line.split() for line in ran.out.splitlines()[2:5]]
    assert [line[0] for line in lines] == ["id", "m", "fd:"]
    assert lines[2][-3:] == ["inf", "0.0e+00", "FAILED"]


def test_a_check_says_how_many_states_there_were(run, pendulum) -> None:
    ran = run("check", pendulum(), "--functions", "id", "--target", "numpy")
    assert ran.out.rstrip().endswith("all checks passed at 64 random states")


class Jacobian:
    """A robot whose contacts have these Jacobians."""

    def __init__(self, J: np.ndarray) -> None:
        self.J = J

    def compile(self, target: str, contacts: object) -> Jacobian:
        return self

    def constraint_jacobian(self, q: np.ndarray) -> np.ndarray:
        return self.J


def test_rows_of_contacts_depend_on_each_other_below_three_hundredths() -> None:
    """Of the largest singular value; more rows than columns always do."""
    sizes = [(2.0, 0.0599), (2.0, 0.0601), (0.061, 2.0)]
    J = np.stack([np.diag(size) for size in sizes])
    q = np.zeros((3, 2))
    assert check.weak(Jacobian(J), (), q).tolist() == [True, False, False]  # type: ignore[arg-type]
    tall = np.concatenate([J, J], axis=1)
    assert check.weak(Jacobian(tall), (), q).all()  # type: ignore[arg-type]


def test_the_worst_answer_is_the_error_of_a_function(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(check, "worst_of", lambda *_: [0.5, 3.0, 1.0])
    dynamics = condyle.chain(2, rng=0).compile("numpy")
    first, *_ = check.compare(condyle.chain(2, rng=0), dynamics, "float64", (), [FUNCTIONS["did"]])
    assert (first.what, first.error, first.fine) == ("did against the reference", 3.0, False)


def test_laws_are_held_with_differences_of_a_millionth() -> None:
    robot = condyle.chain(2, rng=0)
    states, dynamics, moved = draw(robot, 3, "float64", [FUNCTIONS["difd"]]), robot.compile("numpy"), list[float]()
    v = states.quantities["v"]

    class Heard:
        def __getattr__(self, name: str) -> object:
            return getattr(dynamics, name)

        def inverse_dynamics(self, q: np.ndarray, at: np.ndarray, a: np.ndarray) -> np.ndarray:
            moved.append(float(np.abs(at - v).max()))
            return dynamics.inverse_dynamics(q, at, a)

    verdicts = check.laws(Heard(), states, 1.0)  # type: ignore[arg-type]
    assert [verdict.fine for verdict in verdicts] == [True] * 3
    assert [round(1e6 * way, 3) for way in moved] == [0.0, *[1.0] * 4, 0.0]
    assert [verdict.allowed for verdict in verdicts] == [allowed(FUNCTIONS["minv"], "float64", 1.0)] * 2 + [1e-6]
