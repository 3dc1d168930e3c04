from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

import condyle
from condyle.cli import info, parser
from condyle.functions import FUNCTIONS
from condyle.model.actuator import Actuator

FOLLOWED = """<robot name="followed">
  <link name="base"/>
  <link name="a"><inertial><mass value="1"/>
    <inertia ixx="1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="b"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="j" type="continuous"><parent link="base"/><child link="a"/><origin rpy="1.5707963267 0 0"/></joint>
  <joint name="k" type="continuous"><parent link="base"/><child link="b"/><mimic joint="j"/></joint>
</robot>
"""
"""A follower, an angle that is nearly a quarter turn, moments that no body has."""


def test_the_tree_is_printed(run) -> None:
    ran = run("info", "iiwa14")
    assert ran.status == 0
    assert "nq 7, nv 7, 7 bodies" in ran.out
    assert ran.out.count("revolute") == 7
    assert "target cpu: " in ran.out
    assert ran.err == ""


def test_json_says_the_same(run) -> None:
    about = run("info", "hyq", "--floating-base", "--json").json
    assert (about["nq"], about["nv"]) == (19, 18)
    assert about["joints"][0]["type"] == "free"
    assert about["mass"] > 50.0
    assert "machine code" in about["cpu"]


def test_a_locked_joint_is_gone(run) -> None:
    first = run("info", "iiwa14", "--json").json["joints"][0]["name"]
    about = run("info", "iiwa14", "--lock", f"{first}=0.5", "--json").json
    assert about["nv"] == 6
    assert first not in [joint["name"] for joint in about["joints"]]


def test_options_of_load(run, pendulum) -> None:
    """Each of them reaches `load`: what it changes is seen."""
    path = pendulum(text=FOLLOWED)
    about = run("info", path, "--gravity=-1,0,2.5", "--json").json
    assert (about["gravity"], about["nv"]) == ([-1.0, 0.0, 2.5], 1)
    assert run("info", path, "--mimic", "independent", "--json").json["nv"] == 2
    assert run("info", path, "--snap", "0", "--json").json["fingerprint"] != about["fingerprint"]
    assert "\nwarning: physics: " in run("info", path).out
    strict = run("info", path, "--strict")
    assert strict.status == 1 and "principal moments" in strict.err


def test_snapped_angles_are_told(run, pendulum) -> None:
    """By info and check, in words and numbers; with --snap 0 there are none."""
    path = pendulum(text=FOLLOWED)
    for command in ("info", "check"):
        told = run(command, path, "--json").json["snapped"]
        assert told["count"] == 1 and told["largest"] == pytest.approx(9.5e-11, rel=0.01)
        assert (
            "note: 1 angle of the file was within 1e-09 rad of a multiple of pi/2 and taken as that multiple"
            in run(command, path).out
        )
        assert run(command, path, "--snap", "0", "--json").json["snapped"] == {"count": 0, "largest": 0.0}
        assert "quarter turns" not in run(command, path, "--snap", "0").out


def test_what_mjcf_has_beside_the_tree_is_left_out(run, tmp_path) -> None:
    pytest.importorskip("mujoco")
    path = tmp_path / "tied.xml"
    body = '<worldbody><body name="b"><joint name="j"/><geom size=".1"/></body></worldbody>'
    tied = '<tendon><fixed name="t" stiffness="1"><joint joint="j" coef="1"/></fixed></tendon>'
    path.write_text(f"<mujoco>{body}{tied}</mujoco>", encoding="utf-8")
    refused = run("info", str(path))
    assert refused.status == 2 and "unmodelled='ignore'" in refused.err
    about = run("info", str(path), "--unmodelled", "ignore", "--json").json
    assert (about["nv"], len(about["warnings"])) == (1, 1)
    told = run("info", str(path), "--unmodelled", "ignore")
    assert told.out.splitlines()[-1] == about["warnings"][0] and about["warnings"][0].startswith("note: ")


