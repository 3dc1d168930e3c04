"""Writes the bundled robots, src/condyle/robots/*.urdf, from the files that LICENSES.md there names.

python -m tools.bundle NAME...             write them from the example-robot-data wheel; ur5e, go2, g1: from those kept
python -m tools.bundle NAME --source FILE  write one from a file elsewhere; the three of the GRiD benchmarks need it
python -m tools.bundle NAME... --check     exit status 1 if a file is not what would be written
python -m tools.bundle --expand FOLDER     tests/robots/sources/ur5e.urdf from a checkout of Universal Robots' ROS 2
                                           description (pip install xacro==2.1.1)

Inertias of links that were fixed to another are sums: their last digit may differ on another processor.
"""

from __future__ import annotations

import argparse
import hashlib
import shutil
import sys
import tempfile
import warnings
import xml.etree.ElementTree as ET
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from importlib import metadata
from pathlib import Path
from xml.sax.saxutils import quoteattr

import numpy as np

from condyle import Actuator, ModelWarning
from condyle.model.parts import Frame
from condyle.model.placement import Placement, matrix_of, rpy_of
from condyle.model.robot import Robot
from condyle.readers import load_robot

ROOT = Path(__file__).resolve().parent.parent
BUNDLED, KEPT = ROOT / "src" / "condyle" / "robots", ROOT / "tests" / "robots" / "sources"
WHEEL, VERSION = "example-robot-data", "6.0.0"
UR5E = "https://github.com/UniversalRobots/Universal_Robots_ROS2_Description 2.4.5 (BSD-3-Clause)"
EXPANDED = f"urdf/ur.urdf.xacro of {UR5E}, expanded by xacro 2.1.1 with ur_type:=ur5e, without comments and shapes"
MENAGERIE = "https://github.com/google-deepmind/mujoco_menagerie (BSD-3-Clause)"
GRID = "https://github.com/robot-acceleration/GRiDBenchmarks (MIT)"
HALF_PI = 1.57079632679
"""As the files of HyQ have it."""


@dataclass(frozen=True)
class Source:
    """One source file: its sha256, what the bundled file says of it, frames that are added (parent, xyz, rpy), and the
    beginning of names of collision shapes of an MJCF file that are left out."""

    sha256: str
    said: str
    wheel: str = ""
    kept: str = ""
    frames: Mapping[str, tuple[str, tuple[float, float, float], tuple[float, float, float]]] = field(
        default_factory=dict
    )
    without: tuple[str, ...] = ()

    def path(self) -> Path:
        """Where the file is on this machine; SystemExit where it has to be named."""
        if self.kept:
            return KEPT / self.kept
        if not self.wheel:
            raise SystemExit(f"{self.said}: name its file, --source FILE")
        try:
            wheel = metadata.distribution(WHEEL)
        except metadata.PackageNotFoundError:
            raise SystemExit(f"{WHEEL} is not installed: pip install {WHEEL}=={VERSION}") from None
        return Path(str(wheel.locate_file(f"cmeel.prefix/share/example-robot-data/robots/{self.wheel}")))


FEET = {
    f"{leg}_foot": (f"{leg}_lowerleg", (0.346, 0.0, 0.0), (HALF_PI, 0.0, -HALF_PI)) for leg in ("lf", "lh", "rf", "rh")
}
"""Of hyq-description at 43cc075a: `lowerleg_length` of urdfs/common.xacro, `foot_joint` of urdfs/leg/leg.urdf.xacro."""

BALLS = {f"{leg}_foot": (f"{leg}_calf", (-0.002, 0.0, -0.213), (0.0, 0.0, 0.0)) for leg in ("FL", "FR", "RL", "RR")}
"""The centres of Go2's feet, balls of 0.022 m."""
SOLES = {
    f"{side}_foot_{end}": (f"{side}_ankle_roll_link", (0.04 + x, y, -0.037), (0.0, 0.0, 0.0))
    for side in ("left", "right")
    for end, x, y in (("fl", 0.09, 0.03), ("fr", 0.09, -0.03), ("rl", -0.09, 0.03), ("rr", -0.09, -0.03))
}
"""The lower corners of the boxes of G1's feet."""

