"""What a file says and functions leave out: one line, once, and none where there is nothing to say."""

from __future__ import annotations

import copy
import dataclasses
import pickle
import re
import warnings
from pathlib import Path

import pytest

import condyle
from condyle.errors import ModelWarning
from condyle.model.actuator import in_numbers
from condyle.model.parts import FileNotes, unapplied, without_notes
from condyle.specification import UNBOUND
from condyle.specification.integrators import BUNDLED

INERTIAL = '<inertial><mass value="1"/><inertia ixx="0.1" iyy="0.2" izz="0.25" ixy="0" ixz="0" iyz="0"/></inertial>'
LIMIT = '<limit lower="-1" upper="1" effort="10" velocity="2"/>'
DYNAMICS = '<dynamics damping="0.5" friction="0.25"/>'


def arm(folder: Path, name: str, more: str = LIMIT + DYNAMICS, kind: str = "revolute") -> condyle.Robot:
    """The robot of a file; its name is one that no other test has, for each line is said once in a process."""
    ends = '<parent link="base"/><child link="arm"/>'
    links = f'<link name="base"/><link name="arm">{INERTIAL}</link>'
    path = folder / f"{name}.urdf"
    path.write_text(f'<robot name="{name}">{links}<joint name="j" type="{kind}">{ends}{more}</joint></robot>')
    return condyle.load(path)


def test_one_line_once(tmp_path: Path) -> None:
    robot = arm(tmp_path, "once")
    line = (
        "the file of robot 'once': not applied: damping of 1 joint, friction of 1 joint (to apply: "
        "compile(joint_forces=('all',))), limits of 1 joint; see docs/how-to/models.md, "
        '"What a file says and functions leave out"'
    )
    with pytest.warns(ModelWarning, match=f"^{re.escape(line)}$") as caught:
        robot.compile("numpy")
    assert [warning.filename for warning in caught] == [__file__]
    robot.compile("numpy")
    arm(tmp_path, "once").compile()


def test_where_warnings_are_errors_every_compile_raises(tmp_path: Path) -> None:
    robot = arm(tmp_path, "raised")
    for _ in range(2):
        with pytest.raises(ModelWarning, match="robot 'raised': not applied"):
            robot.compile("numpy")
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "the file of robot", ModelWarning)
        robot.compile("numpy")


ONLY = re.escape("'rough': not applied: friction of 1 joint (to apply: compile(joint_forces=('all',))), limits of")


@pytest.mark.parametrize("options", [{"inputs": ("damping",)}, {"joint_forces": ("damping",)}])
def test_what_is_asked_for_is_applied(tmp_path: Path, options: dict[str, tuple[str, ...]], monkeypatch) -> None:
    monkeypatch.setattr("condyle.model.parts._said", set())
    arm(tmp_path, "damped", '<dynamics damping="0.5"/>' + LIMIT).compile("numpy", **options)
    with pytest.warns(ModelWarning, match=ONLY):
        arm(tmp_path, "rough").compile("numpy", **options)
    arm(tmp_path, "rough").compile("numpy", joint_forces=("all",))
    arm(tmp_path, "rough").compile("numpy", inputs=("damping", "dry_friction"))


def test_the_place_is_the_users_line_and_bounds_of_q_apply_limits(tmp_path: Path) -> None:
    def residual(at, u):
        return {"residual": [at.q, u]}

    with pytest.warns(ModelWarning, match="limits of 1 joint") as caught:
        arm(tmp_path, "traced").function(residual, inputs={"q": "nq", "u": "nv"}).compile("numpy")
    robot = arm(tmp_path, "bounded")
    with pytest.warns(ModelWarning, match="damping of 1 joint") as bounded:
        condyle.OptimalControl(robot, residual, knots=2, dt=0.1, bounds={"q": True}).compile()
    assert [warning.filename for warning in (*caught, *bounded)] == [__file__] * 2
    assert "limits" not in str(bounded[0].message)


def test_actuators_are_said_unless_they_push(tmp_path: Path) -> None:
    servo = condyle.Actuator("servo", {"j": 2.0}, "position", gain=3.0)
    robot = arm(tmp_path, "servo", LIMIT).with_actuators([servo])
    assert "not applied: 1 actuator (to apply: compile(actuators=True)), limits of 1 joint;" in unapplied(robot)
    robot.compile("numpy", actuators=True)
    whole = "(to apply: compile(joint_forces=('all',), actuators=True)), limits of 1 joint;"
    assert whole in unapplied(arm(tmp_path, "both").with_actuators([servo]))


def test_limits_alone_are_not_said(tmp_path: Path) -> None:
    arm(tmp_path, "limited", LIMIT).compile("numpy")


def test_a_planar_joint_without_an_axis_is_said(tmp_path: Path) -> None:
    robot = arm(tmp_path, "planar", "", "planar")
    assert robot.joints[0].axis.tolist() == [1.0, 0.0, 0.0]
    with pytest.warns(ModelWarning, match="read otherwise: 1 planar joint without <axis> moves across x, .* z.*: 'j';"):
        robot.compile("numpy")
    arm(tmp_path, "level", '<axis xyz="0 0 1"/>', "planar").compile("numpy")


