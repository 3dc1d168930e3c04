"""Changed URDF files: loaded, checked, written back, exported."""

from __future__ import annotations

import copy
import re
import warnings
from functools import cache
from pathlib import Path
from typing import Any
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

import numpy as np

import condyle
from condyle import Robot
from condyle.errors import CondyleError, ModelError, UnsupportedError
from condyle.model.parts import unapplied
from fuzz.urdf_mutations import MARK, mutate

WHAT = (
    "URDF files; found: an exception that is no CondyleError, a message that a name forges, a number that is not "
    "finite, text of a model in generated code, a robot that to_urdf changes, an answer that differs from the reference"
)
SEEDS = Path(__file__).parent / "seeds" / "urdf"
BUNDLED = Path(condyle.__file__).parent / "robots"
PLAIN = re.compile(r"`[A-Za-z][A-Za-z0-9_]{0,63}`")
TARGETS = ("c", "c", "c", "cuda", "verilog")
MOST_EXPORTED = 6
MOST_RUN = 4


@cache
def seeds() -> tuple[Element, ...]:
    ElementTree.register_namespace("drake", "http://drake.mit.edu")  # the prefix is what a reader knows
    paths = [*sorted(SEEDS.glob("*.urdf")), BUNDLED / "iiwa14.urdf", BUNDLED / "hyq.urdf"]
    return tuple(ElementTree.fromstring(path.read_bytes()) for path in paths)


def case(rng: np.random.Generator, folder: Path) -> None:
    own = len(seeds()) - 2
    root = copy.deepcopy(seeds()[int(rng.integers(own if rng.random() < 0.9 else len(seeds())))])
    plain = mutate(root, rng)
    text = ElementTree.tostring(root, encoding="utf-8")
    if rng.random() < 0.1:
        text, plain = _damaged(text, rng), False
    path = folder / "model.urdf"
    path.write_bytes(text)
    options: dict[str, Any] = {
        "floating_base": bool(rng.random() < 0.4),
        "strict": bool(rng.random() < 0.1),
        "snap": float(rng.choice([1e-9, 0.0, 0.05])),
        "mimic": str(rng.choice(["exact", "independent"])),
    }
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        try:
            robot = condyle.load(path, **options)
        except (ModelError, UnsupportedError) as error:
            _shown(str(error))
            return
        for warning in heard:
            _shown(str(warning.message))
        _shown(unapplied(robot))
        _sound(robot)
        _written(robot, options["snap"], folder)
        if robot.nv <= MOST_EXPORTED and rng.random() < 0.15:
            _exported(robot, TARGETS[int(rng.integers(len(TARGETS)))], folder)
        if plain and 0 < robot.nv <= MOST_RUN and rng.random() < 0.3:
            _run(robot)


def _damaged(text: bytes, rng: np.random.Generator) -> bytes:
    """Replaces, removes or repeats some bytes."""
    data = bytearray(text)
    for _ in range(int(rng.integers(1, 6))):
        at = int(rng.integers(len(data)))
        length = int(rng.integers(1, 20))
        kind = int(rng.integers(3))
        piece = rng.bytes(1) if kind == 0 else b"" if kind == 1 else bytes(data[at : at + length]) * 2
        data[at : at + (1 if kind == 0 else length)] = piece
    return bytes(data)


def _shown(text: str) -> None:
    """Checks that a message has only printable lines, with the prefixes of ours, so that no file can forge a line."""
    lines = text.split("\n")
    for line in lines:
        assert line.isprintable(), f"a message has {line!r}"
        assert len(lines) == 1 or line.startswith(("error: ", "physics: ", "note: ")), f"a line is forged: {line!r}"


def _sound(robot: Robot) -> None:
    """Checks that every query of the robot works, and that every number is finite."""
    robot.check()
    for thing in (robot, *robot.joints, *robot.bodies):
        assert repr(thing).isprintable(), f"a prompt shows {thing!r}"
    for joint, body in zip(robot.joints, robot.bodies, strict=True):
        parts = (joint.axis, joint.placement.rotation, joint.placement.translation, body.com, body.inertia, body.mass)
        assert all(np.isfinite(part).all() for part in parts), f"{joint!r} or {body!r} is not finite"
        assert not any(np.isnan(limit).any() for limit in (joint.lower, joint.upper, joint.effort, joint.velocity))
    q, v = robot.random_state(2, 0)
    reference = robot.compile("numpy")
    for name, answer in (("id", reference.inverse_dynamics(q, v, v)), ("m", reference.mass_matrix(q))):
        assert np.isfinite(answer).all(), f"{name} is not finite"


def _written(robot: Robot, snap: float, folder: Path) -> None:
    """Checks that to_urdf, read back, is the same robot, bit by bit."""
    try:
        text = robot.to_urdf()
    except UnsupportedError:
        return  # a type or a number of a joint, or a character, that URDF cannot hold
    path = folder / "written.urdf"
    path.write_text(text, encoding="utf-8")
    again = condyle.load(path, floating_base=robot.base is None, snap=snap, gravity=[float(g) for g in robot.gravity])
    assert again.fingerprint == robot.fingerprint, "to_urdf, read back, is another robot"
    assert again.joint_names == robot.joint_names, "to_urdf changes the names of joints"
    assert set(again.frames) >= set(robot.frames), "to_urdf loses frames"


def _exported(robot: Robot, target: str, folder: Path) -> None:
    try:
        files = condyle.export(robot, target, folder / target, ("id",))
    except CondyleError as error:
        _shown(str(error))
        return
    for path in files:
        text = path.read_text(encoding="utf-8")
        if path.name == "README.md":
            assert MARK not in PLAIN.sub("", text), "README.md holds more of the model than plain words"
        elif path.name != "robot.json":
            assert text.isascii(), f"{path.name} is not ASCII"
            assert MARK not in text, f"{path.name} holds text of the model"


def _run(robot: Robot) -> None:
    """Compares machine code with the reference, for files whose numbers were not changed.

    The two round the angle of a mimic joint differently, and the absolute error grows with the angle.
    """
    q, v = robot.random_state(3, 1)
    expected = robot.compile("numpy").inverse_dynamics(q, v, v)
    answer = robot.compile("cpu").inverse_dynamics(q, v, v)
    scale = float(np.max(np.abs(expected), initial=0.0))
    worst = float(np.max(np.abs(answer - expected), initial=0.0))
    mimics = [joint.mimic for joint in robot.joints if joint.mimic is not None]
    angle = max((abs(one.multiplier) * np.pi + abs(one.offset) for one in mimics), default=0.0)
    allowed = 1e-9 + 8.0 * np.finfo(float).eps * angle
    assert worst <= allowed * scale, f"id differs by {worst:.1e} of {scale:.1e}"
