"""The options of loading that MJCF files have, on the command line."""

from __future__ import annotations

import pytest

BODY = '<body><joint/><geom type="mesh" mesh="m"/></body>'
TEXT = f'<mujoco><asset><mesh name="m" {{}}/></asset><worldbody>{BODY}</worldbody></mujoco>'
CORNERS = "0 0 0 .1 0 0 0 .1 0 0 0 .1"


@pytest.fixture
def scene(tmp_path):
    pytest.importorskip("mujoco")
    path = tmp_path / "a.xml"

    def write(mesh: str) -> str:
        path.write_text(TEXT.format(mesh), encoding="utf-8")
        return str(path)

    return write


def test_allowed_folders(run, scene, tmp_path) -> None:
    inner = tmp_path / "b"
    inner.mkdir()
    faces = "f 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"
    (tmp_path / "m.obj").write_text("v 0 0 0\nv .1 0 0\nv 0 .1 0\nv 0 0 .1\n" + faces)
    path = inner / "a.xml"
    path.write_text(TEXT.format('file="../m.obj"'))
    refused = run("info", str(path))
    assert refused.status == 1 and f"--assets {tmp_path}" in refused.err
    assert run("info", str(path), "--assets", str(tmp_path)).status == 0


def test_limits(run, scene) -> None:
    path = scene('builtin="supersphere" params="900 1 1"')
    slow = run("info", path, "--timeout", "0.2")
    assert slow.status == 1 and "--timeout" in slow.err
    large = run("info", path, "--memory", "100M")
    assert large.status == 1 and "needs more than 100 MiB" in large.err and "--memory" in large.err
    assert run("info", scene(f'vertex="{CORNERS}"'), "--memory", "1G", "--timeout", "30").status == 0


@pytest.mark.parametrize(
    ("option", "value"), [("--memory", "two"), ("--memory", "0"), ("--timeout", "-1"), ("--timeout", "x")]
)
def test_limits_that_are_none(option: str, value: str, run, scene) -> None:
    bad = run("info", scene(f'vertex="{CORNERS}"'), f"{option}={value}")
    assert bad.status == 2 and option.strip("-") in bad.err
