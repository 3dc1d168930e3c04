"""Which files an MJCF file may have opened: none outside allowed folders, none that is not regular (M6)."""

from __future__ import annotations

import os
import struct
from pathlib import Path

import pytest

from condyle.errors import ModelError
from condyle.readers import load_robot

SOLID = '<body name="a"><joint name="j"/>{}<geom type="mesh" mesh="m"/></body>'
INERTIAL = '<inertial pos="0 0 0" mass="3" diaginertia=".01 .01 .01"/>'
MESH = '<asset><mesh name="m" file="{}"/></asset>'


@pytest.fixture(autouse=True)
def _mujoco() -> None:
    pytest.importorskip("mujoco")


def tetrahedron(size: float = 1.0) -> bytes:
    """A binary STL file."""
    corners = ((0, 0, 0), (size, 0, 0), (0, size, 0), (0, 0, size))
    faces = ((0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3))
    packed = (struct.pack("<12fH", 0, 0, 0, *(x for k in face for x in corners[k]), 0) for face in faces)
    return bytes(80) + struct.pack("<I", 4) + b"".join(packed)


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"<mujoco>\n{text}\n</mujoco>", encoding="utf-8")
    return path


def scene(folder: Path, file: str = "m.stl", inertial: str = "", more: str = "") -> Path:
    return write(
        folder / "model" / "a.xml", f"{more}{MESH.format(file)}<worldbody>{SOLID.format(inertial)}</worldbody>"
    )


def mass(path: Path, *assets: Path) -> float:
    return load_robot(path, assets=assets).bodies[0].mass


def test_m6_links_that_leave_the_folder(tmp_path: Path) -> None:
    """A link to a file, and links to folders under meshdir and assetdir."""
    away = tmp_path / "away"
    away.mkdir()
    (away / "m.stl").write_bytes(tetrahedron())
    path = scene(tmp_path, "m.stl")
    (tmp_path / "model" / "m.stl").symlink_to(away / "m.stl")
    with pytest.raises(
        ModelError, match=r"a\.xml:2: <mesh> file='m.stl' leaves the model's directory .*--assets.*link"
    ) as caught:
        mass(path)
    assert f"assets=({str(away)!r},)" in str(caught.value)  # the folder of the link is allowed already
    (tmp_path / "model" / "d").symlink_to(away)
    for folder in ("meshdir", "assetdir"):
        path = scene(tmp_path, "m.stl", more=f'<compiler {folder}="d"/>')
        with pytest.raises(ModelError, match="leaves the model's directory"):
            mass(path)
    assert mass(path, away) == pytest.approx(1000 / 6)


@pytest.mark.parametrize("where", ["mesh", "include"])
def test_a_name_that_the_system_does_not_take_is_refused(where: str, tmp_path: Path) -> None:
    file = "a" * 300 + ".stl"
    path = scene(tmp_path, file) if where == "mesh" else scene(tmp_path, more=f'<include file="{file}"/>')
    with pytest.raises(ModelError, match=r"a\.xml:2: .* cannot be read: .*File name too long"):
        mass(path)


@pytest.mark.parametrize("where", ["mesh", "include"])
def test_m6_a_pipe_neither_hangs_nor_is_opened(where: str, tmp_path: Path) -> None:
    (tmp_path / "model").mkdir()
    os.mkfifo(tmp_path / "model" / "pipe.stl")
    path = scene(tmp_path, "pipe.stl") if where == "mesh" else scene(tmp_path, more='<include file="pipe.stl"/>')
    with pytest.raises(ModelError, match="is not a regular file"):
        mass(path)
    with pytest.raises(OSError, match="No such device or address"):  # nobody reads
        os.open(tmp_path / "model" / "pipe.stl", os.O_WRONLY | os.O_NONBLOCK)


@pytest.mark.parametrize("device", ["/dev/zero", "/dev/stdin", "/proc/self/environ"])
def test_m6_devices(device: str, tmp_path: Path) -> None:
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "m.stl").symlink_to(device)
    with pytest.raises(ModelError, match=r"leaves the model's directory|cannot be read|does not exist"):
        mass(scene(tmp_path))


def test_an_allowed_folder(tmp_path: Path) -> None:
    (tmp_path / "meshes").mkdir()
    (tmp_path / "meshes" / "m.stl").write_bytes(tetrahedron())
    path = scene(tmp_path, more='<compiler meshdir="../meshes"/>')
    with pytest.raises(ModelError, match=rf"assets=\('{tmp_path}/meshes',\)"):
        mass(path)
    assert mass(path, tmp_path / "meshes") == pytest.approx(1000 / 6)
    with pytest.raises(ModelError, match=r"assets: '.*none' is not a folder"):
        mass(path, tmp_path / "none")
    with pytest.raises(ModelError, match="expected several folders"):
        load_robot(path, assets=str(tmp_path))


def test_files_that_change_no_mass_are_not_looked_for(tmp_path: Path) -> None:
    """Textures, height fields under the world, skins, meshes of pictures: outside, missing or pipes, no matter."""
    away = "../../../../../away/none"
    assets = (
        f'<asset><texture name="t" type="2d" file="{away}.png"/><material name="x" texture="t"/>'
        f'<hfield name="h" file="{away}.png" size="1 1 1 1"/><mesh name="v" file="{away}.stl"/>'
        f'<skin file="{away}.skn"/></asset><default><default class="v"><geom mass="0" material="x"/></default>'
        "</default>"
    )
    world = (
        '<worldbody><geom type="hfield" hfield="h"/><body><geom type="mesh" mesh="v"/></body>'
        '<body name="a"><joint/><geom class="v" type="mesh" mesh="v"/><geom size=".1" mass="2" material="x"/></body>'
        f'<body name="b"><joint/>{INERTIAL}<geom type="mesh" mesh="v" mass="7"/></body></worldbody>'
    )
    robot = load_robot(write(tmp_path / "a.xml", assets + world))
    assert [body.mass for body in robot.bodies] == [2.0, 3.0]


