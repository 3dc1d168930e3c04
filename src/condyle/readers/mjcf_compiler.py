"""MuJoCo's compiler in a child process: it may crash, hang or eat memory there, and touches nothing here."""

from __future__ import annotations

import importlib.util
import math
import os
import re
import signal
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from condyle.errors import Finding, ModelError, UnsupportedError
from condyle.readers.mjcf_tree import write_tree
from condyle.readers.xml import Element

LARGEST = 1 << 28
"""Bytes of a compiled model."""
_CHILD = Path(__file__).with_name("mjcf_process.py")
_DOCUMENT = "model.xml"
_NO_MEMORY = re.compile(r"bad_alloc|MemoryError|[Cc]ould not allocate memory|length_error")


@dataclass(frozen=True, slots=True)
class Limits:
    """What the child may take: seconds, and bytes of address space. ModelError for numbers that are none."""

    timeout: float = 60.0
    memory: int = 2 << 30

    def __post_init__(self) -> None:
        for name, value, unit in (("timeout", self.timeout, "seconds"), ("memory", self.memory, "bytes")):
            number = isinstance(value, (int, float)) and not isinstance(value, bool)  # pyright: ignore[reportUnnecessaryIsInstance]
            if not number or not 0 < value < 1 << 50:
                raise ModelError(f"{name}={value!r}, expected a positive number of {unit}")


def library() -> Path:
    """MuJoCo's shared library, found without importing the package; UnsupportedError where it is not installed."""
    if not hasattr(os, "memfd_create"):
        raise UnsupportedError("MJCF files are compiled on Linux only: read a URDF file, or build the robot in Python")
    spec = importlib.util.find_spec("mujoco")
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        for path in sorted(Path(folder).glob("libmujoco.so*")):
            return path
    raise UnsupportedError('MJCF files need MuJoCo\'s compiler: pip install "condyle[mjcf]"')


def compile_tree(
    library: Path, root: Element, files: Mapping[str, tuple[Path, bytes]], limits: Limits
) -> tuple[bytes, list[Finding]]:
    """The compiled model as MuJoCo saves it, and its warnings as notes. ModelError for what MuJoCo refuses or survives
    not; it names the file and line of the element."""
    root.children.append(_quick(root))
    document, nodes = write_tree(root)
    frames = [_DOCUMENT.encode(), document]
    for word, (_, data) in files.items():
        frames += [word.encode(), data]
    code, answer, last = _run(library, b"".join(map(_frame, frames)), limits, root)
    words = {word: str(path) for word, (path, _) in files.items()}
    parts = _parts(answer)
    heard = dict.fromkeys(map(_text, parts.get("warning", ())))
    notes = [_finding("note", f"MuJoCo: {text}", nodes, words) for text in heard]
    for text in map(_text, parts.get("error", ())):
        last += text
        if not _NO_MEMORY.search(text):
            raise ModelError([*notes, _finding("error", text, nodes, words)])
    if "model" not in parts or code != 0:
        raise ModelError([_death(root, code, last, limits)])
    return parts["model"][0], notes


def _quick(root: Element) -> Element:
    """Options that cost nothing here: one thread, whose time is the time on the wall, and no simulated muscles."""
    ranges = Element("lengthrange", {"mode": "none"}, root.line, file=root.file)
    return Element("compiler", {"usethread": "false"}, root.line, [ranges], root.file)


def _run(library: Path, data: bytes, limits: Limits, root: Element) -> tuple[int, bytes, str]:
    """Exit status, standard output and standard error of the child. ModelError if it takes too long."""
    seconds = math.ceil(limits.timeout) + 1
    command = [
        sys.executable,
        "-I",
        "-S",
        str(_CHILD),
        str(library),
        str(seconds),
        str(int(limits.memory)),
        str(LARGEST),
    ]
    said = os.memfd_create("condyle", os.MFD_CLOEXEC)
    try:
        with subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=said, start_new_session=True
        ) as child:
            try:
                answer, _ = child.communicate(data, timeout=limits.timeout)
            except subprocess.TimeoutExpired:
                raise ModelError([_too_slow(root, limits)]) from None
            finally:
                if child.returncode is None:
                    os.killpg(child.pid, signal.SIGKILL)
        text = os.pread(said, 4096, 0).decode(errors="replace")
    except OSError as error:
        raise ModelError([root.error(f"MuJoCo's compiler cannot be started: {error}")]) from None
    finally:
        os.close(said)
    if child.returncode == -signal.SIGXCPU:
        raise ModelError([_too_slow(root, limits)])
    return child.wait(), answer, text


def _too_slow(root: Element, limits: Limits) -> Finding:
    message = f"MuJoCo's compiler takes more than {limits.timeout:g} s for this file"
    return Finding("error", message, root.file, cure="allow more by timeout=, on the command line --timeout")


def _death(root: Element, code: int, last: str, limits: Limits) -> Finding:
    """Why there is no model."""
    if _NO_MEMORY.search(last):
        message = f"MuJoCo's compiler needs more than {limits.memory / 2**20:g} MiB for this file"
        return Finding("error", message, root.file, cure="allow more by memory=, on the command line --memory")
    how = signal.Signals(-code).name if code < 0 else f"status {code}"
    text = " ".join(last.split())[-200:]
    message = f"MuJoCo's compiler died on this file ({how}{': ' + text if text else ''})"
    return Finding("error", message, root.file, cure="a value in it is one that MuJoCo does not check: take parts out")


def _frame(data: bytes) -> bytes:
    return len(data).to_bytes(8, "little") + data


def _parts(data: bytes) -> dict[str, list[bytes]]:
    """What the child sent, by kind; a frame that was cut off is not there."""
    frames: list[bytes] = []
    at = 0
    while at + 8 <= len(data):
        end = at + 8 + int.from_bytes(data[at : at + 8], "little")
        if end > len(data):
            break
        frames.append(data[at + 8 : end])
        at = end
    parts: dict[str, list[bytes]] = {}
    for kind, part in zip(frames[::2], frames[1::2], strict=False):
        parts.setdefault(kind.decode(errors="replace"), []).append(part)
    return parts


def _text(data: bytes) -> str:
    return " ".join(data.decode(errors="replace").split())


def _finding(severity: str, text: str, nodes: list[Element], words: Mapping[str, str]) -> Finding:
    """A message of MuJoCo's, with the file's own places and names in it."""
    match = re.search(r"line (\d+)", text)
    node = nodes[int(match.group(1)) - 1] if match and 0 < int(match.group(1)) <= len(nodes) else None
    for word, path in words.items():
        text = re.sub(rf"\b{re.escape(word)}", lambda _, path=path: path, text)
    if match is None or node is None:
        return Finding(severity, text, nodes[0].file)
    return Finding(severity, text.replace(match.group(), f"line {node.line}", 1), node.file, node.line)
