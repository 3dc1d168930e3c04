"""Shapes of hostile MJCF files: bounded, and never a file outside the folders (V4)."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

import condyle
from condyle.errors import CondyleError, ModelError, ModelWarning
from condyle.readers import shapes, xml
from condyle.readers.folders import Folders
from condyle.readers.mjcf_compiler import Limits, compile_tree, library
from condyle.readers.mjcf_model import DamagedError, take_files
from condyle.readers.mjcf_tree import read_tree, schema_of
from condyle.readers.shapes import read_visuals, visuals_of
from tests.hostile.test_mjcf_files import tetrahedron, write

BODY = '<worldbody><body name="a"><joint/><geom size="1"/>{}</body></worldbody>'
MESH = '<geom type="mesh" mesh="m" mass="0"/>'


@pytest.fixture(autouse=True)
def _mujoco() -> None:
    pytest.importorskip("mujoco")


def with_mesh(folder: Path, file: str, more: str = "") -> Path:
    return write(folder / "a.xml", f'{more}<asset><mesh name="m" file="{file}"/></asset>{BODY.format(MESH)}')


def test_v4_no_file_is_opened_unless_it_is_asked_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.stl")  # to open it would hang
    inertial = '<inertial pos="0 0 0" mass="1" diaginertia=".01 .01 .01"/>'
    body = f'<worldbody><body name="a"><joint/>{inertial}{MESH}</body></worldbody>'
    text = f'<asset><mesh name="m" file="pipe.stl"/></asset>{body}'
    condyle.load(write(tmp_path / "a.xml", text)).show(file=tmp_path / "a.svg")


@pytest.mark.parametrize("name", ["pipe.stl", "d/m.stl", "../away/m.stl", "/dev/zero", "/proc/self/environ"])
def test_v4_files_that_are_not_read(name: str, tmp_path: Path) -> None:
    home = tmp_path / "model"
    path = with_mesh(home, name)
    os.mkfifo(home / "pipe.stl")
    (tmp_path / "away").mkdir()
    (tmp_path / "away" / "m.stl").write_bytes(tetrahedron())
    (home / "d").symlink_to(tmp_path / "away")
    with pytest.warns(ModelWarning, match="leaves the model's directory|is not a regular file"):
        assert len(read_visuals(path)) == 1


@pytest.mark.parametrize("folder", ["/", "..", "d", "file:///"])
def test_v4_folders_of_meshes(folder: str, tmp_path: Path) -> None:
    path = with_mesh(tmp_path / "model", "away/m.stl", f'<compiler meshdir="{folder}"/>')
    (tmp_path / "away").mkdir()
    (tmp_path / "away" / "m.stl").write_bytes(tetrahedron())
    (tmp_path / "model" / "d").symlink_to(tmp_path)
    with pytest.warns(ModelWarning, match="leaves the model's directory|does not exist|is a URI"):
        assert len(read_visuals(path)) == 1


def test_v4_sizes(tmp_path: Path, monkeypatch) -> None:
    path = with_mesh(tmp_path, "m.stl")
    (tmp_path / "m.stl").write_bytes(tetrahedron())
    monkeypatch.setattr(shapes, "MOST_BYTES", 100)
    with pytest.warns(ModelWarning, match="is larger than 100 bytes: it is not drawn"):
        assert len(read_visuals(path)) == 1


@pytest.mark.parametrize(
    "data", [b"", b"\0" * 84, tetrahedron()[:100], tetrahedron().replace(b"\x80\x3f", b"\xc0\x7f")]
)
def test_v4_damaged_meshes(data: bytes, tmp_path: Path) -> None:
    path = with_mesh(tmp_path, "m.stl")
    (tmp_path / "m.stl").write_bytes(data)
    with pytest.raises(ModelError, match=r"a\.xml|m\.stl"):
        read_visuals(path)


@pytest.mark.parametrize(
    "text",
    [
        '<asset><mesh name="m" vertex="0 0 0"/></asset>' + BODY.format(MESH),
        BODY.format('<geom type="mesh" mesh="none"/>'),
        BODY.format('<geom size="nan"/>'),
        BODY.format('<geom type="box" size="1e300 1 1"/>'),
        BODY.format('<geom type="box" size="1"/>'),
        BODY.format('<geom size="1" pos="1e300 0 0"/>'),
        BODY.format('<plugin plugin="x"/>'),
        '<asset><hfield name="h" file="/etc/passwd" size="1 1 1 1"/></asset>' + BODY.format('<geom hfield="x"/>'),
    ],
)
def test_v4_files_that_are_wrong(text: str, tmp_path: Path) -> None:
    with pytest.raises(CondyleError):
        read_visuals(write(tmp_path / "a.xml", text))


def test_v4_height_fields_are_not_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.png")
    field = '<asset><hfield name="h" file="pipe.png" size="1 1 1 1"/></asset>'
    text = (
        f'{field}<worldbody><geom type="hfield" hfield="h"/><body name="a"><joint/><geom size="1"/></body></worldbody>'
    )
    assert [visual.link for visual in read_visuals(write(tmp_path / "a.xml", text))] == ["a"]


def test_v4_bytes_that_are_no_model(tmp_path: Path) -> None:
    """Nothing but DamagedError, whatever the child sends: the end of a good model is damaged at random."""
    schema = schema_of(library().parent / "include" / "mujoco")
    for data in (b"", bytes(10_000)):
        with pytest.raises(DamagedError):
            visuals_of(data, schema, {})
    path = with_mesh(tmp_path, "m.stl")
    (tmp_path / "m.stl").write_bytes(tetrahedron())
    root = read_tree(xml.parse(path.read_bytes(), str(path)), path, Folders(tmp_path))
    whole, _ = compile_tree(library(), root, take_files(root, Folders(tmp_path), 1 << 20), Limits())
    assert len(visuals_of(whole, schema, {})[0]) == 2
    random = np.random.default_rng(0)
    refused = 0
    for _ in range(300):
        data = bytearray(whole)
        for _ in range(20):
            data[int(random.integers(0, len(data)))] = int(random.integers(0, 256))
        at = int(random.integers(0, len(data) - 64))
        data[at : at + 64] = random.bytes(64)
        try:
            visuals_of(bytes(data), schema, {})
        except DamagedError:
            refused += 1
    assert refused > 30
