"""Contacts as data: what makes two of them different, their numbers, and what becomes of those that hold nothing."""

from __future__ import annotations

import re

import numpy as np
import pytest

import condyle
from condyle import Contact, ModelWarning, Shape
from condyle.model.contact import CLOSED, Gap, anchors_of, checked_contacts, gains_of, normals_of, settled, turned
from condyle.model.description import Description
from condyle.model.placement import IDENTITY, Placement

PLACE = Placement.from_rpy((1.0, 2.0, 3.0), (0.0, 0.0, np.pi / 2), 1e-9)
BODY = {"mass": 1.0, "inertia": 0.1 * np.eye(3)}


def builder() -> condyle.Builder:
    """Two arms on the world, one with a tip fixed to it, and a post that is fixed to the world."""
    tree = condyle.Builder("r").body("a", **BODY).body("b", **BODY).body("tip").body("post")
    tree.joint("ja", parent="world", child="a", type="revolute").joint("jb", parent="world", child="b", type="revolute")
    tree.joint("jt", parent="a", child="tip", type="fixed", xyz=(0, 0, 1))
    return tree.joint("jp", parent="world", child="post", type="fixed", xyz=(0, 0, 2))


def test_defaults_of_a_contact() -> None:
    plain = Contact("a")
    assert (plain.kind, plain.gains, plain.point, plain.is_loop) == ("point", (0.0, 0.0), 0, False)
    assert plain.placed.is_identity and plain.anchored.is_identity
    assert Contact("a", gains=(0, 3)).gains == (0.0, 3.0)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"frame": 3}, "Contact: frame=3: give a name of robot.frames"),
        ({"frame": None}, "Contact: frame=None: give a name of robot.frames"),
        ({"other": 3}, "Contact: other=3: give a name of robot.frames"),
        ({"placement": np.eye(4)}, "contact 'a': placement=.*give a Placement of condyle.model.placement"),
        ({"anchor": (1, 2, 3)}, "contact 'a': anchor=.*give a Placement of condyle.model.placement"),
        ({"placement": Placement(2.0 * np.eye(3), np.zeros(3))}, "contact 'a': placement=.*is no rotation"),
        ({"other": "b", "anchor": Placement(np.eye(3), np.full(3, np.nan))}, "contact 'a' on 'b': anchor=.*not finite"),
        ({"gains": (1.0, 2.0, 3.0)}, "two finite numbers from 0 on"),
        ({"gains": "stiff"}, "two finite numbers from 0 on"),
        ({"gains": (0.0, -1.0)}, "two finite numbers from 0 on"),
    ],
)
def test_what_a_contact_cannot_be(more: dict[str, object], said: str) -> None:
    with pytest.raises(condyle.UnsupportedError, match=re.compile(said, re.DOTALL)):
        Contact(**{"frame": "a", **more})  # type: ignore[arg-type]


def test_contacts_differ_by_frames_places_and_solids() -> None:
    robot = builder().build()
    different = [
        Contact("a"),
        Contact("b"),
        Contact("a", other="b"),
        Contact("a", placement=PLACE),
        *robot.shape_contacts([Shape("sphere", 0.1, "a")]),
        *robot.shape_contacts([Shape("sphere", 0.2, "a")]),
        *robot.shape_contacts([Shape("capsule", (0.1, 0.2), "a")]),
        *robot.shape_contacts([Shape("cylinder", (0.1, 0.2), "a")]),
    ]
    assert checked_contacts(robot, different) == tuple(different)
    for one in different:
        with pytest.raises(condyle.UnsupportedError, match="is there twice; leave one out"):
            checked_contacts(robot, [*different, one])


def test_numbers_of_contacts_are_rows() -> None:
    contacts = [Contact("a", gains=(4.0, 2.0)), Contact("b", anchor=PLACE)]
    assert gains_of(contacts).tolist() == [[4.0, 2.0], [0.0, 0.0]]
    assert normals_of(contacts).tolist() == [[0.0, 0.0, 1.0]] * 2
    here, there = anchors_of(contacts).tolist()
    assert here == [0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1] and there == [1, 2, 3, 0, -1, 0, 1, 0, 0, 0, 0, 1]
    assert (gains_of([]).shape, normals_of([]).shape, anchors_of([]).shape) == ((0, 2), (0, 3), (0, 12))