@pytest.mark.parametrize(
    ("more", "inertial"),
    [("", ""), ('<compiler inertiafromgeom="true"/>', INERTIAL), ("<default><geom density='3'/></default>", "")],
)
def test_files_that_may_change_a_mass_are_looked_for(more: str, inertial: str, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"a\.xml:2: <mesh> file='m.stl', which does not exist"):
        mass(scene(tmp_path, inertial=inertial, more=more))


def test_static_bodies_count_when_they_float(tmp_path: Path) -> None:
    path = write(tmp_path / "a.xml", MESH.format("m.stl") + '<worldbody><body><geom type="mesh" mesh="m"/>'
                 '<body><joint/><geom size=".1"/></body></body></worldbody>')  # fmt: skip
    assert load_robot(path).nv == 1
    with pytest.raises(ModelError, match="does not exist"):
        load_robot(path, floating_base=True)
    (tmp_path / "m.stl").write_bytes(tetrahedron())
    assert load_robot(path, floating_base=True).bodies[0].mass == pytest.approx(1000 / 6)


# which of two files is meant, by MuJoCo's rules: size 1 or 2 tells
PLACES = {
    "beside the model": ("", "", "m.stl", {"m.stl": 1, "x/m.stl": 2}),
    "in meshdir": ('<compiler meshdir="x"/>', "", "m.stl", {"m.stl": 2, "x/m.stl": 1}),
    "the last of two": ('<compiler meshdir="y"/><compiler assetdir="x/"/>', "", "m.stl", {"x/m.stl": 1, "y/m.stl": 2}),
    "meshdir before assetdir": ('<compiler assetdir="y" meshdir="x"/>', "", "m.stl", {"x/m.stl": 1, "y/m.stl": 2}),
    "stripped": ('<compiler strippath="true"/>', "", "y/m.stl", {"m.stl": 1, "y/m.stl": 2}),
    "below meshdir": ('<compiler meshdir="x"/>', "", "y/m.stl", {"x/y/m.stl": 1, "y/m.stl": 2}),
    "from an included file, the model's": ("", "s/", "m.stl", {"m.stl": 1, "s/m.stl": 2}),
    "from an included file, its own": ("", "s/", "m.stl", {"s/m.stl": 1}),
    "its own, without meshdir": ('<compiler meshdir="x"/>', "s/", "m.stl", {"s/m.stl": 1, "s/x/m.stl": 2}),
}


@pytest.mark.parametrize("case", PLACES)
def test_a_file_is_the_one_that_mujoco_means(case: str, tmp_path: Path) -> None:
    import mujoco

    compiler, included, file, sizes = PLACES[case]
    for name, size in sizes.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(tetrahedron(size))
    asset = MESH.format(file)
    if included:
        write(tmp_path / included / "part.xml", asset)
        asset = f'<include file="{included}part.xml"/>'
    path = write(tmp_path / "a.xml", f"{compiler}{asset}<worldbody>{SOLID.format('')}</worldbody>")
    theirs = mujoco.MjModel.from_xml_path(str(path)).body_mass[1]
    assert mass(path) == pytest.approx(theirs) == pytest.approx(1000 / 6)


def test_includes_are_found_as_mujoco_finds_them(tmp_path: Path) -> None:
    """Beside the main file first, then beside the including one; lines of errors are the included file's."""
    body = '<worldbody><body name="{}"><joint/><geom size=".1"/></body></worldbody>'
    write(tmp_path / "s" / "b.xml", body.format("near"))
    write(tmp_path / "s" / "a.xml", '<include file="b.xml"/>')
    path = write(tmp_path / "main.xml", '<include file="s/a.xml"/>')
    assert load_robot(path).body_names == ("near",)
    write(tmp_path / "b.xml", body.format("main"))
    assert load_robot(path).body_names == ("main",)
    write(tmp_path / "b.xml", "\n\n" + body.format("main").replace("<joint", '<joint tpe="hinge"'))
    with pytest.raises(ModelError, match=r"b\.xml:4: .*Schema violation.*line 4"):
        load_robot(path)
    write(tmp_path / "b.xml", "")
    with pytest.raises(ModelError, match="which is empty"):
        load_robot(path)


def test_what_was_checked_is_what_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file's name is turned into a link to a secret between the check and the reading."""
    from condyle.readers.folders import Folders

    (tmp_path / "model").mkdir()
    secret, name = tmp_path / "secret", tmp_path / "model" / "m.stl"
    secret.write_text("secret")
    name.write_text("fine")
    real = os.fstat

    def swap(handle: int) -> os.stat_result:
        name.unlink()
        name.symlink_to(secret)
        return real(handle)

    monkeypatch.setattr(os, "fstat", swap)
    path, data = Folders(tmp_path / "model").read((name,), 100, "m.stl", ("a.xml", 1))
    assert (path, data) == (name, b"fine")


def test_too_large(tmp_path: Path) -> None:
    (tmp_path / "model").mkdir()
    with (tmp_path / "model" / "m.stl").open("wb") as stream:
        stream.truncate(300 << 20)
    with pytest.raises(ModelError, match="larger than"):
        mass(scene(tmp_path))
