"""Whether two things are the same: every number and every word counts alone, to the last bit."""

from __future__ import annotations

import hashlib
import pickle
import struct
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import condyle
from condyle.compile.targets import cache_key
from condyle.functions import function_of
from condyle.identity import Identified, differing, digest, key_of, nearest, parts_of, whole
from condyle.model.placement import Placement
from condyle.model.robot import Robot, fingerprint
from tests.leaves import changed, leaf, leaves
from tests.zoo import tool_arm

TILTED = Placement.from_rpy((0.1, 0.2, 0.3), (0.4, 0.5, 0.6))
FINGERPRINTED = {
    "joints": {"type", "parent", "placement", "after", "axis", "second_axis", "pitch", "armature", "mimic"},
    "bodies": {"mass", "com", "inertia"},
    "contacts": {"kind", "placement", "gains", "anchor"},
}
"""Fields that the fingerprint has, by what they are fields of; and gravity."""


@pytest.fixture(scope="module")
def loop() -> condyle.Robot:
    """A helical, a universal and a mimic joint, a base, limits, a drive, and a closure with all that one can have."""
    builder = condyle.Builder("loop").body("base", mass=2.0, inertia=np.eye(3))
    for name in "abc":
        builder.body(name, mass=1.0, com=(0.01, 0.02, 0.03), inertia=np.diag([0.1, 0.2, 0.25]))
    limits = {"lower": -1.0, "upper": 1.5, "effort": 10.0, "velocity": 3.0, "damping": 0.1, "friction": 0.2}
    limits |= {"stiffness": 4.0, "spring_reference": 0.3}
    builder.joint("ha", parent="base", child="a", type="helical", axis=(1, 2, 2), pitch=0.1, armature=0.01, **limits)
    builder.joint(
        "ub", parent="a", child="b", type="universal", axis=(1, 0, 0), second_axis=(0, 0.6, 0.8), rpy=(1, 2, 3)
    )
    builder.joint("rc", parent="b", child="c", type="revolute", axis=(0, 0, 1), mimic=("ha", -1.5, 0.2))
    robot = builder.build()
    tie = condyle.Contact("c", "plane", other="a", placement=TILTED, gains=(4.0, 2.0), anchor=TILTED)
    data = (robot.name, robot.gravity, robot.joints, robot.bodies, robot.frames, robot.base, robot.snap, robot.snapped)
    motor = condyle.Actuator("motor", {"ha": 10.0}, "position", 100.0, (0.1, -100.0, -5.0), (-1.0, 1.0), (-9.0, 9.0))
    return condyle.Robot(*data, (tie,), (motor,))


def test_every_number_and_word_of_a_robot_counts_alone(loop: condyle.Robot) -> None:
    """A difference is named: it is the part that was changed and no other."""
    seen, own = {loop.identity}, loop.identity_parts
    places = list(leaves(loop))
    for place in places:
        other = changed(loop, place)
        assert differing(own, other.identity_parts) == [place[0]], place
        seen.add(other.identity)
    assert len(seen) == len(places) + 1 > 300


def test_the_fingerprint_has_every_number_that_it_names_and_no_other(loop: condyle.Robot) -> None:
    """Those of frames count where a closure stands on them."""
    own, counted = fingerprint(loop), 0
    for place in leaves(loop):
        if place[0] == "frames" or leaf(loop, place) is None or place[-1] in ("frame", "other"):
            continue
        is_note = any(word in place for word in ("rpy", "moved"))
        counts = place[0] == "gravity" or (place[2:3] and place[2] in FINGERPRINTED.get(place[0], ()) and not is_note)
        assert (fingerprint(changed(loop, place)) != own) == bool(counts), place
        counted += bool(counts)
    assert counted > 150


def test_signs_of_zeros_and_types_count() -> None:
    some: list[Any] = [
        0.0,
        -0.0,
        0,
        False,
        None,
        "0",
        (0,),
        [[0]],
        (0.0,),
        np.zeros(1),
        np.zeros((1, 1)),
        np.zeros((2, 3)),
        np.zeros((3, 2)),
        {"0": 0},
    ]
    some += [np.zeros(1, np.float32), np.zeros(1, np.int64), "", (), ("a", "b"), ("ab",), {"a": "b"}, TILTED]
    assert len({digest(x) for x in some}) == len(some)
    assert digest((1, 2.5)) == digest([1, 2.5]) and digest(np.float64(0.1)) == digest(0.1)
    assert digest(np.int64(3)) == digest(3) and digest(np.bool_(True)) == digest(True)
    assert digest(np.arange(6.0)[::2]) == digest(np.array([0.0, 2.0, 4.0], ">f8"))
    for value in (object(), np.array([None]), 1j):
        with pytest.raises(TypeError, match="no plain data"):
            digest(value)


