"""The child that compiles MJCF: what comes of each way in which it can end, and what it may take."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from condyle.errors import ModelError, UnsupportedError
from condyle.readers import mjcf_compiler, mjcf_process
from condyle.readers.mjcf_compiler import Limits, compile_tree
from condyle.readers.xml import Element

FRAMES = "def frame(x): return len(x).to_bytes(8, 'little') + x\n"
SEND = FRAMES + "def send(*parts): sys.stdout.buffer.write(b''.join(map(frame, parts))); sys.stdout.flush()\n"


def root() -> Element:
    body = Element("body", {}, 4, file="b.xml")
    return Element("mujoco", {}, 1, [Element("worldbody", {}, 3, [body], file="w.xml")], "a.xml")


@pytest.fixture
def child(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    """child(code, limits): what comes of a child that runs this; the name of its library is "lib"."""

    def run(code: str, limits: Limits | None = None) -> tuple[bytes, list[str]]:
        path = tmp_path / "child.py"
        path.write_text(f"import os, signal, sys, time\n{SEND}{code}\n")
        monkeypatch.setattr(mjcf_compiler, "_CHILD", path)
        files = {"file0.stl": (Path("/far/mesh.stl"), b"mesh")}
        data, notes = compile_tree(Path("lib"), root(), files, limits or Limits())
        return data, [str(note) for note in notes]

    return run


def test_a_model_and_its_warnings(child) -> None:
    """A warning that is said twice is one; names and lines are the file's own."""
    code = (
        "send(b'warning', b'odd\\n file0.stl, line 3', b'warning', b'odd file0.stl,  line 3', b'warning', b'line 99')\n"
        "send(b'warning', b'odd \\xff')\n"
    )
    data, notes = child(f"{code}send(b'model', b'bytes')")
    assert data == b"bytes"
    odd, beyond, undecodable = notes
    assert (odd, beyond) == ("b.xml:4: MuJoCo: odd /far/mesh.stl, line 4", "a.xml: MuJoCo: line 99")
    assert undecodable == "a.xml: MuJoCo: odd \ufffd"


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("send(b'error', b'bad thing (line 1)')", r"a\.xml:1: bad thing .line 1.$"),
        ("send(b'error', b'bad thing, line 2')", r"w\.xml:3: bad thing, line 3$"),
        ("send(b'error', b'bad thing, line 5')", r"a\.xml:1: bad thing, line 1$"),  # of <lengthrange>, the last
        ("send(b'error', b'bad thing, line 0')", r"a\.xml: bad thing, line 0$"),
        ("send(b'error', b'bad thing, line 6')", r"a\.xml: bad thing, line 6$"),
        (
            "send(b'error', b'std::bad_alloc'); sys.exit(0)",
            r"a\.xml: MuJoCo's compiler needs more than 2048 MiB for this",
        ),
        (
            "sys.stderr.write('MemoryError'); sys.exit(1)",
            r"needs more than 2048 MiB .*memory=, on the command line --memory",
        ),
        ("os.kill(os.getpid(), signal.SIGXCPU)", r"takes more than 60 s for this file .allow more by timeout=, on the"),
        ("os.kill(os.getpid(), signal.SIGSEGV)", r"a\.xml: MuJoCo's compiler died on this file .SIGSEGV\)"),
        ("sys.exit(3)", r"died on this file .status 3\)"),
        ("sys.stderr.write('x' * 300 + ' the  end'); sys.exit(1)", r"died on this file .status 1: x{192} the end\)"),
        ("send(b'model', b'bytes'); sys.exit(1)", r"died on this file .status 1\)"),
        ("sys.stdout.buffer.write(frame(b'model') + frame(b'bytes')[:-1])", r"died on this file .status 0\)"),
        ("sys.stdout.buffer.write(frame(b'model') + b'1234567')", r"died on this file .status 0\)"),
        ("print(*sys.argv[1:], file=sys.stderr); sys.exit(1)", r"status 1: lib 61 2147483648 268435456\)"),
    ],
)
def test_a_child_that_gives_no_model_is_an_error(child, code: str, said: str) -> None:
    with pytest.raises(ModelError, match=said):
        child(code)


def test_a_child_that_takes_its_time_is_ended(child, tmp_path: Path) -> None:
    """The seconds of its processor are those of the clock, rounded up, and one more."""
    code = f"open({str(tmp_path / 'pid')!r}, 'w').write(str(os.getpid())); time.sleep(60)"
    with pytest.raises(ModelError, match=r"a\.xml: MuJoCo's compiler takes more than 2 s for this file"):
        child(code, Limits(timeout=2.0))
    assert not Path(f"/proc/{(tmp_path / 'pid').read_text()}/cmdline").exists()
    with pytest.raises(ModelError, match="status 1: lib 4 10485760 268435456"):
        child("print(*sys.argv[1:], file=sys.stderr); sys.exit(1)", Limits(2.5, 10 << 20))