def test_closures_are_listed(run, tmp_path) -> None:
    pytest.importorskip("mujoco")
    path = tmp_path / "closed.xml"
    world = '<body name="{0}"><joint/><geom size=".1" pos="1 0 0"/></body>'
    ties = '<equality><weld body1="b"/><connect body1="b" body2="c" anchor="1 0 0"/></equality>'
    path.write_text(f"<mujoco><worldbody>{world.format('b')}{world.format('c')}</worldbody>{ties}</mujoco>")
    assert run("info", str(path), "--json").json["contacts"] == [
        {"frame": "b", "kind": "plane", "other": None, "gains": [0.0, 0.0]},
        {"frame": "b", "kind": "point", "other": "c", "gains": [0.0, 0.0]},
    ]
    told = run("info", str(path)).out.splitlines()
    assert "b           plane  the world" in told and "b           point  c" in told


def test_counts_name_every_function(run, pendulum) -> None:
    ran = run("info", pendulum(), "--counts", "--json")
    rows = ran.json["counts"]
    assert [row["function"] for row in rows] == [name for name, one in FUNCTIONS.items() if not one.needs.drives]
    for row in rows:
        assert set(row) == {"function", "route", "mul", "add", "div", "sincos", "instructions"}
        assert isinstance(row["mul"], int)
    assert "route" in run("info", pendulum(), "--counts").out


def test_a_hostile_name_does_not_reach_the_terminal(run, pendulum) -> None:
    ran = run("info", pendulum(name="evil&#x9b;31m&#x202e;name"))
    assert "\x9b" not in ran.out + ran.err
    assert "\u202e" not in ran.out + ran.err


def test_what_runs_on_a_target(run, pendulum) -> None:
    said = run("info", pendulum(), "--target", "cuda", "--batch", "1000000").out
    assert "batch of 1000000" in said and ", thread, estimated" in said
    lines = run("info", pendulum(), "--target", "numpy", "--json").json["explained"]
    assert lines[0].startswith("target numpy, float64, batch of 256")
    lines = run("info", "iiwa14", "--links", "scan", "--target", "numpy", "--json").json["explained"]
    assert any(line.startswith("fd ") and "by scans" in line for line in lines)
    assert "target" in run("info", pendulum(), "--links", "auto", "--batch", "1").out


def test_a_card_that_is_not_there_is_not_invented(run, pendulum, monkeypatch) -> None:
    from condyle.calls.gpu import GpuDynamics

    monkeypatch.setattr(GpuDynamics, "_multiprocessors", lambda self: None)
    said = run("info", pendulum(), "--target", "cuda").out
    assert "there is no GPU here: estimates are for a card with 132 multiprocessors" in said
    assert "GPU 0" not in said


def test_a_tree_too_deep_to_indent_has_numbers_and_a_legend(run, tmp_path) -> None:
    legend = "above 12 it is a number in brackets: [13] has 13 joints between it and the root"
    for n, has in ((13, False), (14, True)):
        path = tmp_path / f"chain{n}.urdf"
        path.write_text(condyle.chain(n, rng=0).to_urdf())
        said = run("info", str(path)).out
        assert (legend in said, "[13] joint13" in said) == (has, has)


def test_functions_are_listed_without_a_robot(run) -> None:
    rows = {row["function"]: row for row in run("info", "--functions", "--json").json["functions"]}
    assert list(rows) == list(FUNCTIONS)
    assert rows["jac"]["runners"] == ["straight"] and rows["jac"]["options"] == ["frames", "reference_frame"]
    assert rows["jac"]["outputs"][0]["shape"] == ["n_frames", "6", "nv"]
    assert rows["id"]["runners"] == ["straight", "loops", "link-parallel", "hardware"]
    assert "verilog" in rows["id"]["targets"] and "verilog" not in rows["nle"]["targets"]
    assert rows["nle"]["f_ext"] and not rows["g"]["f_ext"]
    said = run("info", "--functions").out
    for function in FUNCTIONS.values():
        assert any(line.split()[:2] == [function.name, function.method] for line in said.splitlines())