@dataclass(frozen=True)
class Pair:
    """Two fields that count, one that follows from them, and one that is not compared."""

    second: int
    first: float
    total: float = field(init=False, default=0.0)
    note: str = field(default="", compare=False)


@pytest.mark.parametrize(
    ("value", "content"),
    [
        (None, b"N"),
        (True, b"T"),
        (False, b"F"),
        (-12, b"i-12;"),
        (1.5, b"f" + struct.pack("<d", 1.5)),
        ("ä\udc80", b"s5;\xc3\xa4\xed\xb2\x80"),
        ((1, "a", ()), b"(3;i1;s1;a(0;"),
        ({"b": 1, "a": [2]}, b"{2;s1;bi1;s1;a(1;i2;"),
        (Pair(3, 0.5, "not compared"), b"d2;s6;secondi3;s5;firstf" + struct.pack("<d", 0.5)),
        (np.array([[1, 2, 3]], np.int16), b"a2;s2;i2i1;i3;" + struct.pack("<3h", 1, 2, 3)),
        (np.array([True]), b"a1;s2;b1i1;\1"),
        (np.array(2, np.uint8), b"a0;s2;u1\2"),
        (np.array([0.5], ">f4"), b"a1;s2;f4i1;" + struct.pack("<f", 0.5)),
    ],
)
def test_content_is_written_with_types_and_lengths(value: object, content: bytes) -> None:
    """So it is the same on every machine, and hashes of earlier versions stay what they were."""
    assert digest(value) == hashlib.sha256(b"condyle content 1" + content).hexdigest()


def test_parts_are_fields_and_a_key_has_eight_letters_of_each() -> None:
    parts = parts_of(Pair(3, 0.5), "of.")
    assert parts == {"of.second": digest(3), "of.first": digest(0.5)}
    assert whole(parts) == digest([("of.first", digest(0.5)), ("of.second", digest(3))])
    assert key_of(parts) == f"{whole(parts)}.{digest(0.5)[:8]}{digest(3)[:8]}"


def test_the_nearest_differs_in_the_fewest_parts_but_in_some() -> None:
    one, two, three = (dict(zip("abc", letters, strict=True)) for letters in ("xyz", "xqz", "pqz"))
    hashes = [{name: letter * 64 for name, letter in parts.items()} for parts in (one, two, three)]
    key = key_of(hashes[0])
    assert nearest(key, hashes[1:]) == nearest(key, hashes[:0:-1]) == ["b"]
    assert nearest(key, hashes[2:]) == ["a", "b"]
    assert nearest(key, [hashes[2], hashes[0]]) == ["a", "b"]  # the same thing is no help
    assert nearest(key, [{"a": "x" * 64}]) == []


def test_what_is_identified_has_parts() -> None:
    class Thing(Identified):
        def __init__(self) -> None:
            self._parts = {}

    with pytest.raises(NotImplementedError):
        _ = Thing().identity
    robot = tool_arm()
    assert robot.__dask_tokenize__()[:2] == ("condyle", robot.identity)


def test_it_is_the_same_in_another_process_and_after_a_pickle(loop: condyle.Robot) -> None:
    code = "import condyle; r = condyle.load('panda'); print(r.identity, r.compile(frames=('panda_hand',)).identity)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    robot = condyle.load("panda")
    assert done.stdout.split() == [robot.identity, robot.compile(frames=("panda_hand",)).identity]
    again = pickle.loads(pickle.dumps((loop, robot.compile(frames=("panda_hand",)))))
    assert [x.identity for x in again] == [loop.identity, done.stdout.split()[1]]


def test_what_is_said_of_a_file_is_no_part_of_it(tmp_path: Path) -> None:
    """A pickle leaves it out, and no answer depends on it."""
    path = tmp_path / "arm.urdf"
    path.write_text(tool_arm().to_urdf())
    robot = condyle.load(path)
    assert robot.file_notes is not None
    assert pickle.loads(pickle.dumps(robot)).identity == robot.identity


def test_every_option_that_an_answer_depends_on_counts_alone() -> None:
    robot, tool = tool_arm(), condyle.Contact("tool")
    own = robot.compile()
    near, far = (Placement(np.eye(3), np.array([x, 0.0, 0.0])) for x in (12.341, np.nextafter(12.341, 13)))
    options: list[tuple[str, dict[str, Any]]] = [
        ("target", {"target": "numpy"}),
        ("dtype", {"dtype": "float32"}),
        ("links", {"links": "scan"}),
        ("routes", {"routes": {"fd": "aba"}}),
        ("frames", {"frames": ("tool",)}),
        ("reference_frame", {"reference_frame": "world"}),
        ("force_frame", {"force_frame": "local_world_aligned"}),
        ("integrator", {"integrator": "rk4"}),
        ("inputs", {"inputs": ("gravity",)}),
        ("contacts", {"contacts": (tool,)}),
        ("contacts", {"contacts": (condyle.Contact("tool", placement=near),)}),
        ("contacts", {"contacts": (condyle.Contact("tool", placement=far),)}),
    ]
    seen = {own.identity}
    for name, given in options:
        other = robot.compile(**given)
        assert differing(own.identity_parts, other.identity_parts) == [name], name
        seen.add(other.identity)
    assert len(seen) == len(options) + 1
    assert robot.compile(threads=1).identity == own.identity  # which changes no bit of an answer
    same = (robot.compile(routes={"fd": "aba", "id": "rnea"}), robot.compile(routes={"id": "rnea", "fd": "aba"}))
    assert same[0].identity == same[1].identity


