"""Compiled models whose numbers are changed one at a time: damage, actuators that are none, what acts there alone."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from condyle.errors import ModelError
from condyle.model.actuator import UNLIMITED
from condyle.model.contact import Contact
from condyle.model.placement import Placement
from condyle.readers import load_robot, mjcf, mjcf_compiler, mjcf_model, mjcf_tree
from condyle.readers.mjcf import followers, held, unapplied_forces, unmoved
from condyle.readers.mjcf_actuators import _limits, gear_of, read_actuators, reflected
from condyle.readers.mjcf_model import Bytes, Compiled, DamagedError, opened, read_compiled
from condyle.readers.xml import Element

mujoco = pytest.importorskip("mujoco")

TEXT = """<mujoco><worldbody><body name="a"><joint name="j"/><geom size=".1"/><site name="s"/>
<body name="b" pos="1 0 0"><joint name="k" type="slide"/><geom size=".1"/>
<body name="c"><joint name="l" type="ball"/><geom size=".1"/></body></body></body></worldbody>
<tendon><fixed name="t"><joint joint="j" coef="2"/><joint joint="k" coef="-3"/></fixed></tendon>
<equality><joint joint1="j" joint2="k" polycoef="0.5 2 0 0 0"/></equality>
<actuator><motor name="m" joint="j" gear="5"/><position name="p" tendon="t" kp="7" gear="2"/>
<damper name="d" joint="k" kv="3" ctrlrange="0 1"/></actuator></mujoco>"""


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> tuple[bytes, mjcf_tree.Schema]:
    path = tmp_path_factory.mktemp("model") / "a.mjb"
    mujoco.mj_saveModel(mujoco.MjModel.from_xml_string(TEXT), str(path), None)
    return path.read_bytes(), mjcf_tree.schema_of(mjcf_compiler.library().parent / "include" / "mujoco")


@pytest.fixture
def model(saved: tuple[bytes, mjcf_tree.Schema]) -> Compiled:
    return read_compiled(*saved)


def changed(model: Compiled, name: str, at: Any, value: Any) -> Compiled:
    array = getattr(model, name).copy()
    array[at] = value
    setattr(model, name, array)
    return model


@pytest.mark.parametrize(
    ("name", "at", "value"),
    [
        ("body_parentid", 0, -1),
        ("body_parentid", 1, 1),
        ("body_jntnum", 1, 0),
        ("body_jntnum", 1, 4),
        ("body_jntadr", 1, 1),
        ("body_jntadr", 2, -1),
        ("jnt_type", 0, 4),
        ("jnt_type", 0, -1),
        ("jnt_type", 0, 1),
        ("jnt_qposadr", 1, 2),
        ("jnt_dofadr", 2, 3),
        ("site_bodyid", 0, 4),
        ("site_bodyid", 0, -1),
        ("geom_bodyid", 0, 4),
        ("geom_bodyid", 0, -1),
        ("eq_type", 0, 64),
        ("eq_type", 0, -1),
        ("tendon_adr", 0, -1),
        ("tendon_adr", 0, 1),
        ("tendon_num", 0, 3),
        ("tendon_num", 0, -1),
    ],
)
def test_an_index_that_leads_nowhere_is_damage(model: Compiled, name: str, at: int, value: int) -> None:
    mjcf_model._check_indices(model, 5)
    with pytest.raises(DamagedError, match="indices"):
        mjcf_model._check_indices(changed(model, name, at, value), 5)


def test_arrays_that_are_too_short_are_damage(model: Compiled) -> None:
    for name, wide in (("eq_data", 11), ("actuator_gainprm", 3), ("actuator_biasprm", 3)):
        whole = getattr(model, name)
        setattr(model, name, whole[:, :wide])
        mjcf_model._check_indices(model, 5)
        setattr(model, name, whole[:, : wide - 1])
        with pytest.raises(DamagedError, match="indices"):
            mjcf_model._check_indices(model, 5)
        setattr(model, name, whole)
    for nv in (4, 6):
        with pytest.raises(DamagedError, match="indices"):
            mjcf_model._check_indices(model, nv)
    model.qpos0 = model.qpos0[:-1]
    with pytest.raises(DamagedError, match="indices"):
        mjcf_model._check_indices(model, 5)


def test_other_headers_than_those_of_the_compiler_are_damage(saved: tuple[bytes, mjcf_tree.Schema]) -> None:
    """Magic, bytes of a number, counts of sizes and arrays; sizes that do not fit; a name without an end."""
    data, schema = saved
    for at, word in ((0, 1), (4, 4), (8, 1), (16, 1)):
        bad = data[:at] + word.to_bytes(4, "little") + data[at + 4 :]
        with pytest.raises(DamagedError, match="header"):
            read_compiled(bad, schema)
    least = 20 + 8 * len(schema.sizes) + 8 * len(schema.options)
    with pytest.raises(DamagedError, match="too short"):
        read_compiled(data[: least - 1], schema)
    with pytest.raises(DamagedError, match="sizes"):
        read_compiled(data[:least], schema)
    place = 20 + 8 * schema.sizes.index("nbody")
    for count in (-1, 1 << 40):
        bad = data[:place] + count.to_bytes(8, "little", signed=True) + data[place + 8 :]
        with pytest.raises(DamagedError, match=f"nbody = {count}"):
            read_compiled(bad, schema)
    rows = [row for row in schema.arrays if row.name != "body_mass"]
    wide = mjcf_tree.Row("body_mass", "<f8", "nbody", ("2",))
    other = mjcf_tree.Schema(schema.sizes, (*rows, wide), schema.options, schema.constants)
    bad = data + bytes(8 * 4)
    with pytest.raises(DamagedError, match="body_mass is 4 x 2"):
        read_compiled(bad, other)


NOT_AFFINE = [
    ("m", "actuator_trntype", 6, "an orientation"),
    ("m", "actuator_trntype", 2, "a slider-crank"),
    ("m", "actuator_trntype", 4, "a site"),
    ("m", "actuator_trntype", 5, "adhesion of a body"),
    ("m", "actuator_trntype", 7, "a transmission that is not known"),
    ("m", "actuator_trnid", (-1, -1), "a joint that is not there"),
    ("m", "actuator_trnid", (3, -1), "a joint that is not there"),
    ("m", "actuator_trnid", (2, -1), "a ball or free joint"),
    ("p", "actuator_trnid", (1, -1), "a transmission that is not known"),
    ("p", "actuator_trnid", (-1, -1), "a transmission that is not known"),
    ("m", "actuator_outadr", -1, "a gear of 0"),
    ("m", "actuator_outadr", 3, "a gear of 0"),
    ("m", "actuator_plugin", 0, "a plugin"),
    ("m", "actuator_dyntype", 1, "activation dynamics"),
    ("m", "actuator_delay", 0.5, "a delay"),
    ("m", "actuator_ctrlnum", 2, "several controls"),
    ("m", "actuator_outnum", 2, "several controls"),
    ("m", "actuator_gaintype", 2, "a muscle"),
    ("m", "actuator_biastype", 2, "a muscle"),
    ("m", "actuator_gaintype", 3, "a gain that depends on length"),
    ("p", "actuator_gaintype", 1, "a gain that depends on length"),
    ("m", "actuator_biastype", 3, "a bias that is not affine"),
    ("d", "actuator_biasprm", 1.0, None),
    ("d", "actuator_ctrllimited", 0, "a gain that depends on rate, and is no damper's"),
]


@pytest.mark.parametrize(("name", "field", "value", "why"), NOT_AFFINE)
def test_an_actuator_that_is_no_line_says_why(
    model: Compiled, name: str, field: str, value: Any, why: str | None
) -> None:
    said = read_actuators(changed(model, field, "mpd".index(name), value), model.names["jnt"], str, "f")
    left = [one.name for one in said.actuators]
    if why is None:
        assert left == ["m", "p", "d"] and said.ignored == ()
    else:
        assert left == [other for other in "mpd" if other != name]
        assert said.ignored == (f"actuators with {why} ({'mpd'.index(name)})",)


def test_a_damper_damps(model: Compiled) -> None:
    """By a gain of 0 too; not where it drives, nor with a bias."""
    names = model.names["jnt"]
    (damper,) = (one for one in read_actuators(model, names, str, "f").actuators if one.name == "d")
    assert (damper.kind, damper.gain, damper.control) == ("damper", 3.0, (0.0, 1.0))
    still = changed(model, "actuator_gainprm", (2, slice(None)), 0.0)
    assert read_actuators(still, names, str, "f").actuators[-1].gain == 0.0
    driving = read_actuators(changed(model, "actuator_gainprm", (2, 2), 1e-3), names, str, "f")
    assert driving.ignored == ("actuators with a gain that depends on rate, and is no damper's (2)",)
    biased = changed(changed(model, "actuator_gainprm", (2, 2), -1.0), "actuator_biastype", 2, 1)
    assert len(read_actuators(biased, names, str, "f").actuators) == 3
    assert len(read_actuators(changed(biased, "actuator_biasprm", (2, 2), -1.0), names, str, "f").actuators) == 2


@pytest.mark.parametrize(
    ("gain", "bias", "kind"),
    [
        (7.0, (0.0, 0.0, 0.0), "motor"),
        (7.0, (1.0, -7.0, 0.0), "position"),
        (7.0, (0.0, -7.0, -1.0), "position"),
        (7.0, (0.0, -7.0, 1.0), "general"),
        (7.0, (0.0, -6.0, 0.0), "general"),
        (7.0, (1.0, 0.0, -7.0), "velocity"),
        (0.0, (1.0, 0.0, 0.0), "velocity"),
        (-7.0, (0.0, 0.0, 7.0), "general"),
        (7.0, (1.0, 0.0, 0.0), "general"),
    ],
)
def test_kinds_of_actuators(model: Compiled, gain: float, bias: tuple[float, float, float], kind: str) -> None:
    model = changed(changed(model, "actuator_gainprm", (1, 0), gain), "actuator_biasprm", (1, slice(3)), bias)
    one = read_actuators(model, model.names["jnt"], str, "f").actuators[1]
    assert (one.kind, one.gain, one.bias, dict(one.transmission)) == (kind, gain, bias, {"j": 4.0, "k": -6.0})


def test_a_tendon_adds_the_arms_of_a_joint(model: Compiled) -> None:
    twice = changed(changed(model, "wrap_objid", 1, 0), "wrap_prm", 1, 1.0)
    assert dict(read_actuators(twice, model.names["jnt"], str, "f").actuators[1].transmission) == {"j": 6.0}
    cancelled = changed(model, "wrap_prm", 1, -2.0)
    assert read_actuators(cancelled, model.names["jnt"], str, "f").ignored == ("actuators with a gear of 0 (1)",)
    spatial = changed(model, "wrap_type", 0, 3)
    assert read_actuators(spatial, model.names["jnt"], str, "f").ignored == ("actuators with a spatial tendon (1)",)


def test_what_actuators_add_to_their_joints(model: Compiled) -> None:
    """Gear squared times; not by tendons, nor at joints that are not there."""
    assert [gear_of(model, i) for i in range(3)] == [5.0, 2.0, 1.0]
    assert reflected(model, np.array([1.0, 1.0, 3.0])).tolist() == [25.0, 3.0, 0.0]
    assert reflected(changed(model, "actuator_trntype", 0, 1), np.array([2.0, 0.0, 0.0])).tolist() == [50.0, 0.0, 0.0]
    for joint in (-1, 3):
        assert not reflected(changed(model, "actuator_trnid", (0, 0), joint), np.array([2.0, 0.0, 0.0])).any()


def test_equalities_of_joints_are_followers_or_hold_them(model: Compiled) -> None:
    """q_1 - ref_1 = c_0 + c_1 (q_2 - ref_2), of slides and hinges."""
    model = changed(model, "qpos0", slice(0, 2), (0.25, 4.0))
    assert followers(model) == {0: (1, 2.0, 0.25 + 0.5 - 8.0)} and held(model) == {}
    still = changed(model, "eq_data", (0, 1), 0.0)
    assert held(still) == {0: 0.75} and followers(still) == {}
    model = changed(model, "eq_data", (0, 1), 2.0)
    for name, value in (
        ("eq_obj1id", 2),
        ("eq_obj1id", -1),
        ("eq_obj1id", 3),
        ("eq_obj2id", 3),
        ("eq_active0", 0),
        ("eq_type", 1),
    ):
        before = getattr(model, name).copy()
        assert followers(changed(model, name, 0, value)) == held(model) == {}, name
        setattr(model, name, before)
    assert held(changed(model, "eq_obj2id", 0, -1)) == {0: 0.75}
    for k in (2, 3, 4):
        curved = changed(model, "eq_data", (0, slice(2, 5)), np.eye(3)[k - 2])
        assert held(curved) == {0: 0.75}
        assert followers(changed(curved, "eq_obj2id", 0, 1)) == {}
        changed(curved, "eq_obj2id", 0, -1)


@pytest.mark.parametrize(
    ("name", "at", "value", "said"),
    [
        ("jnt_stiffness", 2, 1.0, ["springs of ball and free joints ('l')"]),
        ("jnt_stiffnesspoly", (2, 0), 1.0, ["springs of ball and free joints ('l')", "nonlinear springs ('l')"]),
        ("jnt_stiffness", 0, 1.0, []),
        ("jnt_springyield", 0, 1.0, []),
        ("jnt_stiffnesspoly", (0, 0), 1.0, ["nonlinear springs ('j')"]),
        ("jnt_actfrclimited", 1, 1, ["uneven force ranges of joints, whose larger side is the effort ('k')"]),
        ("jnt_actfrclimited", 2, 1, []),
        ("tendon_actfrclimited", 0, 1, ["force ranges of tendons"]),
        ("body_gravcomp", 2, 1.0, ["gravity compensation (gravcomp)"]),
        ("dof_dampingpoly", (0, 0), 1.0, ["nonlinear damping"]),
        ("actuator_dampingpoly", (0, 0), 1.0, ["nonlinear damping"]),
    ],
)
def test_forces_that_are_not_applied_are_said(model: Compiled, name: str, at: Any, value: Any, said: list[str]) -> None:
    model.jnt_actfrcrange = np.array([[-1.0, 1.0], [-1.0, 2.0], [-1.0, 2.0]])
    assert list(unapplied_forces(changed(model, name, at, value), model.names["jnt"])) == said


def test_a_spring_that_yields_is_nonlinear(model: Compiled) -> None:
    yields = changed(changed(model, "jnt_stiffness", 0, 1.0), "jnt_springyield", 0, 1.0)
    assert unapplied_forces(yields, model.names["jnt"]) == ("nonlinear springs ('j')",)


def test_a_fluid_has_density_or_viscosity(model: Compiled) -> None:
    for name in ("density", "viscosity"):
        setattr(model, name, 0.5)
        assert unapplied_forces(model, model.names["jnt"]) == ("fluid forces (density, viscosity)",)
        setattr(model, name, 0.0)
    assert unapplied_forces(model, model.names["jnt"]) == ()


def test_mocap_bodies_are_counted(model: Compiled) -> None:
    names = model.names["body"]
    assert unmoved(model, names) == ()
    for count, said in ((1, "1 mocap body is fixed, as is what is welded to it: 'a'"), (2, "2 mocap bodies are fixed")):
        (text,) = unmoved(changed(model, "body_mocapid", slice(1, 1 + count), 0), names)
        assert text.startswith(said)
    assert text.endswith("as is what is welded to them: 'a', 'b'")


@pytest.mark.parametrize(
    "name",
    [
        *("tendon_stiffness", "tendon_stiffnesspoly", "tendon_damping", "tendon_dampingpoly"),
        *("tendon_armature", "tendon_frictionloss", "tendon_limited"),
        *("actuator_armature", "actuator_damping", "actuator_dampingpoly"),
    ],
)
def test_tendons_that_act_by_themselves_are_found(model: Compiled, name: str) -> None:
    """By what an actuator adds to them too, where its gear is not 0; one on a joint adds nothing."""
    assert mjcf._acting(model) == []
    at = 1 if name.startswith("actuator") else 0
    array = getattr(model, name)
    assert mjcf._acting(changed(model, name, at if array.ndim == 1 else (at, -1), 1)) == [0]
    if at:
        assert mjcf._acting(changed(model, "actuator_gear", (1, 0), 0.0)) == []
        changed(model, "actuator_gear", (1, 0), 1.0)
        assert mjcf._acting(changed(model, "actuator_trnid", (1, 0), 5)) == []
        assert mjcf._acting(changed(changed(model, name, slice(None), 0), name, 0, 1)) == []


def test_labels_are_names_or_places_or_numbers() -> None:
    section = Element("equality", {}, 2, [Element("joint", {"name": "e"}, 3), Element("weld", {}, 4)])
    root = Element("mujoco", {}, 1, [section])

    def label(names: list[str], i: int) -> str:
        return mjcf._Labels(SimpleNamespace(names={"eq": names}), root).label("eq", i)  # type: ignore[arg-type]

    assert [label(["e", ""], i) for i in range(2)] == ["'e' (line 3)", "<weld> (line 4)"]
    assert [label(["e0", "", "e"], i) for i in range(3)] == ["'e0'", "number 1", "'e' (line 3)"]


def test_a_model_that_cannot_be_read_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def damaged(*_: object) -> None:
        raise DamagedError("sizes")

    monkeypatch.setattr(mjcf, "read_compiled", damaged)
    (tmp_path / "a.xml").write_text(TEXT)
    with pytest.raises(ModelError, match=r"a\.xml: MuJoCo's compiler gave no model that can be read: sizes"):
        load_robot(tmp_path / "a.xml")


def test_numbers_that_are_too_large_are_refused(model: Compiled) -> None:
    """But ranges and gears, which `Actuator` and limits look at; an axis has a direction."""
    mjcf._check_finite(model, "f")
    for name in ("jnt_range", "jnt_actfrcrange", "actuator_gear", "actuator_ctrlrange", "actuator_forcerange"):
        before = getattr(model, name).copy()
        mjcf._check_finite(changed(model, name, 0, 1e31), "f")
        setattr(model, name, before)
    for name, value in (("body_mass", 1.1e30), ("site_pos", np.nan), ("gravity", np.inf)):
        before = getattr(model, name).copy()
        with pytest.raises(ModelError, match=r"f: a mass, an inertia, .* is not finite, or beyond 1e\+30"):
            mjcf._check_finite(changed(model, name, 0, value), "f")
        setattr(model, name, before)
    for name in ("actuator_armature", "actuator_damping"):  # which gears multiply
        with pytest.raises(ModelError, match="is not finite, or beyond"):
            mjcf._check_finite(changed(model, name, 0, 0.9e29), "f")
        changed(model, name, 0, 0.0)
    mjcf._check_finite(changed(model, "jnt_axis", 2, 0.0), "f")  # a ball joint has none
    with pytest.raises(ModelError, match="f: a joint's axis is zero once it is normalised"):
        mjcf._check_finite(changed(model, "jnt_axis", 0, 0.0), "f")


def test_negative_damping_or_friction_of_any_joint() -> None:
    assert not mjcf._is_negative(None, np.zeros(2)) and mjcf._is_negative(None, np.array([0.0, -1e-9]))


def test_loops_are_open_where_the_file_puts_its_bodies(model: Compiled) -> None:
    contacts = [
        Contact("c", other="a", anchor=Placement.from_rpy((1, 0, 0))),
        Contact("b", anchor=Placement.from_rpy()),
    ]
    (finding,) = opened(model, contacts, model.names["body"], "f")
    said = "f: contact 'b': is open at the file's own pose, by 1 m (robot.close(q) closes it)"
    assert (finding.severity, str(finding)) == ("note", said)


def test_a_saved_model_may_have_no_more_than_its_arrays() -> None:
    """A header of five numbers, then sizes, then arrays to the end."""

    def data(rows: int, more: bytes = b"") -> bytes:
        return np.array([54321, 8, 1, 0, 1], "<i4").tobytes() + np.array([rows], "<i8").tobytes() + more

    rows = (mjcf_tree.Row("body_mass", "<f8", "nbody", ("1",)),)
    schema = mjcf_tree.Schema(("nbody",), rows, {}, {})
    assert Bytes(data(0), schema).arrays == {"body_mass": (28, "<f8", 0, 1)}
    found = Bytes(data(2, np.array([1.5, 2.5]).tobytes()), schema)
    assert found.floats("body_mass").tolist() == [1.5, 2.5] and found.sizes == {"nbody": 2}
    for wrong, said in ((data(2, bytes(15)), "sizes"), (data(-1), "nbody = -1"), (data(1000), "nbody = 1000")):
        with pytest.raises(DamagedError, match=f"^{said}$"):
            Bytes(wrong, schema)


def test_a_quaternion_of_no_length_is_no_turn_and_others_are_made_unit() -> None:
    assert mjcf_model._place(np.ones(3), np.zeros(4)).rotation.tolist() == np.eye(3).tolist()
    half_turn = mjcf_model._place(np.ones(3), np.array([0.0, 0.0, 0.0, 2.0]))
    assert half_turn.rotation.tolist() == np.diag([-1.0, -1.0, 1.0]).tolist()


def test_a_control_has_a_range_where_it_is_limited() -> None:
    ranges = np.array([[1.0, 2.0], [3.0, 4.0]])
    assert [_limits(np.array([1, 0]), ranges, k) for k in (0, 1, -1, 2)] == [(1.0, 2.0), *[UNLIMITED] * 3]
