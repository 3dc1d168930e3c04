"""Shared objects from bytes: many of them, on any file system, with and without files in memory."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from condyle.backends.c.build import build
from condyle.backends.common.facts import Facts
from condyle.errors import BuildError
from condyle.runtime import cache, trusted_folders
from tests.backends.c.small import empty, meaning, states, tangle
from tests.runtime.test_cache import root

__all__ = ["root"]


def objects(root: Path) -> dict[str, bytes]:
    return {place.name: (place / cache.OBJECT).read_bytes() for place in root.iterdir() if len(place.name) == 64}


@pytest.mark.parametrize("way", ["memory", "file", "refused"])
def test_each_library_is_its_own(root: Path, way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Numbers of descriptors and paths of files come again; the loader must not take one library for another."""
    if way == "file":
        monkeypatch.delattr(os, "memfd_create")
    elif way == "refused":

        def refused(name: str, flags: int) -> int:
            raise PermissionError("no files in memory")

        monkeypatch.setattr(os, "memfd_create", refused)
    for seed in (3, 4, 3):
        program = tangle(seed, operations=30)
        inputs = states(program, 5)
        outputs = empty(program, 5)
        build(program, Facts(nq=5, nv=5))(5, inputs, outputs, 1)
        for got, want in zip(outputs, meaning(program, inputs), strict=True):
            np.testing.assert_allclose(got, want, rtol=0, atol=1e-12 * max(1.0, np.abs(want).max()))
    assert len(objects(root)) == 2


def test_the_loaded_file_is_sealed(root: Path) -> None:
    with (
        trusted_folders._in_memory(b"object") as path,
        Path(path).open("r+b", buffering=0) as file,
        pytest.raises(PermissionError),
    ):
        file.write(b"planted")


def test_what_is_no_library(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(BuildError, match=r"cannot be loaded.*TMPDIR"):
        trusted_folders.library(b"no library")


CALL = """
import sys, warnings
import numpy as np, condyle
from condyle.errors import BuildError
try:
    print(condyle.chain(3).compile(target=sys.argv[1]).mass_matrix(np.ones(3)).shape)
except BuildError as error:
    print("BuildError:", error)
"""


def mounted(place: Path, options: str, target: str = "c", **environment: str) -> str:
    """What a call in a fresh process prints, with a file system in memory mounted at `place`."""
    return mounted_run(place, options, [sys.executable, "-c", CALL, target], **environment)


def mounted_run(place: Path, options: str, command: list[str], **environment: str) -> str:
    """What a command prints, with a file system in memory mounted at `place`."""
    mount = f"mount -t tmpfs -o {options} tmpfs {place}"
    if subprocess.run(["unshare", "-rm", "sh", "-c", mount], capture_output=True, check=False).returncode:
        pytest.skip("this system lets no process mount a file system of its own")
    done = subprocess.run(
        ["unshare", "-rm", "sh", "-c", f"{mount} && chmod 700 {place} && exec {shlex.join(command)}"],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **environment},
        capture_output=True, text=True, timeout=100, check=False,
    )  # fmt: skip
    return done.stdout + done.stderr


@pytest.mark.parametrize("where", ["temporary", "cache"])
def test_a_file_system_without_execution(tmp_path: Path, where: str) -> None:
    place = tmp_path / "mounted"
    place.mkdir()
    how = {"CONDYLE_NO_CACHE": "1", "TMPDIR": str(place)} if where == "temporary" else {"CONDYLE_CACHE_DIR": str(place)}
    assert mounted(place, "noexec", **how) == "(3, 3)\n"


def test_a_full_disk_under_the_cache(tmp_path: Path) -> None:
    """The compiler works where temporary files go, and a warning says that nothing is kept."""
    (tmp_path / "mounted").mkdir()
    said = mounted(tmp_path / "mounted", "size=4k", CONDYLE_CACHE_DIR=str(tmp_path / "mounted"))
    assert said.startswith("(3, 3)\n") and "No space left on device: this object is not kept" in said


def test_a_full_disk_everywhere(tmp_path: Path) -> None:
    """An error that says what to do; target "cpu" needs no disk."""
    place = tmp_path / "mounted"
    place.mkdir()
    how = {"CONDYLE_CACHE_DIR": str(place / "cache"), "TMPDIR": str(place)}
    said = mounted(place, "size=4k", "c", **how)
    assert said.startswith("BuildError: there is no place to build in: ") and "Make room, or set TMPDIR" in said
    assert mounted(place, "size=4k", "cpu", **how).startswith("(3, 3)\n")


def test_a_path_says_its_content() -> None:
    """A counter or a descriptor comes again: in another process, or where this module is imported again."""
    paths = {content: trusted_folders._spelled(content, 900) for content in (b"", b"a", b"b")}
    assert len(set(paths.values())) == 3 and {os.path.normpath(path) for path in paths.values()} == {
        "/proc/self/fd/900"
    }
    with trusted_folders._in_memory(b"a") as path:
        assert path.rpartition("/")[0] == paths[b"a"].rpartition("/")[0]


IMPORTED_AGAIN = """
import sys
import numpy as np
x = np.array([[0.1, 0.2]])
for seed in (0, 5):
    import condyle
    robot = condyle.chain(2, seed)
    print(np.allclose(robot.compile("c").mass_matrix(x), robot.compile("numpy").mass_matrix(x), rtol=1e-12))
    native = ("_native", "_tiles", "_chain", "_allocate")
    for name in [name for name in sys.modules if name.startswith("condyle") and not name.endswith(native)]:
        del sys.modules[name]
"""


def test_condyle_imported_again_has_its_own_code() -> None:
    """Its second import gave the code of the first one's robot: numbers of both began at 1."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", IMPORTED_AGAIN]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["True", "True"], done.stderr