SOURCES = {
    "iiwa14": Source("a29d575e180de854db003c71a05534638643baf169e069a468a70998b7b5630e", f"urdfs/iiwa.urdf of {GRID}"),
    "hyq": Source(
        "dc40c67a803155d4787cf7a9336307d340d0566adaa911c7f2800b18c0ebd123",
        f"urdfs/hyq.urdf of {GRID}; frames of the feet from https://github.com/iit-DLSLab/hyq-description (Apache-2.0)",
        frames=FEET,
    ),
    "atlas": Source("e4c24f2b5751102672d6cfb7417ce0f084b472218ebf9a6050a79fde3049a568", f"urdfs/atlas.urdf of {GRID}"),
    "panda": Source(
        "63792d2679f22c4e41cda2c4d9d903644e628970ad0656b9eec8485113941555",
        "https://github.com/frankaemika/franka_ros, franka_description (Apache-2.0)",
        wheel="panda_description/urdf/panda.urdf",
    ),
    "ur5e": Source(
        "746e1324418099810bd16c10c58e2f90a61fbd6dc86981354c55343c75e19666",
        UR5E,
        kept="ur5e.urdf",
    ),
    "anymal_kinova": Source(
        "470cd048934c8789d786e1d44ce4d84a35c1a7ec886816fd0b81305d808feb56",
        "https://github.com/ANYbotics/anymal_b_simple_description and https://github.com/Kinovarobotics/kinova-ros"
        " (both BSD-3-Clause)",
        wheel="anymal_b_simple_description/robots/anymal-kinova.urdf",
    ),
    "talos": Source(
        "dd03ab48128523f7ffd93452ff9361e01dfd23c099540010e1ca200595bf13e9",
        "https://github.com/pal-robotics/talos_robot, talos_description (Apache-2.0)",
        wheel="talos_data/robots/talos_reduced.urdf",
    ),
    "allegro": Source(
        "79d43eb18475a2d6b1fa7cdf072f0f1077375519bab7c82ce88c4dce62d67d40",
        "https://github.com/Wonikrobotics-git/allegro_hand_linux_v4, allegro_hand_description (BSD)",
        wheel="allegro_hand_description/urdf/allegro_right_hand.urdf",
    ),
    "go2": Source(
        "d4a6260b8b991666476a681c5519dd62be034b25a79bc79a731d087d1e4c89de",
        f"unitree_go2/go2.xml of {MENAGERIE}",
        kept="go2.xml",
        frames=BALLS,
    ),
    "g1": Source(
        "0cbc15fc3cfac9939b5cc6d33a8776e501999c7ab3810c7a513807eb3192a9a1",
        f"unitree_g1/g1_mjx.xml of {MENAGERIE}",
        kept="g1.xml",
        frames=SOLES,
        without=tuple(f"{side}_foot{k}" for side in ("left", "right") for k in (1, 2, 3)),
    ),
}


def read(path: Path) -> Robot:
    """The robot of a file, every digit kept; LICENSES.md says what is odd in the numbers."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        return load_robot(path, snap=0.0)


def made(name: str, path: Path) -> Robot:
    """The robot of a source file under its bundled name, with the frames that are added."""
    robot, frames = read(path), dict[str, Frame]()
    for frame, (parent, xyz, rpy) in SOURCES[name].frames.items():
        body, place = robot.frames[parent]
        frames[frame] = Frame(body, place.compose(Placement.from_rpy(xyz, rpy)))
    if path.suffix == ".xml":  # a free joint is written as none: the root is the body that it moves
        kept = {frame: place for frame, place in robot.frames.items() if place.body >= 0}
        return replace(_motors(robot), name=name, base=None, frames={**kept, **frames}, shapes=())
    return replace(robot, name=name, frames={**robot.frames, **frames}, shapes=())


def _motors(robot: Robot) -> Robot:
    """With a motor on each joint that an actuator of an MJCF file moves; a motor's range of control is the effort."""
    driven = {next(iter(one.transmission)): one for one in robot.actuators}
    joints = tuple(
        replace(joint, effort=np.array([driven[joint.name].control[1]]))
        if joint.name in driven and driven[joint.name].kind == "motor" and np.isinf(joint.effort).all()
        else joint
        for joint in robot.joints
    )
    order = [joint.name for joint in joints if joint.name in driven]
    return replace(robot, joints=joints, actuators=tuple(Actuator(driven[j].name, {j: 1.0}) for j in order))