def test_a_function_of_ones_own_is_listed(run) -> None:
    from condyle.functions import registered
    from tests.functions.first_moment import FIRST_MOMENT

    with registered(FIRST_MOMENT):
        assert FIRST_MOMENT.method in run("info", "--functions").out


def test_info_says_what_to_name(run) -> None:
    assert run("info").status == 2
    refused = run("info", "iiwa14", "--functions")
    assert refused.status == 2 and "leave ROBOT out" in refused.err


@pytest.mark.parametrize("option", ["--frames", "--contacts"])
def test_an_unknown_frame_is_refused_whatever_is_printed(run, option: str) -> None:
    for more in ((), ("--graph",), ("--json",)):
        refused = run("info", "iiwa14", option, "iiwa_link7", *more)
        assert refused.status == 2 and "there is no frame 'iiwa_link7'; did you mean 'iiwa_link_7'" in refused.err


DRIVEN = """<robot name="driven"><link name="base"/>
  <link name="a"><inertial><mass value="1.25"/>
    <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="b"><inertial><mass value="2"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="j" type="revolute"><parent link="base"/><child link="a"/><dynamics damping="0.5" friction="0.25"/>
    <limit lower="-1" upper="2" effort="30" velocity="4"/></joint>
  <joint name="k" type="continuous"><parent link="a"/><child link="b"/></joint></robot>"""


def test_drives_and_limits_are_told(run, pendulum) -> None:
    path = pendulum(text=DRIVEN)
    j, k = run("info", path, "--json").json["joints"]
    assert (j["mass"], j["body"], j["parent"], j["v_index"], k["parent"], k["v_index"]) == (1.25, "a", -1, 0, 0, 1)
    assert j["drive"] == {
        "armature": [0.0],
        "damping": [0.5],
        "friction": [0.25],
        "stiffness": [0.0],
        "spring_reference": [0.0],
        "lower": [-1.0],
        "upper": [2.0],
        "effort": [30.0],
        "velocity": [4.0],
    }
    assert k["drive"]["effort"] == [None] and k["drive"]["lower"] == [None]
    said = run("info", path).out.splitlines()
    (driven,) = [line.split() for line in said if "0.25" in line]
    assert driven == ["j", "0.5", "0.25"], "k has none, and j has no others"
    assert said[0] == "driven: nq 2, nv 2, 2 bodies, moving mass 3.25 kg"
    assert said[1].startswith("gravity 0 0 -9.81 m/s^2, fingerprint ") and len(said[1].split()[-1]) == 16
    assert [line.split() for line in said[5:7]] == [
        ["j", "revolute", "0", "a", "1.25"],
        ["k", "continuous", "1", "b", "2"],
    ]
    assert said[6].startswith("  k  ")


@pytest.mark.parametrize(
    ("numbers", "said"),
    [((0.0, 0.0), ""), ((0.5, 0.5), "0.5"), ((0.5, 0.25), "0.5 0.25"), ((0.0, 1.0), "0 1"), ((), "")],
)
def test_numbers_that_are_equal_are_said_once(numbers: tuple[float, ...], said: str) -> None:
    assert info._numbers(numbers) == said


@pytest.mark.parametrize(
    ("limits", "said"),
    [
        ((-float("inf"), float("inf")), ""),
        ((-1.5, 2.0), "-1.5..2"),
        ((0.0, float("inf")), "0..inf"),
        ((-float("inf"), 3.0), "-inf..3"),
    ],
)
def test_an_interval_has_its_ends(limits: tuple[float, float], said: str) -> None:
    assert info._interval(limits) == said


def test_gears_are_named_with_their_joints() -> None:
    assert info._gears(Actuator("m", {"a": 2.0, "b": -0.5})) == "2 a + -0.5 b"


