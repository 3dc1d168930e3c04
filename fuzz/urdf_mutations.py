"""Changes to a URDF tree, each one that a person, a tool or an attacker could make."""

from __future__ import annotations

import copy
from collections.abc import Callable
from contextlib import suppress
from xml.etree.ElementTree import Element, SubElement

import numpy as np

MARK = "Zqmark"
"""Stands in every name that is given here: no generated code may hold it."""
NUMBERS = (
    *("0", "-0", "+1", "1.", ".5", "1e3", "-1E-3", " 2 ", "3\t", "1e-320", "1e-12", "1e6", "1e15", "-1e30", "1e30"),
    "1e31",
    *("1e999", "nan", "NaN(0)", "inf", "-Infinity", "0x10", "1_0", "1,5", "1;5", "", ".", "e5", "--1", "１", "٣", "1f"),
    *("${m}", "$(arg m)", "1 2", "1e", "0.1e+", "%s%n", "\u221e", "1\n", "00012", "1e+0000000000000000001"),
)  # fmt: skip
NAMES = (
    *("", "main", "int", "module", "q", "world", "root_joint", "base", "*/ int x; /*", '"; exit(1); "', "\\", "//"),
    "`x`",
    *("a\nb", "\t", "\r\n# x", "\u202egnp", "\u200b", "\u3164", "<b>&amp;", "%s%n", "../../x", "é", "腕"),
    *("x" * 300, " "),
    *("\ud7ff", "\ufffd", "a|b", "$(id)", "${x}", "__import__('os')", "\u2028", "-1", "nan", "None", "]]>", "'"),
)  # fmt: skip
TYPES = ("revolute", "continuous", "prismatic", "planar", "floating", "fixed", "ball", "", "Revolute")
TAGS = ("link", "joint", "inertial", "origin", "xacro:box", "xacro:property", "gazebo", "mass", "axis", "limit", "x:y")

Rng = np.random.Generator


def mutate(root: Element, rng: Rng) -> bool:
    """Makes one to eight changes; whether none of them changed a number."""
    kinds = [CHANGES[k] for k in rng.integers(len(CHANGES), size=int(rng.integers(1, 9)))]
    for change in kinds:
        change(root, rng)
    return not any(change in (odd_number, scaled_number) for change in kinds)


def _any(root: Element, rng: Rng, *tags: str) -> Element | None:
    found = [element for element in root.iter() if not tags or element.tag in tags]
    return found[int(rng.integers(len(found)))] if found else None


def _word(rng: Rng, words: tuple[str, ...]) -> str:
    return words[int(rng.integers(len(words)))]


def _fresh(rng: Rng) -> str:
    return f"{MARK}{_word(rng, NAMES)}{int(rng.integers(4))}"


def odd_number(root: Element, rng: Rng) -> None:
    """Respells one number of an attribute, or all of it."""
    element = _any(root, rng, "mass", "inertia", "origin", "axis", "limit", "dynamics", "mimic")
    if element is not None and element.attrib:
        name = _word(rng, tuple(element.attrib))
        parts = element.attrib[name].split() or [""]
        parts[int(rng.integers(len(parts)))] = _word(rng, NUMBERS)
        element.attrib[name] = " ".join(parts)


def scaled_number(root: Element, rng: Rng) -> None:
    element = _any(root, rng, "mass", "inertia", "origin", "axis", "limit", "dynamics")
    factor = float(10.0 ** rng.integers(-12, 13)) * float(rng.choice([-1.0, 1.0, 1.0]))
    if element is not None:
        for name, text in element.attrib.items():
            with suppress(ValueError):
                element.attrib[name] = " ".join(repr(float(word) * factor) for word in text.split())


def renamed(root: Element, rng: Rng) -> None:
    """Renames a link or a joint everywhere, or the robot."""
    element = _any(root, rng, "link", "joint", "robot")
    old, new = (element.get("name") if element is not None else None), _fresh(rng)
    for other in root.iter():
        for name, text in other.attrib.items():
            if text == old and name in ("name", "link", "joint", "reference"):
                other.attrib[name] = new


