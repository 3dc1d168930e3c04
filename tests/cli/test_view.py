"""`condyle view` and `condyle info --graph`: files, errors, what a page prints."""

from __future__ import annotations

import sys
from xml.etree import ElementTree

import numpy as np
import pytest

import condyle
from condyle.cli import explain
from tests.cli.test_forged import TEXT, check_lines


def test_a_picture(run, tmp_path) -> None:
    out = tmp_path / "arm.svg"
    ran = run("view", "iiwa14", "--q=0,1,0,-1,0,0.5,0", "--out", str(out), "--view", "side", "--layers", "links,com")
    assert (ran.status, ran.out) == (0, f"wrote {out}\n")
    text = out.read_text()
    assert 'class="link"' in text and 'class="body"' not in text
    assert run("view", "iiwa14", "--out", str(out), "--json").json == {"file": str(out)}


def test_numbers_may_begin_with_a_minus_sign(run, tmp_path) -> None:
    out = tmp_path / "a.svg"
    for words in (
        ("--q", "-1,0,0,0,0,0,0"),
        ("--q=-1,0,0,0,0,0,0",),
        ("--ground", "-1,0,0,0.5"),
        ("--q", "-.5,0,0,0,0,0,0"),
    ):
        ran = run("view", "iiwa14", *words, "--out", str(out))
        assert (ran.status, ran.out) == (0, f"wrote {out}\n"), ran.err
    assert "spacing=-1.0, expected metres" in run("view", "iiwa14", "--spacing", "-1", "--out", str(out)).err
    assert "expected one argument" in run("view", "iiwa14", "--q", "--out", str(out)).err


def test_a_trajectory(run, tmp_path) -> None:
    np.savez(tmp_path / "way.npz", q=np.zeros((3, 11, 7)), dt=0.1)
    for more, seconds in ((), "1 s"), (("--dt", "0.5"), "5 s"):
        ran = run("view", "iiwa14", "--trajectory", str(tmp_path / "way.npz"), "--out", str(tmp_path / "a.svg"), *more)
        assert ran.status == 0, ran.err
        assert f"iiwa14, 3 robots, 11 states, {seconds}</text>" in (tmp_path / "a.svg").read_text()


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (("nobody",), 1, "does not exist"),
        (("iiwa14", "--trajectory", "none.npy"), 2, "none.npy: No such file or directory"),
        (("iiwa14", "--trajectory", "narrow.npy"), 2, "trajectory has shape (5, 6), expected (T, 7) or (N, T, 7)"),
        (("iiwa14", "--trajectory", "nan.npy"), 2, "trajectory: not finite in row 2"),
        (("iiwa14", "--trajectory", "nan.npy", "--q", "0"), 2, "give one of them"),
        (("iiwa14", "--q", "0,1"), 2, "q has shape (2,), expected (7,)"),
        (("iiwa14", "--q", "0,x"), 2, "'0,x' is not a list of numbers"),
        (("iiwa14", "--layers", "bones"), 2, "'bones' is not one of bodies, links"),
        (("iiwa14", "--contacts", "nobody"), 2, "contact 'nobody': there is no frame 'nobody'"),
        (("iiwa14", "--contacts", ","), 2, "',' is not a list of names of frames"),
        (("iiwa14", "--ground", "0,0,0,1"), 2, "'0,0,0,1' is not a plane: four numbers, not 0,0,0,D"),
        (("iiwa14", "--ground", "0,0,1,nan"), 2, "is not a plane"),
        (("iiwa14", "--trajectory", "pushed.npz"), 2, "there are no contacts; name them by contacts="),
        (
            ("iiwa14", "--trajectory", "pushed.npz", "--contacts", "iiwa_link_7"),
            2,
            "contact_forces has shape (5, 2, 6), expected one of (1, 6), (1, 5, 1, 6), (5, 1, 6)",
        ),
        (("iiwa14", "--port", "0"), 2, "'0' is not a port"),
        (("iiwa14", "--dt", "nan"), 2, "--dt is nan, expected the seconds between two states, more than 0"),
    ],
)
def test_errors(run, tmp_path, monkeypatch, words, status, said) -> None:
    monkeypatch.chdir(tmp_path)
    np.save("narrow.npy", np.zeros((5, 6)))
    q = np.zeros((5, 7))
    q[2, 3] = np.nan
    np.save("nan.npy", q)
    np.savez("pushed.npz", q=np.zeros((5, 7)), contact_forces=np.zeros((5, 2, 6)))
    ran = run("view", *words, "--out", "a.svg")
    assert ran.status == status
    assert said in ran.err
    assert not (tmp_path / "a.svg").exists()


def test_without_the_package_the_line_of_pip_is_said(run, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "viser", None)
    ran = run("view", "iiwa14")
    assert ran.status == 2
    assert "pip install 'condyle[view]'" in ran.err