@pytest.mark.parametrize(("start", "size", "said"), [(3, 0, ""), (3, 1, "3"), (3, 2, "3..4"), (0, 7, "0..6")])
def test_entries_of_q_are_a_span(start: int, size: int, said: str) -> None:
    assert info._span(start, size) == said


def test_a_branch_is_indented_by_the_joints_above_it() -> None:
    parents = (-1, 0, 0, 2, *range(3, 13))
    assert [info._depth(parents, k) for k in (0, 1, 2, 3, 4, 13)] == [0, 1, 1, 2, 3, 12]
    assert info._branch(parents, 3) == "    "
    assert info._branch(parents, 13) == " " * 24
    assert info._branch((*parents, 13), 14) == "[13] "


def test_a_line_of_a_function_has_its_shapes_and_units(run) -> None:
    lines = {line.split()[0]: line for line in run("info", "--functions").out.splitlines() if line.strip()}
    assert "q, v, a [f_ext] -> tau (nv)" in lines["id"] and lines["id"].endswith(
        "straight, loops, link-parallel, hardware"
    )
    assert "q -> J (n_frames, 6, nv)" in lines["jac"] and lines["jac"].endswith("straight")
    assert " or " in lines["id"] and " | " not in lines["id"]


@pytest.mark.parametrize(
    ("words", "robot", "graph"),
    [
        (("--graph", "arm.urdf"), "arm.urdf", ""),
        (("arm.urdf", "--graph"), "arm.urdf", ""),
        (("arm.urdf", "--graph", "a.svg"), "arm.urdf", "a.svg"),
    ],
)
def test_a_robot_behind_graph_is_a_robot(words: tuple[str, ...], robot: str, graph: str) -> None:
    typed = parser("info").parse_args(["info", *words])
    info._check_named(typed)
    assert (typed.robot, typed.graph) == (robot, graph)


def test_a_drawing_without_a_robot_is_refused(run) -> None:
    refused = run("info", "--graph", "a.svg")
    assert refused.status == 2 and "info: name a ROBOT" in refused.err


def test_an_actuator_has_its_range_and_its_force(capsys: pytest.CaptureFixture[str]) -> None:
    """In numbers and in words; JSON has null for what is infinite."""
    inf = float("inf")
    motor = Actuator(
        "m", {"joint1": 2.0}, "general", gain=3.0, bias=(0.5, -1.5, -0.25), control=(-1.0, 4.0), force=(-50.0, inf)
    )
    robot = condyle.chain(2, rng=0).with_actuators((motor,))
    loaded: Any = SimpleNamespace(robot=robot, warnings=("warning: physics: x",), findings=())
    told = info._summary(loaded)
    assert told["actuators"] == [
        {
            "name": "m",
            "transmission": {"joint1": 2.0},
            "kind": motor.kind,
            "gain": 3.0,
            "bias": [0.5, -1.5, -0.25],
            "control": [-1.0, 4.0],
            "force": [-50.0, None],
        }
    ]
    assert told["warnings"] == ["warning: physics: x"] and told["name"] == robot.name
    info._print(loaded)
    said = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["actuator", "kind", "gear", "control", "force"] in said
    assert ["m", motor.kind, "2", "joint1", "-1..4", "-50..inf"] in said


@pytest.mark.parametrize("drive", ["damping", "friction", "stiffness"])
def test_a_joint_with_any_drive_is_told(capsys: pytest.CaptureFixture[str], drive: str) -> None:
    """Where a spring is at rest says nothing without a spring."""
    robot = condyle.chain(2, rng=0)
    moved = robot.with_drives({"joint1": condyle.Drive(**{drive: 0.75})})
    info._print(SimpleNamespace(robot=moved, warnings=(), findings=()))  # type: ignore[arg-type]
    said = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["joint1", "0.75"] in said and ["joint0"] not in said