def test_a_child_gets_the_document_and_its_files(child) -> None:
    """A line for each element, and options that cost nothing."""
    data, _ = child("send(b'model', sys.stdin.buffer.read())")
    name, document, file, mesh = mjcf_process.read_frames(data)
    assert (name, file, mesh) == (b"model.xml", b"file0.stl", b"mesh")
    assert document.decode().split("\n") == [
        "<mujoco>",
        "<worldbody>",
        "<body></body></worldbody>",
        '<compiler usethread="false">',
        '<lengthrange mode="none"></lengthrange></compiler></mujoco>',
    ]


def test_a_child_that_cannot_be_started_is_an_error(child, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/no/such/python")
    with pytest.raises(ModelError, match=r"a\.xml:1: MuJoCo's compiler cannot be started: .*No such file"):
        child("")


def test_other_systems_compile_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "memfd_create")
    with pytest.raises(UnsupportedError, match="MJCF files are compiled on Linux only"):
        mjcf_compiler.library()


@pytest.mark.parametrize("value", [0, -1, True, "60", None, float("nan"), float("inf"), 1 << 50])
def test_limits_are_positive_numbers(value: object) -> None:
    for name, unit in (("timeout", "seconds"), ("memory", "bytes")):
        with pytest.raises(ModelError, match=f"^{name}={value!r}, expected a positive number of {unit}$"):
            Limits(**{name: value})  # type: ignore[arg-type]
    assert (Limits().timeout, Limits().memory) == (60.0, 1 << 31)
    assert Limits(0.5, (1 << 50) - 1).memory == (1 << 50) - 1


def test_a_child_limits_itself() -> None:
    """Processor, memory, files, and what it writes to one; frames are lengths and bytes."""
    folder = str(Path(mjcf_process.__file__).parent)
    code = f"""import resource, sys
sys.path.insert(0, {folder!r})
import mjcf_process as child
child.send(b"kind", bytes(300))
child.limit(7, 1 << 36)
limits = [resource.getrlimit(getattr(resource, "RLIMIT_" + name)) for name in "AS CPU CORE NOFILE FSIZE".split()]
child.send(b"limits", repr(limits).encode())
"""
    done = subprocess.run([sys.executable, "-I", "-S", "-c", code], capture_output=True, check=True)
    kind, data, limits, numbers = mjcf_process.read_frames(done.stdout)
    assert (kind, data, limits) == (b"kind", bytes(300), b"limits")
    assert numbers.decode() == repr([(1 << 36, 1 << 36), (7, 7), (0, 0), (0, 0), (4096, 4096)])


def test_a_model_may_be_as_large_as_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("mujoco")
    found = mjcf_compiler.library()
    data, _ = compile_tree(found, root(), {}, Limits())
    monkeypatch.setattr(mjcf_compiler, "LARGEST", len(data))
    assert compile_tree(found, root(), {}, Limits())[0] == data
    monkeypatch.setattr(mjcf_compiler, "LARGEST", len(data) - 1)
    said = f"the compiled model takes {len(data)} bytes, expected at most {len(data) - 1}"
    with pytest.raises(ModelError, match=said):
        compile_tree(found, root(), {}, Limits())
    with pytest.raises(ModelError, match=r"a file cannot be handed over: model.xml"):
        compile_tree(found, root(), {"model.xml": (Path("model.xml"), b"")}, Limits())


def test_a_child_says_a_hundred_warnings_and_ends_with_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of each text 4096 bytes are sent."""
    hooks: dict[str, SimpleNamespace] = {name: SimpleNamespace() for name in ("mju_user_warning", "mju_user_error")}
    sent: list[tuple[bytes, bytes]] = []
    asked: list[Any] = []
    fake = SimpleNamespace(
        CDLL=lambda name: SimpleNamespace(prctl=lambda *flags: asked.append((name, *flags))),
        CFUNCTYPE=ctypes.CFUNCTYPE,
        c_char_p=ctypes.c_char_p,
        c_void_p=SimpleNamespace(in_dll=lambda _, name: hooks[name]),
        cast=lambda function, _: SimpleNamespace(value=function),
    )

    def compiled(mujoco: Any, frames: list[bytes], largest: int) -> None:
        asked.append((frames, largest))
        for _ in range(105):
            hooks["mju_user_warning"].value(b"w" * 5000)
        hooks["mju_user_error"].value(b"e" * 5000)

    monkeypatch.setattr(mjcf_process, "ctypes", fake)
    monkeypatch.setattr(mjcf_process, "os", SimpleNamespace(_exit=asked.append))
    monkeypatch.setattr(mjcf_process, "limit", lambda *limits: asked.append(limits))
    monkeypatch.setattr(mjcf_process, "send", lambda kind, data: sent.append((kind, data)))
    monkeypatch.setattr(mjcf_process, "compile_model", compiled)
    monkeypatch.setattr("sys.argv", ["child", "lib", "7", "8", "9"])
    given = b"".join(len(part).to_bytes(8, "little") + part for part in (b"a", b"bc"))
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=SimpleNamespace(read=lambda: given)))
    mjcf_process.main()
    assert asked == [(None, 1, 9), (7, 8), ([b"a", b"bc"], 9), 0]
    assert sent == [(b"warning", b"w" * 4096)] * 100 + [(b"error", b"e" * 4096)]
