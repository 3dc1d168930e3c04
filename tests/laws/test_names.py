"""A model's names are data: whatever they are, the generated code is the same to the byte."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import condyle
from condyle import Robot

NAMES = st.lists(st.text(min_size=1, max_size=30), min_size=8, max_size=8, unique=True)
NASTY = ["*/ system(0); /*", 'a"; exit(1); "', "\\\n#include <x>", "../../etc/x", "\x00", "\u202e", "%s%n", "a b"]

FOR_PEOPLE = ("robot.json", "README.md", "condyle-export.json")
SHOWN = re.compile(r"(?m)^(\| \d+ \|) (?:`[A-Za-z][A-Za-z0-9_]*`|\(see `robot.json`\)) (\| revolute \|)")


def without_names(page: bytes) -> str:
    """A README but for the names of joints that are plain words, or not shown."""
    text, shown = SHOWN.subn(r"\1 \2", page.decode("ascii"))
    assert shown == 4
    return text


def named(robot: Robot, names: list[str], title: str) -> Robot:
    joints = tuple(replace(joint, name=names[k]) for k, joint in enumerate(robot.joints))
    bodies = tuple(replace(body, name=names[k + 4]) for k, body in enumerate(robot.bodies))
    frames = {f"{names[k]} frame": frame for k, frame in enumerate(robot.frames.values())}
    return Robot(title, robot.gravity, joints, bodies, frames, robot.base, robot.snap)


def code_of(robot: Robot, folder: Path) -> dict[str, bytes]:
    files = condyle.export(robot, "c", folder, functions=["id", "fv"], frames=tuple(robot.frames)[1:])
    return {file.name: file.read_bytes() for file in files}


@cache
def plain() -> Robot:
    return condyle.chain(4)


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    return code_of(plain(), tmp_path_factory.mktemp("plain"))


def check(names: list[str], title: str, folder: Path, expected: dict[str, bytes]) -> None:
    robot = named(plain(), names, title)
    assert robot.fingerprint == plain().fingerprint
    code = code_of(robot, folder)
    assert code.keys() == expected.keys()
    assert [file for file in code if file not in FOR_PEOPLE and code[file] != expected[file]] == []
    assert without_names(code["README.md"]) == without_names(expected["README.md"])
    people = json.loads(code["robot.json"])
    assert [joint["name"] for joint in people["joints"]] == names[:4]
    assert people["bodies"] == names[4:]
    assert people["frames"] == [*robot.frames][1:]


@settings(max_examples=15, deadline=None)
@given(names=NAMES, title=st.text(max_size=20).filter(lambda name: name not in ("iiwa14", "hyq", "atlas")))
def test_any_unicode(
    names: list[str], title: str, expected: dict[str, bytes], tmp_path_factory: pytest.TempPathFactory
) -> None:
    check(names, title, tmp_path_factory.mktemp("code"), expected)


def test_names_that_mean_harm(expected: dict[str, bytes], tmp_path: Path) -> None:
    check(NASTY, NASTY[0], tmp_path, expected)


def test_code_is_plain_ascii_and_names_nothing(expected: dict[str, bytes]) -> None:
    for file, text in expected.items():
        text.decode("ascii")
        if file not in FOR_PEOPLE:
            assert b"joint0" not in text
            assert b"link0" not in text
