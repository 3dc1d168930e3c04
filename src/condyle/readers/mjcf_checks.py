"""What is looked at in an MJCF file before MuJoCo's compiler sees it: numbers, names, copies, parts not supported."""

from __future__ import annotations

import re

from condyle.errors import Finding, ModelError, UnsupportedError
from condyle.readers.xml import Element
from condyle.text import few

MAX_BODIES = 4_096
_REFUSED = ("plugin", "composite", "flexcomp", "attach")
"""They run code or make bodies while MuJoCo reads the file, how many nobody has checked."""
_TEXTS = frozenset(
    (
        *("name", "class", "childclass", "file", "content_type", "model", "prefix", "sep", "target"),
        *("meshdir", "texturedir", "assetdir", "mesh", "hfield", "material", "flex"),
        *("joint", "joint1", "joint2", "jointinparent", "body", "body1", "body2", "geom"),
        *("site", "site1", "site2", "refsite", "slidersite", "cranksite", "sidesite"),
        *("tendon", "tendon1", "tendon2", "plugin", "instance", "key", "value"),
    )
)
"""Attributes that hold names; every other one holds numbers or words of MuJoCo's own."""
_NOT_FINITE = re.compile(r"nan|inf", re.IGNORECASE)


def check_tree(root: Element, file: str) -> None:
    """Raise for parts that are not supported, numbers that are none, names that MuJoCo misreads, too many bodies.

    ModelError with all findings; UnsupportedError naming the elements.
    """
    findings = [finding for node in root.walk() for finding in (*_numbers(node), *_formats(node))]
    if _copies(root) > MAX_BODIES:
        findings.append(Finding("error", f"more than {MAX_BODIES} bodies", file))
    if findings:
        raise ModelError(findings)
    refused = [node for node in root.walk() if node.tag in _REFUSED]
    if refused:
        places = few([f"<{node.tag}> ({place(node, file)})" for node in refused], 3)
        raise UnsupportedError(f"{file}: {places}: not supported; take them out of the file to load the tree")


def place(node: Element, file: str) -> str:
    """Where an element stands: its line, and its file if that is an included one."""
    return f"line {node.line}" if node.file == file else f"{node.file}:{node.line}"


def _numbers(node: Element) -> list[Finding]:
    """NaN and infinity in any of C's spellings: MuJoCo takes NaN for "not given", and computes with infinity."""
    return [
        node.error(f"<{node.tag}> {key}={value[:60]!r} is not finite")
        for key, value in node.attributes.items()
        if key not in _TEXTS and _NOT_FINITE.search(value)
    ]


def _formats(node: Element) -> list[Finding]:
    """MuJoCo 4.0 hands some names on as the format of its messages."""
    cure = "MuJoCo's compiler would take it for a format: choose another name"
    return [
        node.error(f"<{node.tag}> {key}={value[:60]!r} has a per cent sign", cure)
        for key, value in node.attributes.items()
        if "%" in value
    ]


def _copies(root: Element) -> int:
    """How many bodies and geoms there will be once every <replicate> is written out."""
    total = 0
    todo = [(root, 1)]
    while todo:
        node, times = todo.pop()
        if node.tag == "replicate":
            times = min(times * max(1, _integer(node.get("count") or "1")), MAX_BODIES + 1)
        total += times if node.tag == "body" or (node.tag in ("geom", "site") and times > 1) else 0
        todo.extend((child, times) for child in node.children)
    return total


def _integer(text: str) -> int:
    match = re.match(r"\s*\+?(\d{1,18})", text)
    return int(match.group(1)) if match else 0