def test_meshes_are_for_pages(run, pendulum, tmp_path) -> None:
    ran = run("view", pendulum(), "--meshes", "--out", str(tmp_path / "a.svg"))
    assert ran.status == 2
    assert "--meshes and --out: meshes are shown on a page, not in a picture; leave out one" in ran.err


def test_marks(run, tmp_path) -> None:
    force = np.tile((0.0, 0.0, 20.0), (5, 1, 1))
    np.savez(tmp_path / "way.npz", q=np.zeros((5, 7)), contact_forces=force)
    words = ("--contacts", "iiwa_link_7", "--ground", "0,0,2,-0.1", "--trajectory", str(tmp_path / "way.npz"))
    ran = run("view", "iiwa14", *words, "--out", str(tmp_path / "a.svg"))
    assert ran.status == 0, ran.err
    text = (tmp_path / "a.svg").read_text()
    assert "contact 'iiwa_link_7': point" in text.replace("&#x27;", "'")
    assert 'class="ground"' in text and "20 N" in text


def test_meshes_that_are_left_out_are_said(run, tmp_path, monkeypatch) -> None:
    from tests.view.test_meshes import robot_with

    said = []
    monkeypatch.setattr("condyle.view.serve", lambda *given: said.append(len(given[-1])) or FakePage())
    ran = run("view", str(robot_with(tmp_path, 'filename="none.stl"')), "--meshes", "--no-browser")
    assert ran.status == 0, ran.err
    assert "\nnote: " in f"\n{ran.err}" and "mesh 'none.stl', which does not exist: it is not drawn" in ran.err
    assert said == [1]


class FakePage:
    """A page that ends at once."""

    address = "http://127.0.0.1:1"

    def __enter__(self) -> FakePage:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def wait(self) -> None:
        pass


@pytest.mark.parametrize(
    ("words", "displays", "given"),
    [
        ((), {"DISPLAY": ":0"}, {"browser": True, "port": 8080}),
        ((), {"WAYLAND_DISPLAY": "w"}, {"browser": True}),
        ((), {}, {"browser": False, "spacing": None, "layers": None}),
        (("--no-browser",), {"DISPLAY": ":0"}, {"browser": False}),
        (("--port", "1"), {}, {"port": 1}),
        (("--port", "65535", "--spacing", "0.5"), {}, {"port": 65535, "spacing": 0.5}),
        (("--layers", "com,links"), {}, {"layers": ("com", "links")}),
        (("--dt", "0.5"), {}, {"dt": 0.5}),
    ],
)
def test_a_page_is_asked_for_as_it_was_typed(run, monkeypatch, words, displays, given) -> None:
    heard = []
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    for name, value in displays.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("condyle.Robot.show", lambda self, q, **options: heard.append((q, options)) or FakePage())
    ran = run("view", "iiwa14", *words)
    assert (ran.status, ran.out) == (0, "http://127.0.0.1:1 shows iiwa14; Ctrl-C ends it\n")
    ((q, options),) = heard
    assert q is None and "meshes" not in options
    assert {name: options[name] for name in given} == given
    assert run("view", "iiwa14", *words, "--json").json == {"address": "http://127.0.0.1:1"}


def test_a_page_waits_until_its_user_ends_it(run, monkeypatch) -> None:
    waited = []
    monkeypatch.setattr(FakePage, "wait", lambda self: waited.append(self))
    monkeypatch.setattr("condyle.Robot.show", lambda self, q, **options: FakePage())
    assert run("view", "iiwa14").status == 0 and len(waited) == 1


@pytest.mark.parametrize("port", ["0", "65536", "-1", "x", ""])
def test_what_is_no_port_is_refused(run, port: str) -> None:
    refused = run("view", "iiwa14", f"--port={port}")
    assert refused.status == 2 and f"{port!r} is not a port, 1 to 65535" in refused.err


@pytest.mark.parametrize("ground", ["0,0,1", "0,0,1,0,0", "0,0,0,1", "0,inf,1,0"])
def test_what_is_no_plane_is_refused(run, ground: str) -> None:
    refused = run("view", "iiwa14", "--ground", ground)
    assert refused.status == 2 and "is not a plane" in refused.err


def test_a_chain_is_not_indented(run) -> None:
    lines = run("info", "iiwa14", "--graph").out.splitlines()
    assert lines[0].split() == ["world", "welded", "to", "it:", "base", "5", "kg"]
    assert [line.split()[0] for line in lines[1:]] == [f"iiwa_joint_{k}" for k in range(1, 8)]
    assert lines[1].split("  ")[-1] == "revolute q[0] -> iiwa_link_1 5.76 kg"
    assert run("info", "--graph", "iiwa14").out.splitlines() == lines


