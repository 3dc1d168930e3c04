"""What an MJCF file may touch: only its own directory, and no more than a robot needs. Looked at before MuJoCo does."""

from __future__ import annotations

import re
from pathlib import Path, PurePosixPath

from condyle.errors import Finding, ModelError, UnsupportedError
from condyle.readers import xml
from condyle.readers.xml import Element

MAX_DEPTH = 400
MAX_BODIES = 4_096
MAX_FILES = 64
_MAX_SIDE = 8_192
_MAX_SIZE = 1_000_000
_DIRECTORIES = ("meshdir", "texturedir", "assetdir")
_REFUSED = ("plugin", "extension", "composite", "flexcomp", "attach")
"""They run code or make bodies while MuJoCo reads the file, how many nobody has checked."""
_UNMODELLED = ("deformable", "skin")
_SIDES = ("nrow", "ncol", "width", "height")
_NUMBERS = (
    "mass",
    "density",
    "pos",
    "quat",
    "axis",
    "ref",
    "armature",
    "damping",
    "frictionloss",
    "stiffness",
    "diaginertia",
    "fullinertia",
    "size",
    "gravity",
    "range",
    "polycoef",
    "fromto",
    "euler",
    "axisangle",
    "xyaxes",
    "zaxis",
)
_NOT_FINITE = re.compile(r"[+-]?(nan|inf|infinity)", re.IGNORECASE)
_ENCODINGS = ("utf-8", "us-ascii", "ascii")


def check_files(path: Path, ignore: bool = False) -> list[Finding]:
    """Raise for DTDs, paths that leave the model's directory, unsupported or oversized parts; returns findings.

    ModelError with all findings; UnsupportedError naming the elements that no tree of rigid bodies needs. ignore: those
    that move none of its bodies may stay.
    """
    root = path.parent.resolve()
    seen: set[Path] = set()
    todo = [path]
    findings: list[Finding] = []
    refused: set[str] = set()
    bodies = 0
    while todo:
        file = todo.pop()
        if file.resolve() in seen:
            continue
        seen.add(file.resolve())
        if len(seen) > MAX_FILES:
            raise ModelError([Finding("error", f"more than {MAX_FILES} included files", str(path))])
        top = xml.parse(xml.read_bytes(file), str(file), depth=MAX_DEPTH, encodings=_ENCODINGS)
        copies = _copies(top)
        bodies += copies
        for element in top.walk():
            refused |= {element.tag} & {*_REFUSED, *(() if ignore else _UNMODELLED)}
            findings += _sizes(element, str(file)) + _not_finite(element, str(file))
            findings += _paths(element, str(file), (file.parent, path.parent), root)
            if element.tag == "include":
                todo += _included(element, file, path, findings)
    if bodies > MAX_BODIES:
        findings.append(Finding("error", f"more than {MAX_BODIES} bodies", str(path)))
    if findings:
        raise ModelError(findings)
    if refused:
        names = ", ".join(f"<{tag}>" for tag in sorted(refused))
        option = "" if refused & set(_REFUSED) else ", or say unmodelled='ignore'"
        raise UnsupportedError(f"{path}: {names}: not supported; take them out of the file to load the tree{option}")
    return findings


def _included(element: Element, file: Path, path: Path, findings: list[Finding]) -> list[Path]:
    """The files that an <include> may mean, those that exist; a finding if none does."""
    name = element.get("file")
    if name is None or not _inside(name):
        return []
    here = {folder / name for folder in (file.parent, path.parent) if (folder / name).is_file()}
    if not here:
        findings.append(Finding("error", f"includes {name!r}, which does not exist", str(file), element.line))
    return sorted(here)


def _inside(name: str) -> bool:
    """Whether a path is relative and goes nowhere up."""
    pure = PurePosixPath(name)
    odd = "\\" in name or ":" in name or "\0" in name
    return not (odd or pure.is_absolute() or ".." in pure.parts)


def _paths(element: Element, file: str, folders: tuple[Path, Path], root: Path) -> list[Finding]:
    findings: list[Finding] = []
    for key, value in element.attributes.items():
        if key.startswith("file") or key in _DIRECTORIES:
            out = not _inside(value) or any(not (f / value).resolve().is_relative_to(root) for f in folders)
            if out and value:
                message = f"<{element.tag}> {key}={value!r} leaves the model's directory"
                findings.append(Finding("error", message, file, element.line, cure="copy what it needs beside it"))
    return findings


def _not_finite(element: Element, file: str) -> list[Finding]:
    """Numbers that are none: MuJoCo takes NaN for "not given"."""
    return [
        Finding("error", f"<{element.tag}> {key}={element.attributes[key][:60]!r} is not finite", file, element.line)
        for key in _NUMBERS
        if any(_NOT_FINITE.fullmatch(word) for word in element.attributes.get(key, "").split())
    ]


def _sizes(element: Element, file: str) -> list[Finding]:
    """Numbers that make MuJoCo reserve memory."""
    limits = dict.fromkeys(_SIDES, _MAX_SIDE) if element.tag in ("hfield", "texture") else {}
    if element.tag == "size":
        limits = {key: _MAX_SIZE for key in element.attributes if key != "memory"}
    findings: list[Finding] = []
    for key, most in limits.items():
        value = element.get(key)
        if value is not None and _integer(value) > most:
            message = f"<{element.tag}> {key}={value[:20]!r}, expected at most {most}"
            findings.append(Finding("error", message, file, element.line))
    return findings


def _copies(root: Element) -> int:
    """How many bodies there will be once every <replicate> is written out."""
    total = 0
    todo = [(root, 1)]
    while todo:
        element, times = todo.pop()
        if element.tag == "replicate":
            times = min(times * max(1, _integer(element.get("count") or "1")), MAX_BODIES + 1)
        total += times if element.tag == "body" or (element.tag == "geom" and times > 1) else 0
        todo.extend((child, times) for child in element.children)
    return total


def _integer(text: str) -> int:
    match = re.match(r"\s*\+?(\d{1,18})", text)
    return int(match.group(1)) if match else 0
