"""What every reader's last step says: of graphs, of followers, of bodies that are merged, and of its options."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from condyle import Builder, ModelError, ModelWarning
from condyle.errors import Finding
from condyle.model.description import Description, JointSpec, Link, MimicOf
from condyle.model.finish import Options, check_graph, finish, resolve_mimics
from condyle.model.parts import Body, massless
from condyle.model.placement import Placement

BOX = np.diag([0.1, 0.2, 0.25])


def links(names: str, first: int = 1) -> list[Link]:
    """Massless ones, a line each."""
    return [Link(massless(name), line) for line, name in enumerate(names, first)]


def joint(name: str, parent: str | None, child: str, kind: str = "revolute", **more: Any) -> JointSpec:
    return JointSpec(name, kind, parent, child, line=20 + ord(name) - ord("p"), **more)


@pytest.mark.parametrize(
    ("names", "joints", "said"),
    [
        ("", [], ["f: no link at all (a robot needs one or more)"]),
        ("ab", [joint("p", "a", "b")], []),
        ("a", [joint("p", None, "a")], []),
        (
            "aba",
            [joint("p", "a", "b")],
            [
                "f:3: link 'a' is defined twice, first on line 1 (rename one of them)",
                "f:3: 2 root links: 'a', 'a' (join them to one root)",
            ],
        ),
        (
            "abc",
            [joint("p", "a", "b"), joint("p", "a", "c")],
            ["f:20: joint 'p' is defined twice, first on line 20 (rename one of them)"],
        ),
        ("ab", [joint("p", "b", "b")], ["f:20: joint 'p': joins link 'b' to itself"]),
        ("abcdefg", [], ["f:2: 7 root links: 'a', 'b', 'c', 'd', 'e' and 2 more (join them to one root)"]),
        (
            "abcdefgh",
            [joint(name, parent, child) for name, parent, child in zip("pqrstuv", "bcdefgh", "cdefghb", strict=True)],
            [
                (
                    "f:26: closed loop: no way from a root link to 'b', 'c', 'd', 'e', 'f' and 2 more "
                    "(only trees are supported)"
                )
            ],
        ),
        (
            "abc",
            [joint("p", "a", "b"), joint("q", "a", "c"), joint("r", "b", "c")],
            [
                "f:22: closed loop: joints 'q' and 'r' both hold link 'c' (cut the loop: only trees are supported)",
            ],
        ),
    ],
)
def test_what_keeps_links_and_joints_from_being_a_tree(names: str, joints: list[JointSpec], said: list[str]) -> None:
    root, findings = check_graph(links(names), joints, "f")
    assert [str(finding) for finding in findings] == said
    assert root == names[:1] and all(finding.severity == "error" for finding in findings)


def test_ends_that_are_not_there_are_named() -> None:
    _, findings = check_graph(links("a"), [joint("p", "world", "a"), joint("q", "a", "bb")], "f")
    assert [str(finding) for finding in findings] == [
        "f:20: joint 'p': parent link 'world' does not exist (add <link name=\"world\"/>)",
        "f:21: joint 'q': child link 'bb' does not exist; there are 'a'",
    ]
    _, findings = check_graph([Link(massless("a")), Link(massless("a"))], [], None)
    assert "link 'a' is defined twice (rename one of them)" in map(str, findings)


def test_followers_of_what_stands_still_are_frozen_and_fixed_ones_follow_nobody() -> None:
    joints = [
        joint("p", None, "a", "fixed"),
        joint("q", "a", "b", "prismatic", mimic=MimicOf("p", 3.0, 0.5), axis=np.array([0.0, 1.0, 0.0])),
        joint("r", "b", "c", "prismatic", mimic=MimicOf("q", -2.0, 0.25), axis=np.array([1.0, 0.0, 0.0])),
        joint("s", "c", "d", "fixed", mimic=MimicOf("nobody")),
    ]
    found, findings = resolve_mimics(joints, "f")
    assert [(one.type, one.mimic, one.held) for one in found] == [
        ("fixed", None, None),
        ("fixed", None, 0.5),
        ("fixed", None, -0.75),
        ("fixed", None, None),
    ]
    assert found[1].placement.translation.tolist() == [0.0, 0.5, 0.0]
    assert found[2].placement.translation.tolist() == [-0.75, 0.0, 0.0] and found[2].line == 22
    assert [str(finding) for finding in findings] == [
        "f:21: joint 'q': mimics joint 'p', which is fixed: it is frozen at 0.5",
        "f:22: joint 'r': mimics joint 'p', which is fixed: it is frozen at -0.75",
    ]
    assert {finding.severity for finding in findings} == {"note"}


@pytest.mark.parametrize(
    ("joints", "said"),
    [
        ([joint("p", None, "a", mimic=MimicOf("p"))], ["joint 'p': mimics itself"]),
        (
            [joint("p", None, "a", mimic=MimicOf("q")), joint("q", "a", "b", mimic=MimicOf("p"))],
            [f"joint {k!r}: mimics itself, by way of {first}" for k, first in (("p", "'p', 'q'"), ("q", "'q', 'p'"))],
        ),
        (
            [joint("p", None, "a", mimic=MimicOf("nobody")), joint("q", "a", "b")],
            ["joint 'p': mimics joint 'nobody', which does not exist; there are 'p', 'q'"],
        ),
        (
            [joint("p", None, "a", "spherical"), joint("q", "a", "b", mimic=MimicOf("p"))],
            ["joint 'q': mimics joint 'p', which is spherical: only joints with one freedom can be"],
        ),
        (
            [joint("p", None, "a"), joint("q", "a", "b", "spherical", mimic=MimicOf("p"))],
            ["joint 'q': a spherical joint cannot mimic"],
        ),
        (
            [joint("p", None, "a"), joint("p", "a", "b"), joint("q", "b", "c", mimic=MimicOf("p"))],
            ["joint 'q': mimics joint 'p', which does not exist; there are 'q'"],
        ),
    ],
)
def test_followers_without_a_sound_master(joints: list[JointSpec], said: list[str]) -> None:
    found, findings = resolve_mimics(joints, None)
    assert [str(finding) for finding in findings] == said and all(one.mimic is None for one in found)


def test_a_link_that_cannot_be_is_only_odd_where_its_body_can() -> None:
    """Merged with one that outweighs it; alone, or with nobody, it is an error."""
    odd = -0.01 * np.eye(3)
    builder = Builder().body("a", mass=1.0, inertia=BOX).body("b", mass=0.1, inertia=odd)
    builder.joint("j", parent="world", child="a", type="revolute").joint("w", parent="a", child="b", type="fixed")
    with pytest.warns(ModelWarning, match="^physics: link 'b': inertia not positive definite") as told:
        builder.build()
    assert [warning.filename for warning in told] == [__file__]
    with pytest.raises(ModelError, match="physics: link 'b'"):
        builder.build(strict=True)
    alone = Builder().body("b", mass=0.1, inertia=odd).joint("j", parent="world", child="b", type="revolute")
    with pytest.raises(ModelError, match="error: link 'b': inertia not positive definite"):
        alone.build()
    with pytest.warns(ModelWarning, match="physics: link 'b'"):  # what never moves has no inertia in any answer
        Builder().body("b", mass=0.1, inertia=odd).build()


def test_a_point_mass_is_odd_only_where_it_moves_alone() -> None:
    builder = Builder().body("a", mass=1.0, inertia=BOX).body("b", mass=0.1)
    builder.joint("j", parent="world", child="a", type="revolute")
    builder.joint("w", parent="a", child="b", type="fixed").build()
    alone = Builder().body("b", mass=0.1, com=(1, 0, 0)).joint("j", parent="world", child="b", type="revolute")
    with pytest.warns(ModelWarning, match="link 'b': a mass but no inertia: a point mass"):
        alone.build()


def test_a_body_named_world_is_the_world() -> None:
    robot = Builder().body("world", mass=2.0).body("a", mass=1.0, inertia=BOX)
    built = robot.joint("j", parent="world", child="a", type="revolute").build()
    assert built.base is not None and (built.base.mass, set(built.frames)) == (2.0, {"world", "a"})


def test_only_a_moving_root_joint_is_in_the_way_of_a_floating_base() -> None:
    def built(kind: str, name: str = "root_joint") -> tuple[str, ...]:
        builder = Builder().body("a", mass=1.0, inertia=BOX).body("b", mass=1.0, inertia=BOX)
        return builder.joint(name, parent="a", child="b", type=kind).build(floating_base=True).joint_names

    assert built("fixed") == ("root_joint",) and built("revolute", "j") == ("root_joint", "j")
    with pytest.raises(ModelError, match="floating_base adds a joint 'root_joint', and a moving joint has that name"):
        built("revolute")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"floating_base": "yes"}, "floating_base='yes', expected True or False"),
        ({"strict": 2}, "strict=2, expected True or False"),
        ({"mimic": "no"}, "mimic='no', expected one of 'exact', 'independent'"),
        ({"unmodelled": "drop"}, "unmodelled='drop', expected one of 'refuse', 'ignore'"),
    ],
)
def test_values_of_options_are_checked(options: dict[str, Any], said: str) -> None:
    with pytest.raises(ModelError, match=f"^{said}$"):
        Options(**options)


def test_defaults_of_options() -> None:
    plain = Options()
    assert (plain.floating_base, plain.strict, plain.snap, plain.mimic) == (False, False, 1e-9, "exact")
    assert (plain.unmodelled, plain.quiet) == ("refuse", False)


def test_notes_are_given_once_and_quiet_loading_gives_none() -> None:
    whole = Description(
        "r", np.zeros(3), (Link(Body("a", 1.0, np.zeros(3), BOX)),), (JointSpec("j", "revolute", None, "a"),)
    )
    note = Finding("note", "odd", "f", 3)
    with pytest.warns(ModelWarning, match="^note: f:3: odd$"):
        finish(whole, Options(), [note])
    assert finish(whole, Options(quiet=True), [note]).joint_names == ("j",)
    with pytest.raises(ModelError, match="physics: f:3: odd"):
        finish(whole, Options(strict=True, quiet=True), [Finding("physics", "odd", "f", 3)])


def test_angles_that_were_snapped_are_counted() -> None:
    near = Placement.from_rpy(rpy=(np.pi / 2 + 2e-10, 0.0, 1e-10), snap=1e-9)
    place = Placement.from_rpy(rpy=(3e-10, 0.0, 0.0), snap=1e-9)
    whole = Description(
        "r",
        np.zeros(3),
        (Link(Body("a", 1.0, np.zeros(3), BOX), None, near),),
        (JointSpec("j", "revolute", None, "a", place),),
    )
    robot = finish(whole, Options())
    assert robot.snapped.count == 3 and robot.snapped.largest == pytest.approx(3e-10, rel=1e-6)
