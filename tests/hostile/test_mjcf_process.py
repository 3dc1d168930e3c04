"""MJCF files that crash MuJoCo's compiler, hang it or eat memory: an error here, soon, and what to do (H1, M1)."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

import pytest

from condyle.errors import ModelError
from condyle.readers import load_robot, mjcf_tree
from condyle.readers import mjcf_compiler as mjcf_compiler
from condyle.readers import mjcf_model as mjcf_model
from condyle.readers.mjcf_actuators import read_actuators

BODY = '<body name="a"><joint name="j"/><geom {}/></body>'
ROUND = BODY.format('size=".1"')
SOLID = BODY.format('type="mesh" mesh="m"')


@pytest.fixture(autouse=True)
def _mujoco() -> None:
    pytest.importorskip("mujoco")


def write(folder: Path, world: str = ROUND, outside: str = "") -> Path:
    path = folder / "bad.xml"
    path.write_text(f"<mujoco>\n<worldbody>\n{world}\n</worldbody>\n{outside}\n</mujoco>", encoding="utf-8")
    return path


@pytest.mark.parametrize("key", ["class", "childclass", "name"])
def test_h1_per_cent_signs_are_refused_with_file_and_line(key: str, tmp_path: Path) -> None:
    world = f'<body {key}="%s%n"><geom size="1"/></body>' if key != "class" else '<geom class="%s%n" size="1"/>'
    with pytest.raises(ModelError, match=rf"bad.xml:3: .*{key}='%s%n' has a per cent sign"):
        load_robot(write(tmp_path, world))


@pytest.mark.parametrize("text", ["%s%n", "%s%s%s%s%s%s%s%s%s%s"])
def test_h1_a_compiler_that_dies_is_a_model_error(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The child alone, without the check of names before it."""
    monkeypatch.setattr("condyle.readers.mjcf_tree._formats", lambda node: [])
    with pytest.raises(ModelError, match=r"bad.xml.*died on this file \(SIG(ABRT|SEGV)"):
        load_robot(write(tmp_path, f'<body><joint class="{text}"/><geom size="1"/></body>'))


def test_m1_simulated_length_ranges_are_not_computed(tmp_path: Path) -> None:
    outside = '<compiler><lengthrange mode="all" inttotal="1e9"/></compiler><actuator><motor joint="j"/></actuator>'
    assert load_robot(write(tmp_path, outside=outside), timeout=20).nv == 1


def test_m1_an_infinite_offset(tmp_path: Path) -> None:
    world = f'<replicate count="3" offset="inf 0 0">{ROUND}</replicate>'
    with pytest.raises(ModelError, match=r"bad\.xml:3: <replicate> offset='inf 0 0' is not finite"):
        load_robot(write(tmp_path, world))


def test_m1_memory(tmp_path: Path) -> None:
    mesh = '<asset><mesh name="m" builtin="cone" params="100000000 1"/></asset>'
    with pytest.raises(ModelError, match=r"needs more than 1024 MiB .*memory=.*--memory"):
        load_robot(write(tmp_path, SOLID, mesh), memory=1 << 30)


def test_m1_time(tmp_path: Path) -> None:
    mesh = '<asset><mesh name="m" builtin="supersphere" params="3000 1 1"/></asset>'
    with pytest.raises(ModelError, match=r"takes more than 1 s .*timeout=.*--timeout"):
        load_robot(write(tmp_path, SOLID, mesh), timeout=1, memory=8 << 30)


def test_no_child_is_left_after_its_time(tmp_path: Path) -> None:
    mesh = '<asset><mesh name="m" builtin="supersphere" params="3000 1 1"/></asset>'
    with pytest.raises(ModelError, match=r"takes more than 0\.5 s"):
        load_robot(write(tmp_path, SOLID, mesh), timeout=0.5)
    children = Path(f"/proc/self/task/{threading.get_native_id()}/children").read_text().split()
    commands = [Path(f"/proc/{child}/cmdline").read_bytes() for child in children]
    assert not any(b"mjcf_process" in command for command in commands)


@pytest.mark.parametrize("options", [{"timeout": 0}, {"timeout": float("nan")}, {"memory": -1}, {"memory": "2G"}])
def test_limits_that_are_none(options: dict[str, float], tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="expected a positive number of"):
        load_robot(write(tmp_path), **options)  # pyright: ignore[reportArgumentType]


def test_too_little_memory_for_the_compiler_itself(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="needs more than 10 MiB"):
        load_robot(write(tmp_path), memory=10 << 20)


def test_the_parent_imports_no_mujoco(tmp_path: Path) -> None:
    code = "import sys, condyle; condyle.load(sys.argv[1]); assert 'mujoco' not in sys.modules"
    subprocess.run([sys.executable, "-c", code, str(write(tmp_path))], check=True)


def test_threads_load_beside_each_other(tmp_path: Path) -> None:
    path, found = write(tmp_path), list[int]()
    threads = [threading.Thread(target=lambda: found.append(load_robot(path).nv)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [1, 1, 1, 1]


DRIVEN = """<tendon><fixed name="t"><joint joint="j" coef="2"/></fixed></tendon>
<actuator><motor joint="j" ctrlrange="-1 1"/><position tendon="t" forcerange="-1 1"/>
<damper joint="j" kv="1" ctrlrange="0 1"/></actuator>"""


def saved(folder: Path) -> tuple[bytes, mjcf_tree.Schema]:
    """What MuJoCo saves of a small model, and its schema."""
    import mujoco

    model = mujoco.MjModel.from_xml_path(str(write(folder, ROUND + '<site name="s"/>', DRIVEN)))
    mujoco.mj_saveModel(model, str(folder / "a.mjb"), None)
    schema = mjcf_tree.schema_of(mjcf_compiler.library().parent / "include" / "mujoco")
    return (folder / "a.mjb").read_bytes(), schema


def test_every_array_that_is_read_is_mujocos(tmp_path: Path) -> None:
    import mujoco
    import numpy as np

    data, schema = saved(tmp_path)
    model = mujoco.MjModel.from_binary_path(str(tmp_path / "a.mjb"))
    found = mjcf_model.read_compiled(data, schema)
    names = [name for name in mjcf_model.Compiled.__slots__ if "_" in name]
    assert len(names) > 40
    for name in names:
        assert np.array_equal(np.ravel(getattr(found, name)), np.ravel(getattr(model, name))), name
    assert found.names["body"] == ["world", "a"] and found.names["jnt"] == ["j"]


def test_damaged_bytes_from_the_child_are_an_error_and_no_crash(tmp_path: Path) -> None:
    """Any byte of the header, the sizes, an index or a name may be wrong; DamagedError comes of it, or a ModelError for
    an actuator that cannot be.
    """
    import numpy as np

    data, schema = saved(tmp_path)
    rng = np.random.default_rng(0)
    refused = 0
    for _ in range(3000):
        bad = bytearray(data)
        for _ in range(int(rng.integers(1, 4))):
            bad[int(rng.integers(len(bad)))] = int(rng.integers(256))
        try:
            cut = bytes(bad[: int(rng.integers(len(bad))) if rng.random() < 0.2 else None])
            model = mjcf_model.read_compiled(cut, schema)
            read_actuators(model, model.names["jnt"], str, "a.mjb")
        except (mjcf_model.DamagedError, ModelError):
            refused += 1
    assert refused > 1000
