"""Pictures: well formed, the same every time, no text of a model unescaped, ellipsoids as they are seen."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

import condyle
from benchmarks import robot_figures
from condyle import Contact
from condyle.errors import UnsupportedError
from condyle.ground import Plane
from condyle.specification.integrators import LAYERS, VIEWS
from condyle.view.ground import Ground
from condyle.view.picture import HEIGHT, WIDTH, camera

SVG = "{http://www.w3.org/2000/svg}"
NASTY = "a<script>alert('x')</script>&\"\u202eb\n]]>"


def drawn(path: Path) -> ElementTree.Element:
    return ElementTree.fromstring(path.read_text(encoding="utf-8"))


def of_class(root: ElementTree.Element, word: str) -> list[ElementTree.Element]:
    return [item for item in root.iter() if item.get("class", "").split()[:1] == [word]]


def nasty() -> condyle.Robot:
    inertia = np.diag([1e-3, 1e-3, 2e-3])
    build = condyle.Builder(NASTY).body("base").body(f"link {NASTY}", mass=1.0, com=(0, 0, 0.1), inertia=inertia)
    return build.joint(
        f"joint {NASTY}", parent="base", child=f"link {NASTY}", type="continuous", axis=(0, 0, 1)
    ).build()


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("name", ["iiwa14", "hyq", "atlas"])
def test_pictures_hold_every_part_and_stay_inside(tmp_path, name, view) -> None:
    robot = condyle.load(name, floating_base=name != "iiwa14")
    path = tmp_path / "robot.svg"
    assert robot.show(file=path, view=view) is None
    root = drawn(path)
    bodies = [item for item in of_class(root, "body") if item.tag == f"{SVG}ellipse"]
    assert len(bodies) == len(robot.bodies) + (robot.base is not None)
    assert len(of_class(root, "axis")) == sum(joint.kind.axes for joint in robot.joints) + 1  # and the legend
    for item in root.iter(f"{SVG}text"):
        assert 0.0 <= float(item.get("x")) <= WIDTH and 0.0 <= float(item.get("y")) <= HEIGHT
    for item in root.iter(f"{SVG}polyline"):
        points = np.array(re.findall(r"-?[0-9.]+", item.get("points")), float)
        assert (points >= 0.0).all() and (points <= max(WIDTH, HEIGHT)).all()
    letters = {item.text for item in of_class(root, "tick")}
    assert len({"x [m]", "y [m]", "z [m]"} & letters) == (3 if view == "iso" else 2)


def test_the_same_picture_is_the_same_text(tmp_path) -> None:
    for name in ("a.svg", "b.svg"):
        condyle.load("atlas").show(file=tmp_path / name)
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()


def test_names_are_escaped(tmp_path) -> None:
    path = tmp_path / "robot.svg"
    nasty().show(file=path)
    text = path.read_text()
    assert "<script" not in text and "\u202e" not in text and "]]>" not in text
    root = drawn(path)
    assert {item.tag.removeprefix(SVG) for item in root.iter()} <= {
        "svg", "title", "style", "rect", "text", "polyline", "ellipse"
    }  # fmt: skip
    shown = NASTY.replace("\u202e", "\\u202e").replace("\n", "\\n")
    assert of_class(root, "title")[0].text == shown
    assert f"link {shown}: 1 kg" in [item.text for item in root.iter(f"{SVG}title")]
    assert f"joint {shown}: continuous" in [item.text for item in root.iter(f"{SVG}title")]


@pytest.mark.parametrize("layer", LAYERS)
def test_layers_can_be_left_out(tmp_path, layer) -> None:
    robot = condyle.load("iiwa14")
    kind = {"bodies": "body", "links": "link", "axes": "axis", "frames": "x", "names": "name", "forces": "force"}
    kind |= {"contacts": "contact", "limits": "limit"}
    more = {"forces": {"iiwa_link_7": (0, 0, 10)}}
    if layer in ("contacts", "ground"):
        more |= {"contacts": [Contact("iiwa_link_7")], "ground": Plane()}
    for layers, there in ((LAYERS, True), ([word for word in LAYERS if word != layer], False)):
        robot.show(file=tmp_path / "a.svg", layers=layers, **more)
        assert bool(of_class(drawn(tmp_path / "a.svg"), kind.get(layer, layer))) is there


def test_long_trajectories_are_short_files(tmp_path) -> None:
    q = np.linspace(0.0, 1.0, 5001)[:, None] * np.ones(7)
    condyle.load("iiwa14").show(trajectory=q, file=tmp_path / "a.svg", layers=("links", "com"))
    (path,) = of_class(drawn(tmp_path / "a.svg"), "path")
    assert 300 < len(path.get("points").split()) <= 400
    opacities = {item.get("opacity", "1") for item in of_class(drawn(tmp_path / "a.svg"), "link")}
    assert len(opacities) == 5


def test_themes(tmp_path) -> None:
    texts = {}
    for theme in ("auto", "light", "dark"):
        condyle.load("iiwa14").show(file=tmp_path / "a.svg", theme=theme)
        texts[theme] = (tmp_path / "a.svg").read_text()
    assert ["prefers-color-scheme" in text for text in texts.values()] == [True, False, False]
    assert ".paper{fill:#ffffff}" in texts["light"] and ".paper{fill:#15181b}" in texts["dark"]


def test_a_sphere_is_seen_as_a_circle_and_a_rod_as_its_shadow() -> None:
    for view in VIEWS:
        first, second, _ = camera(view).outline(0.3 * np.eye(3))
        assert first == pytest.approx(0.3) and second == pytest.approx(0.3)
    first, second, angle = camera("side").outline(np.diag([0.1, 0.2, 0.5]))
    assert (first, second) == (pytest.approx(0.5), pytest.approx(0.1))
    assert angle == pytest.approx(np.pi / 2)
    first, second, angle = camera("front").outline(np.diag([0.1, 0.2, 0.5])[:, ::-1])
    assert (first, second, angle) == (pytest.approx(0.5), pytest.approx(0.2), pytest.approx(np.pi / 2))


def test_the_ground_is_under_the_points() -> None:
    ground = Ground.under(np.array([(-0.21, 0.0, 0.3), (0.9, 0.4, 1.1)]), 0.0)
    assert ground.step == pytest.approx(0.2)
    np.testing.assert_allclose((ground.low, ground.high), [(-0.4, 0.0, 0.0), (1.0, 0.4, 1.1)])
    assert ground.ticks(1) == pytest.approx([0.0, 0.2, 0.4])


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"file": "a.jpg"}, "a picture is a .svg or a .png file"),
        ({"file": "none/a.svg"}, "there is no folder 'none': make it"),
        ({"file": "a.svg", "view": "above"}, "view='above', expected one of iso, front, side, top"),
        ({"file": "a.svg", "theme": "grey"}, "theme='grey', expected one of auto, light, dark"),
        ({"file": "a.svg", "layers": ("bones",)}, "layers: 'bones' is not one of bodies, links"),
        ({"file": "a.svg", "layers": "bodies"}, r"expected several words, such as \('bodies',\)"),
        ({"file": "a.svg", "layers": 5}, r"layers=5, expected several words, such as \('bodies',\)"),
        ({"meshes": 5}, "meshes=5, expected the path of the robot's model file"),
        ({"file": "a.svg", "dt": 0.0}, "dt is 0.0, expected the seconds between two states, more than 0"),
    ],
)
def test_words_that_are_none(tmp_path, monkeypatch, words, said) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UnsupportedError, match=said):
        condyle.load("iiwa14").show(**words)
    assert not list(tmp_path.iterdir())


def test_png(tmp_path) -> None:
    pytest.importorskip("matplotlib", reason="needs matplotlib: pip install 'condyle[plots]'")
    from matplotlib.image import imread

    for theme in ("light", "dark"):
        condyle.load("iiwa14").show(file=tmp_path / f"{theme}.png", theme=theme)
    light, dark = (imread(tmp_path / f"{theme}.png") for theme in ("light", "dark"))
    assert light.shape[:2] == (960, 1140)
    assert light[..., :3].mean() > 0.9 and dark[..., :3].mean() < 0.2
    assert light[..., :3].std() > 0.05  # something is drawn


def test_the_pictures_of_the_page_are_those_of_the_program(tmp_path) -> None:
    robot_figures.main(tmp_path)
    for path in tmp_path.iterdir():
        assert path.read_text() == (robot_figures.FOLDER / path.name).read_text(), path.name
    assert len(list(tmp_path.iterdir())) == 6


def test_a_folder_that_takes_no_file() -> None:
    with pytest.raises(UnsupportedError, match=r"^/proc/a.svg cannot be written: "):
        condyle.load("iiwa14").show(file="/proc/a.svg")