def collisions(path: Path, without: tuple[str, ...]) -> dict[str, str]:
    """By link, the collision shapes of an MJCF file as URDF says them: spheres, boxes, cylinders and capsules."""
    import mujoco

    model = mujoco.MjModel.from_xml_path(str(path))
    texts: dict[str, str] = {}
    for k in range(model.ngeom):
        geom = model.geom(k)
        if geom.name.startswith(without or ("\n",)):
            continue
        size = geom.size.tolist()
        kind = mujoco.mjtGeom(int(geom.type[0])).name.removeprefix("mjGEOM_").lower()
        if kind == "box":
            said = f'size="{" ".join(repr(2.0 * x) for x in size)}"'
        else:
            said = f'radius="{size[0]!r}"' + ("" if kind == "sphere" else f' length="{2.0 * size[1]!r}"')
        rpy = " ".join(repr(x + 0.0) for x in rpy_of(matrix_of(np.roll(geom.quat, -1))))
        xyz = " ".join(repr(x + 0.0) for x in geom.pos.tolist())
        name = f" name={quoteattr(geom.name)}" if geom.name else ""
        link = model.body(int(geom.bodyid[0])).name
        texts[link] = texts.get(link, "") + (
            f'    <collision{name}>\n      <origin xyz="{xyz}" rpy="{rpy}"/>\n'
            f"      <geometry><{kind} {said}/></geometry>\n    </collision>\n"
        )
    return texts


def with_collisions(text: str, texts: Mapping[str, str]) -> str:
    """A file of ours with these shapes at the ends of its links."""
    for link, shapes in texts.items():
        head, rest = text.split(f"  <link name={quoteattr(link)}>\n")
        body, rest = rest.split("  </link>\n", 1)
        text = f"{head}  <link name={quoteattr(link)}>\n{body}{shapes}  </link>\n{rest}"
    return text


def text(name: str, path: Path) -> str:
    """The whole file; SystemExit if the source is not the one that is named."""
    source = SOURCES[name]
    found = hashlib.sha256(path.read_bytes()).hexdigest()
    if found != source.sha256:
        raise SystemExit(f"{path}: its sha256 is {found}, that of the source of {name} is {source.sha256}")
    with tempfile.TemporaryDirectory() as folder:
        once = Path(folder) / f"{name}.urdf"
        once.write_text(made(name, path).to_urdf(), encoding="utf-8")
        first, rest = read(once).to_urdf().split("\n", 1)  # its frames are in the order of that file
    if path.suffix == ".xml":
        rest = with_collisions(rest, collisions(path, source.without))
    return f"{first}\n<!-- Written by Condyle from {source.said}: changed, see LICENSES.md -->\n{rest}"


def expanded(checkout: Path) -> str:
    """UR5e's xacro as plain URDF, without comments and shapes."""
    import xacro

    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "ur_description"
        for part in ("urdf", "config"):
            shutil.copytree(checkout / part, copy / part)
        for file in copy.glob("urdf/**/*.xacro"):  # no ROS here that knows where the package is
            file.write_text(file.read_text(encoding="utf-8").replace("$(find ur_description)", str(copy)), "utf-8")
        given = {"name": "ur5e", "ur_type": "ur5e"}
        root = ET.fromstring(xacro.process_file(str(copy / "urdf" / "ur.urdf.xacro"), mappings=given).toxml())
    for link in root.iter("link"):
        for shape in [*link.findall("visual"), *link.findall("collision")]:
            link.remove(shape)
    ET.indent(root)
    return f"<!-- {EXPANDED} -->\n{ET.tostring(root, encoding='unicode')}\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(SOURCES))
    parser.add_argument("--source", type=Path, metavar="FILE")
    parser.add_argument("--expand", type=Path, metavar="FOLDER")
    parser.add_argument("--check", action="store_true")
    given = parser.parse_args()
    if given.expand is not None:
        (KEPT / "ur5e.urdf").write_text(expanded(given.expand), encoding="utf-8")
    if given.source is not None and len(given.names) != 1:
        parser.error("--source is of one robot")
    stale = 0
    for name in given.names:
        file, wanted = BUNDLED / f"{name}.urdf", text(name, given.source or SOURCES[name].path())
        if given.check and file.read_text(encoding="utf-8") != wanted:
            print(f"{file} is not what its source gives", file=sys.stderr)
            stale = 1
        elif not given.check:
            file.write_text(wanted, encoding="utf-8")
            print(f"{file}: {len(wanted)} bytes")
    return stale


if __name__ == "__main__":
    raise SystemExit(main())
