"""Names of exports: every word of every language is refused by every target, and what is allowed compiles."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

import condyle
from condyle.backends.common.facts import RESERVED, checked_name
from condyle.errors import UnsupportedError
from condyle.exports.targets import EXPORTS
from tests.backends.cuda.exported import SHIM
from tests.processor import slow
from tests.programs import needs, tool

ARM = condyle.chain(2, 0)
TRICKY = ("test", "check", "example", "known", "id", "m", "cd", "run", "data", "bench")
"""Words of the generated code itself: functions, arguments, files and modules have them."""
FEW = [name if name in ("test", "id", "known") else slow(name) for name in TRICKY]


LANGUAGES = (
    "main int module namespace template logic sin sinf printf float4 dim3 std linux fx_product aux parts co_await"
)


@pytest.mark.parametrize("name", LANGUAGES.split())
def test_words_of_a_language_are_refused_by_all_targets(tmp_path: Path, name: str) -> None:
    for target in EXPORTS:
        with pytest.raises(UnsupportedError, match=rf"name='{name}'.*is allowed, such as 'my_{name}'"):
            condyle.export(ARM, target, tmp_path, ("id",), name=name)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", [3, "", "A", "1a", "a-b", "a b", "a\n", "é", "a" * 32, b"arm", ["a"]])
def test_what_is_no_name_is_shown_with_what_is_allowed(tmp_path: Path, name: object) -> None:
    with pytest.raises(UnsupportedError, match=r"name=.*allowed is \[a-z\]\[a-z0-9_\]\{0,30\}"):
        condyle.export(ARM, "c", tmp_path, ("id",), name=name)  # type: ignore[arg-type]


def test_the_table_has_what_the_compilers_call_words() -> None:
    for word in RESERVED:
        with pytest.raises(UnsupportedError):
            checked_name(word)
    assert len(RESERVED) > 800
    assert all(checked_name(name) == name for name in (*TRICKY, "robot", "arm", "iiwa14", "hyq", "atlas"))


def call(*command: str | Path, cwd: Path) -> str:
    done = subprocess.run([*map(str, command)], cwd=cwd, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@needs("gcc")
@pytest.mark.parametrize("name", FEW)
def test_tricky_names_compile_as_c(tmp_path: Path, name: str) -> None:
    files = condyle.export(ARM, "c", tmp_path, ("id", "m", "minv"), name=name)
    sources = [path.name for path in files if path.suffix == ".c"]
    call("gcc", "-std=c99", "-Wall", "-Wextra", "-Werror", *sources, "-o", "checked", "-lm", cwd=tmp_path)
    assert call(tmp_path / "checked", cwd=tmp_path).count("right") == 4
    if tool("g++"):
        call("g++", "-Werror", "-fsyntax-only", "-x", "c++", f"{name}.h", cwd=tmp_path)


@needs("cmake")
def test_cmake_knows_a_robot_called_test(tmp_path: Path) -> None:
    condyle.export(ARM, "c", tmp_path, ("m",), name="test")
    call("cmake", "-S", ".", "-B", "build", cwd=tmp_path)
    call("cmake", "--build", "build", cwd=tmp_path)
    call("ctest", "--test-dir", "build", cwd=tmp_path)


@needs("g++")
@pytest.mark.parametrize("name", FEW)
def test_tricky_names_compile_as_cuda(tmp_path: Path, name: str) -> None:
    condyle.export(ARM, "cuda", tmp_path, ("id", "fd"), name=name)
    flags = ("-std=c++17", "-Wall", "-Wno-unknown-pragmas", "-Werror", f"-I{SHIM}", "-fsyntax-only", "-x", "c++")
    call("g++", *flags, "example.cu", cwd=tmp_path)


@needs("iverilog")
@pytest.mark.parametrize("name", FEW)
def test_tricky_names_compile_as_verilog(tmp_path: Path, name: str) -> None:
    files = condyle.export(condyle.chain(1, 0), "verilog", tmp_path, ("m",), name=name)
    sources = [path.name for path in files if path.suffix == ".v"]
    call("iverilog", "-g2005", "-o", "out.vvp", *sources, cwd=tmp_path)
    call("iverilog", "-g2012", "-o", "out.vvp", *sources, cwd=tmp_path)
