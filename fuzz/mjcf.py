"""Damaged and hostile MJCF files."""

from __future__ import annotations

import contextlib
import struct
import subprocess
import sys
import time
import warnings
from pathlib import Path
from xml.etree import ElementTree

import numpy as np

from condyle import ModelError, Robot, UnsupportedError, load
from condyle.model.contact import checked_contacts
from fuzz.mjcf_changes import change
from fuzz.watched import Watched

WHAT = (
    "damaged MJCF files; found is: an error of another class than ModelError and UnsupportedError, a load beyond its "
    "time, a file opened outside the allowed folders, a robot with numbers that are none or another M than MuJoCo's"
)
SEEDS = Path(__file__).parent / "seeds" / "mjcf"
TIMEOUT_S, SLACK_S = 10.0, 10.0
MEMORY = 1 << 30
NEAR = 1e-9  # of the largest entry of M and of the inertias: what a damaged file's sizes leave of 1e-16


def case(rng: np.random.Generator, folder: Path) -> None:
    """One file with a few changes, loaded with random options; if it loads, it is compared with MuJoCo."""
    model = lay_out(rng, folder)
    floating, ignore = rng.random() < 0.2, rng.random() < 0.8
    assets = (folder / "meshes",) if rng.random() < 0.3 else ()
    start = time.monotonic()
    with Watched(folder / "outside") as outside, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        robot = None
        with contextlib.suppress(ModelError, UnsupportedError):
            robot = load(
                model,
                floating_base=floating,
                unmodelled="ignore" if ignore else "refuse",
                mimic="independent",
                snap=0.0,
                assets=assets,
                timeout=TIMEOUT_S,
                memory=MEMORY,
            )
        opened = outside.opened()
    assert not opened, f"opened outside the allowed folders: {opened}"
    took = time.monotonic() - start
    assert took < TIMEOUT_S + SLACK_S, f"took {took:.1f} s, allowed was {TIMEOUT_S} s"
    if robot is not None:
        check_numbers(robot)
        said = " ".join(str(warning.message) for warning in caught)
        if not floating and robot.nv and "tendons with" not in said:  # their armature is left out, with a note
            check_mass_matrix(robot, model, folder)


def lay_out(rng: np.random.Generator, folder: Path) -> Path:
    """A model's folder, one with meshes beside it, and one that nothing may open; the changed model's path."""
    for name in ("model/meshes", "meshes", "outside"):
        (folder / name).mkdir(parents=True)
    for place in ("model/meshes", "meshes", "outside"):
        (folder / place / "block.stl").write_bytes(block())
    (folder / "outside" / "part.xml").write_text("<mujocoinclude><body/></mujocoinclude>")
    (folder / "model" / "link.stl").symlink_to(folder / "outside" / "block.stl")
    (folder / "model" / "away").symlink_to(folder / "outside")
    for name in ("arm.xml", "part.xml", "hand.xml"):
        (folder / "model" / name).write_bytes((SEEDS / name).read_bytes())
    chosen = str(rng.choice(["arm.xml", "hand.xml"]))
    for name in (chosen, *(("part.xml",) if rng.random() < 0.3 else ())):
        tree = ElementTree.fromstring((SEEDS / name).read_text())
        for _ in range(int(rng.integers(1, 5))):
            change(tree, rng)
        data = bytearray(ElementTree.tostring(tree))
        if rng.random() < 0.03:
            data[int(rng.integers(len(data)))] = int(rng.integers(256))
        (folder / "model" / name).write_bytes(data)
    return folder / "model" / chosen


def block() -> bytes:
    """A tetrahedron as a binary STL file."""
    corners = ((0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1))
    faces = ((0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3))
    packed = (struct.pack("<12fH", 0, 0, 0, *(x for k in face for x in corners[k]), 0) for face in faces)
    return bytes(80) + struct.pack("<I", 4) + b"".join(packed)


def check_numbers(robot: Robot) -> None:
    """Checks that only limits are infinite."""
    for body in robot.bodies:
        for value in (body.mass, body.com, body.inertia):
            assert np.isfinite(value).all(), f"body {body.name!r}: {value}"
    for one in robot.contacts:
        for value in (one.placed.translation, one.placed.rotation, one.anchored.translation, one.anchored.rotation):
            assert np.isfinite(value).all(), f"{one.title}: {value}"
        checked_contacts(robot, [one])
    for joint in robot.joints:
        for value in (joint.armature, joint.damping, joint.friction, joint.placement.rotation, joint.axis):
            assert value is None or np.isfinite(value).all(), f"joint {joint.name!r}: {value}"


def check_mass_matrix(robot: Robot, model: Path, folder: Path) -> None:
    """Compares M at three states with MuJoCo's of the same file, which runs in another process."""
    q, _ = robot.random_state(3, 0)
    np.save(folder / "q.npy", q)
    kinds = [("free", "spherical").index(joint.type) if joint.nq > 1 else 2 for joint in robot.joints]
    np.save(folder / "joints.npy", np.array(kinds))
    twin = Path(__file__).with_name("mjcf_twin.py")
    command = [sys.executable, str(twin), str(model), str(folder)]
    with contextlib.suppress(subprocess.TimeoutExpired):
        subprocess.run(command, capture_output=True, timeout=20, cwd=folder, check=False)
    if not (folder / "M.npy").exists():
        return  # MuJoCo refuses a part of the file that is not read here, or dies of it
    theirs = np.load(folder / "M.npy")
    ours = robot.compile("numpy").mass_matrix(q)
    assert ours.shape == theirs.shape, f"M has the shape {ours.shape}, MuJoCo's {theirs.shape}"
    turned = max((float(np.abs(body.inertia).max()) for body in robot.bodies), default=0.0)  # rounds when it is turned
    error = float(np.abs(ours - theirs).max() / max(np.abs(theirs).max(), turned, 1e-300))
    reach = max((float(np.abs(joint.placement.translation).max()) for joint in robot.joints), default=0.0)
    assert error < NEAR * max(1.0, reach), f"M differs by {error:.1e}"  # MuJoCo subtracts positions in the world