def test_robots_that_were_made_of_it_say_it_too(tmp_path: Path) -> None:
    robot = arm(tmp_path, "parent").attach("arm", mass=1.0)
    for made in (robot, robot.reroot("arm"), robot.with_inertias(2.0 * robot.inertias)):
        assert "damping of 1 joint" in unapplied(made)
    assert unapplied(robot.lock({"j": 0.0})) == ""


def test_what_is_not_a_file_of_the_user_says_nothing(tmp_path: Path) -> None:
    """Bundled robots are the README's first command; a robot that was sent was said where it was loaded."""
    for name in BUNDLED:
        robot = condyle.load(name)
        assert unapplied(robot) == ""
    assert condyle.load("iiwa14").damping.any()
    sent = arm(tmp_path, "sent")
    assert unapplied(sent) and not unapplied(pickle.loads(pickle.dumps(sent))) and not unapplied(copy.deepcopy(sent))


def test_what_condyle_compiles_by_itself_says_nothing(tmp_path: Path) -> None:
    robot = arm(tmp_path, "closed")
    held = (condyle.Contact("arm", "point", anchor=robot.frames["arm"].placement),)
    robot.close(robot.neutral(), held)
    assert robot.show(robot.neutral(), file=tmp_path / "a.svg") is None


def test_an_export_says_it(tmp_path: Path) -> None:
    with pytest.warns(ModelWarning, match="robot 'written': not applied: damping"):
        condyle.export(arm(tmp_path, "written"), "c", tmp_path / "out", functions=("g",))


def noted(ignored: tuple[str, ...] = (), otherwise: tuple[str, ...] = (), **numbers: list[float]) -> condyle.Robot:
    """Five joints of a file that says this; all of them have these numbers."""
    robot = condyle.chain(5)
    joints = tuple(dataclasses.replace(joint, **numbers) for joint in robot.joints)  # type: ignore[arg-type]
    return dataclasses.replace(robot, joints=joints, file_notes=FileNotes(ignored, otherwise))


MOTORS = tuple(condyle.Actuator(f"m{k}", {"joint0": 1.0}) for k in range(2))
SERVO = condyle.Actuator("s", {"joint0": 1.0}, "position")
TO_ALL, TO_BOTH = "compile(joint_forces=('all',))", "compile(joint_forces=('all',), actuators=True)"


@pytest.mark.parametrize(
    ("robot", "asked", "said"),
    [
        (noted(), (), ""),
        (noted(lower=[-1.0]), (), ""),
        (noted(damping=[1.0]), (), f"not applied: damping of 5 joints (to apply: {TO_ALL})"),
        (noted(damping=[1.0]), ("damping",), ""),
        (noted(friction=[1.0]), ("dry_friction",), ""),
        (noted(friction=[1.0]), ("friction",), ""),
        (
            noted(friction=[1.0], velocity=[1.0]),
            (),
            f"not applied: friction of 5 joints (to apply: {TO_ALL}), limits of 5 joints",
        ),
        (noted(friction=[1.0], effort=[1.0]), ("limits",), f"not applied: friction of 5 joints (to apply: {TO_ALL})"),
        (
            noted(stiffness=[1.0]),
            (),
            f"not applied: springs of 5 joints ('joint0', 'joint1', 'joint2' and 2 more) (to apply: {TO_ALL})",
        ),
        (noted(stiffness=[1.0]), ("springs",), ""),
        (noted(stiffness=[1.0]), ("stiffness",), ""),
        (dataclasses.replace(noted(), actuators=MOTORS), (), ""),
        (
            dataclasses.replace(noted(("plugins",)), actuators=MOTORS),
            (),
            "not applied: 2 actuators (to apply: compile(actuators=True)), plugins",
        ),
        (
            dataclasses.replace(noted(damping=[1.0], upper=[1.0]), actuators=MOTORS[:1]),
            (),
            f"not applied: damping of 5 joints, 1 actuator (to apply: {TO_BOTH}), limits of 5 joints",
        ),
        (
            dataclasses.replace(noted(), actuators=(SERVO, *MOTORS)),
            (),
            "not applied: 3 actuators (to apply: compile(actuators=True))",
        ),
        (noted(("plugins", "flexes"), ("a site",)), (), "not applied: plugins, flexes; read otherwise: a site"),
        (noted(otherwise=("a site", "a joint"), lower=[0.0]), (), "read otherwise: a site, a joint"),
    ],
)
def test_what_is_said_of_what_a_file_has(robot: condyle.Robot, asked: tuple[str, ...], said: str) -> None:
    end = '; see docs/how-to/models.md, "What a file says and functions leave out"'
    assert unapplied(robot, asked) == (f"the file of robot 'chain': {said}{end}" if said else "")
    assert unapplied(robot, (), UNBOUND.drives._replace(forces=asked)) == unapplied(robot, asked)
    assert unapplied(without_notes(robot), asked) == ""


def test_actuators_that_push_are_not_said() -> None:
    robot = dataclasses.replace(noted(), actuators=(SERVO,))
    (push,) = in_numbers([SERVO], {"joint0": (0, 0)})
    assert unapplied(robot, (), UNBOUND.drives._replace(actuators=(push,))) == ""
    assert without_notes(condyle.chain(1)).file_notes is None