@pytest.mark.parametrize(
    ("gap", "is_open", "said"),
    [
        ((CLOSED, CLOSED), False, "1e-06 m"),
        ((1.1 * CLOSED, 0.0), True, "1.1e-06 m"),
        ((0.0, 1.1 * CLOSED), True, "0 m and 1.1e-06 rad"),
        ((0.25, 0.5), True, "0.25 m and 0.5 rad"),
    ],
)
def test_a_gap_of_a_millionth_is_closed(gap: tuple[float, float], is_open: bool, said: str) -> None:
    assert CLOSED == 1e-6
    assert (Gap(*gap).is_open, str(Gap(*gap))) == (is_open, said)


def test_a_contact_with_the_world_has_no_other_side() -> None:
    with pytest.raises(ValueError, match="no other side"):
        turned(Contact("a"), IDENTITY)


@pytest.mark.parametrize(
    ("contact", "said"),
    [
        (Contact("post"), "contact 'post': holds nothing and is left out: it is fixed to the world"),
        (Contact("post", anchor=PLACE), ": it is fixed to the world, 2.45 m apart"),
        (Contact("post", anchor=Placement.from_rpy((0, 0, 2))), ": it is fixed to the world"),
        (Contact("post", other="world"), ": both of its frames are fixed to the world, 2 m apart"),
        (Contact("a", other="tip"), "contact 'a' on 'tip': holds .*: both of its frames are on one body, 1 m apart"),
        (
            Contact("a", "plane", "tip", placement=Placement.from_rpy((0, 0, 1), (0.5, 0, 0))),
            ": both of its frames are on one body, 0 m and 0.5 rad apart",
        ),
        (Contact("a", other="tip", placement=Placement.from_rpy((0, 0, 1))), ": both of its frames are on one body"),
    ],
)
def test_a_contact_that_holds_nothing_is_named(contact: Contact, said: str) -> None:
    tree = builder()
    tree.contact(contact.frame, contact.kind, contact.other, contact.placement, contact.gains, contact.anchor)
    with pytest.warns(ModelWarning, match=f"{said}$"):
        assert tree.build().contacts == ()


def test_what_is_fixed_to_the_world_is_the_world() -> None:
    """The frame that moves is held, where the one that does not stands."""
    ends = [("post", "a"), ("a", "post"), ("a", "b"), ("b", None)]
    tree = builder()
    for frame, other in ends:
        tree.contact(frame, "plane", other, gains=(4.0, 2.0), anchor=Placement.from_rpy((1, 0, 0)))
    robot = tree.build()
    settled_ends = [(one.frame, one.other, one.gains) for one in robot.contacts]
    assert settled_ends == [("a", None, (4.0, 2.0))] * 2 + [("a", "b", (4.0, 2.0)), ("b", None, (4.0, 2.0))]
    first, second, *_ = robot.contacts
    assert first.anchored.translation.tolist() == [0.0, 0.0, 2.0] and first.placed.translation.tolist() == [1, 0, 0]
    assert second.anchored.translation.tolist() == [1.0, 0.0, 2.0] and second.placed.is_identity
    assert settled(robot) == (robot, [])


def test_links_that_are_not_there_are_named_with_those_that_may_be_meant() -> None:
    with pytest.raises(condyle.ModelError) as refused:
        builder().contact("tap", other="past").contact("a", other="nobody").build()
    text = str(refused.value)
    assert "contact 'tap' on 'past': there is no frame 'tap'; did you mean 'tip'" in text
    assert "contact 'tap' on 'past': there is no frame 'past'; did you mean 'post'" in text
    assert "contact 'a' on 'nobody': there is no frame 'nobody'; there are" in text


def test_changes_that_leave_a_contact_out_say_so_at_the_users_line() -> None:
    robot = builder().contact("a", other="b").build()
    with pytest.warns(ModelWarning, match="contact 'a' on 'b': holds nothing and is left out") as caught:
        still = robot.lock({"ja": 0.0, "jb": 0.0})
    assert still.contacts == () and [warning.filename for warning in caught] == [__file__]
    held = condyle.Builder("r").body("a", **BODY).joint("ja", parent="world", child="a", type="revolute")
    turned_robot = held.contact("a", anchor=IDENTITY).build().reroot("a")
    assert [(one.frame, one.other) for one in turned_robot.contacts] == [("world", None)]
    with pytest.warns(ModelWarning, match="contact 'world': holds nothing") as caught:
        assert turned_robot.lock({"ja": 0.0}).contacts == ()
    assert [warning.filename for warning in caught] == [__file__]


def test_a_description_keeps_no_contact_by_itself() -> None:
    assert Description("r", np.zeros(3), (), ()).contacts == ()
