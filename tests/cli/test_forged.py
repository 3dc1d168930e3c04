"""Names that would forge lines, colours or the direction of writing: every command shows them on one line, escaped."""

from __future__ import annotations

import pytest

import condyle
from condyle.errors import ModelWarning

FORGED = "a&#10;warning: forged&#9;&#x202e;x&#x3164;&#x200b;y"
SHOWN = "a\\nwarning: forged\\t\\u202ex\\u3164\\u200by"
TEXT = f"""<robot name="{FORGED}">
  <link name="base"/>
  <link name="rod {FORGED}">
    <inertial><mass value="2"/><inertia ixx="0.1" iyy="0.1" izz="0.3" ixy="0" ixz="0" iyz="0"/></inertial>
  </link>
  <joint name="pivot {FORGED}" type="revolute">
    <parent link="base"/><child link="rod {FORGED}"/><limit lower="2" upper="1"/>
  </joint>
</robot>
"""


def check_lines(text: str) -> None:
    assert SHOWN in text
    for line in text.rstrip("\n").split("\n"):
        assert line.isprintable(), line
        assert not line.startswith("warning: forged")
        assert not any(char in line for char in "\u3164\u202e\u200b\t")


@pytest.mark.parametrize(
    "words",
    [
        ("info",),
        ("info", "--target", "cpu", "--counts"),
        ("check", "--target", "numpy"),
        ("bench", "--functions", "id", "--batch", "1"),
    ],
)
def test_commands(run, pendulum, words) -> None:
    name, *more = words
    ran = run(name, pendulum(text=TEXT), *more)
    assert ran.status in (0, 1), ran.err
    check_lines(ran.out + ran.err)


@pytest.mark.parametrize("what", [("--strict",), ("--lock", "nobody=1")])
def test_refusals(run, pendulum, what) -> None:
    ran = run("info", pendulum(text=TEXT), *what)
    assert ran.status == 1
    check_lines(ran.err)


def test_warnings_and_what_a_prompt_shows(pendulum) -> None:
    with pytest.warns(ModelWarning) as caught:
        robot = condyle.load(pendulum(text=TEXT))
    (warning,) = caught
    check_lines(str(warning.message))
    for shown in (robot, robot.joints[0], robot.bodies[0], robot.compile("numpy")):
        check_lines(repr(shown))


def test_check_prints_what_the_file_has(run, pendulum) -> None:
    """Findings of the file with their lines, each once."""
    ran = run("check", pendulum(text=TEXT), "--target", "numpy")
    assert ran.out.count("lower limit above the upper one") == 1
    assert ran.out.count("break the triangle inequality") == 1
    assert ran.out.count("physics: ") == 1 and ":3: link 'rod " in ran.out
    assert ran.status == 1