def test_a_frame_that_moved_is_another_robot_to_all() -> None:
    """1e-9 m, which fingerprint and printed text do not show."""
    one, other = tool_arm(), tool_arm(0.3 + 1e-9)
    assert one.fingerprint == other.fingerprint and repr(one) == repr(other)
    assert differing(one.identity_parts, other.identity_parts) == ["frames"]
    compiled = [robot.compile(frames=("tool",)) for robot in (one, other)]
    assert differing(*(dyn.identity_parts for dyn in compiled)) == ["robot.frames"]
    keys = [cache_key(dyn._compiler, function_of("fk"), "float64") for dyn in compiled]
    assert keys[0] != keys[1]
    functions = [r.function(lambda at: at.frame("tool").translation, {"q": "nq"}) for r in (one, other)]
    assert differing(*(f.identity_parts for f in functions)) == ["robot.frames"]
    tokens = [x.__dask_tokenize__() for pair in ((one, other), compiled, functions) for x in pair]
    assert len(set(tokens)) == len(tokens)


def test_kernels_of_contacts_that_differ_in_a_bit_have_keys_of_their_own() -> None:
    robot, keys = tool_arm(), set()
    for x in (12.341, 12.344, np.nextafter(12.341, 13)):
        placed = Placement(np.eye(3), np.array([x, 0.0, 0.0]))
        for more in ({"placement": placed}, {"anchor": placed}, {"gains": (0.0, x)}):
            dyn = robot.compile(contacts=(condyle.Contact("tool", **more),))
            keys.add(cache_key(dyn._compiler, function_of("cfd"), "float64"))
    assert len(keys) == 9


def test_a_function_of_ones_own_is_what_was_traced() -> None:
    def made(gain: float, power: int = 2, size: int = 2) -> condyle.user.UserFunction:
        return condyle.function(lambda x: gain * x**power, {"x": size})

    own = made(5.0)
    assert made(5.0).identity == own.identity
    for other, named in ((made(np.nextafter(5.0, 6)), "constants"), (made(5.0, 3), "operations")):
        assert differing(own.identity_parts, other.identity_parts) == [f"function.{named}"]
    assert "function.inputs" in differing(own.identity_parts, made(5.0, size=3).identity_parts)

    def answered(swapped: bool) -> condyle.user.UserFunction:
        def both(x: Any) -> dict[str, Any]:
            twice, square = 2.0 * x, x * x
            return {"a": square, "b": twice} if swapped else {"a": twice, "b": square}

        return condyle.function(both, {"x": 2})

    assert differing(answered(False).identity_parts, answered(True).identity_parts) == ["function.operations"]
    robot = tool_arm()
    held = [robot.function(lambda at: at.v, {"q": "nq", "v": "nv"}, integrator=i) for i in ("euler", "rk4")]
    assert differing(*(f.identity_parts for f in held)) == ["integrator"]
    compiled = [own.compile(target=target) for target in ("cpu", "numpy")]
    assert differing(*(f.identity_parts for f in compiled)) == ["target"]


def test_a_key_says_later_what_differs() -> None:
    robot = tool_arm()
    some = [robot.compile(**given).identity_parts for given in ({}, {"integrator": "rk4", "frames": ("tool",)})]
    key = key_of(tool_arm(0.4).compile(integrator="rk4").identity_parts)
    assert nearest(key, some) == ["integrator", "robot.frames"] or nearest(key, some) == ["frames", "robot.frames"]
    assert nearest(key, some[1:]) == ["frames", "robot.frames"]
    assert nearest(key, []) == nearest("what no version wrote", some) == []
    assert key.startswith(whole(tool_arm(0.4).compile(integrator="rk4").identity_parts))


def test_a_new_field_counts_by_itself() -> None:
    """Parts are the fields of a robot: none is named a second time, where it could be forgotten."""
    assert set(parts_of(tool_arm())) == {name for name, *_ in leaves(Robot.from_data(tool_arm()))} | {
        "base",
        "contacts",
        "actuators",
        "shapes",
    }