def test_branches_are(run) -> None:
    lines = run("info", "hyq", "--floating-base", "--graph").out.splitlines()
    assert lines[1].startswith("root_joint ") and "free q[0:7] -> base_link_0" in lines[1]
    assert [line[:4] for line in lines[2:14]] == ["|-- ", *["|   "] * 2] * 3 + ["`-- ", *["    "] * 2]
    assert "begins a branch" in lines[-1]
    assert run("info", "hyq", "--graph", "--json").json["graph"][-1] == lines[-1]


def test_a_graph_as_svg(run, tmp_path, pendulum) -> None:
    out = tmp_path / "tree.svg"
    assert run("info", "atlas", "--graph", str(out)).out == f"wrote {out}\n"
    root = ElementTree.fromstring(out.read_text())
    title, *names = [item for item in root.iter() if item.tag.endswith("text") and item.get("class") != "said"]
    circles = [item for item in root.iter() if item.tag.endswith("circle")]
    assert len(circles) == len(names) == 31
    assert circles[0].get("cx") == title.get("x"), "the tree begins under its title"
    assert all(
        float(name.get("x", 0)) - float(ball.get("cx", 0)) == 12 for name, ball in zip(names, circles, strict=True)
    )
    assert sum(item.tag.endswith("path") for item in root.iter()) == 30
    ran = run("info", "atlas", "--graph", str(tmp_path / "none" / "tree.svg"))
    assert ran.status == 2 and "expected a .svg file in a folder that exists" in ran.err


TREE = """<robot name="fork"><link name="base"/>
  <link name="a"><inertial><mass value="1.5"/>
    <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="b"><inertial><mass value="2"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="c"><inertial><mass value="3"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="trunk" type="continuous"><parent link="base"/><child link="a"/></joint>
  <joint name="left" type="continuous"><parent link="a"/><child link="b"/></joint>
  <joint name="right" type="continuous"><parent link="a"/><child link="c"/><mimic joint="left"/></joint></robot>"""


def test_a_fork_has_its_lines_and_places(run, pendulum, tmp_path) -> None:
    """A row is 22 high, a branch 22 further right; letters of joints are 8 wide, others 7."""
    path = pendulum(text=TREE)
    assert run("info", path, "--graph").out.splitlines()[:4] == [
        "world      welded to it: base 0 kg",
        "trunk      continuous q[0] -> a 1.5 kg",
        "|-- left   continuous q[1] -> b 2 kg",
        "`-- right  continuous follows left -> c 3 kg",
    ]
    out = tmp_path / "a.svg"
    assert run("info", path, "--graph", str(out)).status == 0
    root = ElementTree.fromstring(out.read_text())
    tags = [(item.tag.partition("}")[2], item.attrib) for item in root.iter()]
    column = 14 + 22 + 12 + 8 * len("right") + 16
    wide = column + 7 * len("continuous follows left -> c 3 kg") + 16
    assert (root.get("width"), root.get("height")) == (str(wide), str(40 + 4 * 22 + 12))
    circles = [(item["cx"], item["cy"]) for tag, item in tags if tag == "circle"]
    assert circles == [("14", "51"), ("14", "73"), ("36", "95"), ("36", "117")]
    paths = [item["d"] for tag, item in tags if tag == "path"]
    assert paths == ["M14 51V73H14", "M14 73V95H36", "M14 73V117H36"]
    texts = [(item["x"], item["y"]) for tag, item in tags if tag == "text"][1:]
    assert texts[::2] == [("26", "55.5"), ("26", "77.5"), ("48", "99.5"), ("48", "121.5")]
    assert texts[1::2] == [(str(column), y) for _, y in texts[::2]]


def test_a_fork_at_the_world_has_no_line_above_it() -> None:
    builder = condyle.Builder()
    for name in "abc":
        builder.body(name, mass=1.0, com=(0.1, 0.0, 0.0), inertia=0.02 * np.eye(3))
        builder.joint(f"j{name}", parent="b" if name == "c" else "world", child=name, type="revolute")
    robot = builder.build()
    rows = [(row.depth, row.begins, row.parent, row.joint, row.open) for row in explain.rows(robot)]
    assert rows == [
        (0, False, -1, "world", ()),
        (1, True, 0, "ja", (1,)),
        (1, True, 0, "jb", ()),
        (1, False, 2, "jc", ()),
    ]


def test_forged_names(run, tmp_path, pendulum) -> None:
    model = pendulum(text=TEXT)
    for words in (("view", model, "--out", str(tmp_path / "a.svg")), ("info", model, "--graph")):
        ran = run(*words)
        assert ran.status == 0
        check_lines(ran.out + ran.err)
    run("info", model, "--graph", str(tmp_path / "b.svg"))
    for name in ("a.svg", "b.svg"):
        ElementTree.fromstring((tmp_path / name).read_text())
        check_lines((tmp_path / name).read_text())