def named_alone(root: Element, rng: Rng) -> None:
    """Changes a name in one place only, which breaks references to it."""
    element = _any(root, rng, "link", "joint", "parent", "child", "mimic", "robot")
    if element is not None:
        for name in ("name", "link", "joint"):
            if name in element.attrib:
                element.attrib[name] = _fresh(rng)


def rewired(root: Element, rng: Rng) -> None:
    """Changes a joint's parent or child link: loops, two parents, separate trees."""
    end, link = _any(root, rng, "parent", "child"), _any(root, rng, "link")
    if end is not None and link is not None:
        end.attrib["link"] = link.get("name") or ""


def retyped(root: Element, rng: Rng) -> None:
    joint = _any(root, rng, "joint")
    if joint is not None:
        joint.attrib["type"] = _word(rng, TYPES)


def mimicking(root: Element, rng: Rng) -> None:
    one, other = _any(root, rng, "joint"), _any(root, rng, "joint")
    if one is not None and other is not None:
        numbers = {"multiplier": _word(rng, ("1", "-2", "0", "1e-9", "1e9")), "offset": _word(rng, ("0", "0.1", "1e9"))}
        SubElement(one, "mimic", {"joint": other.get("name") or "", **numbers})


def doubled(root: Element, rng: Rng) -> None:
    parent = _any(root, rng)
    if parent is not None and len(parent):
        child = parent[int(rng.integers(len(parent)))]
        parent.insert(int(rng.integers(len(parent) + 1)), copy.deepcopy(child))


def removed(root: Element, rng: Rng) -> None:
    parent = _any(root, rng)
    if parent is not None and len(parent):
        parent.remove(parent[int(rng.integers(len(parent)))])


def removed_attribute(root: Element, rng: Rng) -> None:
    element = _any(root, rng)
    if element is not None and element.attrib:
        del element.attrib[_word(rng, tuple(element.attrib))]


def moved(root: Element, rng: Rng) -> None:
    parent, other = _any(root, rng), _any(root, rng)
    if parent is not None and other is not None and len(parent):
        other.append(copy.deepcopy(parent[int(rng.integers(len(parent)))]))


def shuffled(root: Element, rng: Rng) -> None:
    root[:] = [root[int(k)] for k in rng.permutation(len(root))]


def foreign(root: Element, rng: Rng) -> None:
    parent = _any(root, rng)
    if parent is not None:
        SubElement(parent, _word(rng, TAGS), {_word(rng, ("name", "value", "xyz", "link")): _fresh(rng)})


def nested(root: Element, rng: Rng) -> None:
    at = _any(root, rng)
    for _ in range(int(rng.choice([3, 60, 70, 300]))):
        at = None if at is None else SubElement(at, "visual")


def lengthened(root: Element, rng: Rng) -> None:
    """More links at an end, massless some of them."""
    last = _any(root, rng, "link")
    for k in range(int(rng.integers(1, 5))):
        name = f"{MARK}{k}_{int(rng.integers(1 << 30))}"
        link = copy.deepcopy(last) if last is not None and rng.random() < 0.7 else Element("link")
        above = "" if last is None else last.get("name") or ""
        link.attrib["name"] = name
        joint = SubElement(root, "joint", {"name": f"{name}j", "type": _word(rng, TYPES[:6])})
        SubElement(joint, "parent", {"link": above})
        SubElement(joint, "child", {"link": name})
        SubElement(joint, "axis", {"xyz": " ".join(repr(float(x)) for x in rng.normal(size=3))})
        SubElement(joint, "origin", {"xyz": "0.1 0 0.2", "rpy": " ".join(repr(float(x)) for x in rng.normal(size=3))})
        root.append(link)
        last = link


CHANGES: tuple[Callable[[Element, Rng], None], ...] = (
    odd_number,
    odd_number,
    scaled_number,
    renamed,
    renamed,
    renamed,
    named_alone,
    rewired,
    retyped,
    mimicking,
    doubled,
    removed,
    removed_attribute,
    moved,
    shuffled,
    foreign,
    nested,
    lengthened,
    lengthened,
)
