"""Changes of an MJCF tree that keep it a tree of elements: what a careless or a hostile hand would write."""

from __future__ import annotations

import copy
from xml.etree.ElementTree import Element

import numpy as np

NUMBERS = (
    *("0", "-1", "1e-300", "1e30", "1e308", "1e999", "-0", "0x10", "1.", ".5", "+1", "1e5", "1,5", "1 2 3", "", " 1 "),
    *("nan", "NaN(0)", "-nan(ind)", "inf", "-Infinity", "1e", "１", "3000", "100000000", "2147483648", "90", "0.001"),
)
NAMES = (
    "%s%n",
    "%s%s%s%s%s",
    "j1",
    "left",
    "base",
    "",
    "x" * 5000,
    "a\nb",
    "nan",
    "é",
    "world",
    "no such",
    "../x",
    "light",
)
FILES = (
    *("block.stl", "../meshes/block.stl", "../../meshes/block.stl", "../outside/block.stl", "link.stl", "../link.stl"),
    *(
        "away/block.stl",
        "../away/block.stl",
        "/dev/zero",
        "/dev/stdin",
        "/proc/self/mem",
        "C:\\x.stl",
        "http://a/b.stl",
    ),
    *("part.xml", "away/part.xml", "../outside/part.xml", "arm.xml", "hand.xml", ".", "..", "", "none.stl", "x" * 300),
)
ADDED = (
    *(
        'mesh builtin="supersphere" params="900 1 1" name="block"',
        'mesh builtin="cone" params="100000000 1" name="cone"',
    ),
    *('replicate count="100000" offset="1 0 0"', 'compiler meshdir="../outside"', 'compiler inertiafromgeom="true"'),
    *(
        'compiler strippath="true"',
        'compiler discardvisual="true"',
        'compiler fusestatic="true"',
        "composite",
        "flexcomp",
    ),
    *('joint type="free"', 'joint type="ball"', 'joint class="%s%n"', 'geom type="box" size="1 1 1"', "body", "frame"),
    *(
        'include file="part.xml"',
        'plugin plugin="mujoco.sdf.torus"',
        "inertial",
        'attach model="m"',
        'site type="mesh"',
    ),
    *('general joint="j1" armature="3" gear="-2"', 'compiler settotalmass="5"', 'joint joint1="left" joint2="right"'),
    *(
        'size nkey="2000000000"',
        'hfield name="h" nrow="99999" ncol="99999" size="1 1 1 1"',
        'geom type="hfield" hfield="h"',
    ),
    *('lengthrange mode="all" inttotal="1e9"', 'compiler eulerseq="zzz"', "deformable", "extension", "freejoint"),
)
REPLACED = (
    "name",
    "class",
    "childclass",
    "joint",
    "body",
    "mesh",
    "type",
    "site",
    "tendon",
    "joint1",
    "joint2",
    "geom",
)


def change(root: Element, rng: np.random.Generator) -> None:
    """One change somewhere."""
    elements = list(root.iter())
    at = elements[int(rng.integers(len(elements)))]
    kinds = (_number, _number, _number, _name, _name, _file, _add, _add, _copy, _drop, _move, _deep, _swap)
    kinds[int(rng.integers(len(kinds)))](root, at, rng)


def _pick(words: tuple[str, ...], rng: np.random.Generator) -> str:
    return words[int(rng.integers(len(words)))]


def _number(root: Element, at: Element, rng: np.random.Generator) -> None:
    """One word of a number, in another spelling or size."""
    keys = [key for key, value in at.attrib.items() if value[:1] in "-.0123456789"]
    if keys:
        key = keys[int(rng.integers(len(keys)))]
        words = at.attrib[key].split()
        if words:
            words[int(rng.integers(len(words)))] = _pick(NUMBERS, rng)
        at.attrib[key] = " ".join(words)
    else:
        at.set(_pick(("mass", "pos", "armature", "gear", "axis", "density", "range"), rng), _pick(NUMBERS, rng))


def _name(root: Element, at: Element, rng: np.random.Generator) -> None:
    at.set(_pick(REPLACED, rng), _pick(NAMES, rng))


def _file(root: Element, at: Element, rng: np.random.Generator) -> None:
    """Another file, or another folder of files."""
    named = [element for element in root.iter() if "file" in element.attrib]
    folders = list(root.iter("compiler"))
    if named and (rng.random() < 0.6 or not folders):
        named[int(rng.integers(len(named)))].set("file", _pick(FILES, rng))
    elif folders:
        folders[0].set(
            _pick(("meshdir", "assetdir", "texturedir"), rng), _pick(("..", "../outside", "away", "/", "."), rng)
        )


def _add(root: Element, at: Element, rng: np.random.Generator) -> None:
    tag, *pairs = _pick(ADDED, rng).replace('" ', '"\n').replace(" ", "\n", 1).split("\n")
    new = Element(tag, dict(pair.replace('"', "").split("=", 1) for pair in pairs))
    place = root if tag in ("compiler", "size", "deformable", "extension") else at
    if tag == "replicate":
        new.extend(copy.deepcopy(list(at)[:1]))
    place.append(new)


def _copy(root: Element, at: Element, rng: np.random.Generator) -> None:
    children = list(at)
    if children:
        at.append(copy.deepcopy(children[int(rng.integers(len(children)))]))


def _drop(root: Element, at: Element, rng: np.random.Generator) -> None:
    if at.attrib and rng.random() < 0.5:
        del at.attrib[_pick(tuple(at.attrib), rng)]
    elif len(at):
        at.remove(at[int(rng.integers(len(at)))])


def _move(root: Element, at: Element, rng: np.random.Generator) -> None:
    """A part of one element into another, which is not inside it."""
    elements = list(root.iter())
    to = elements[int(rng.integers(len(elements)))]
    if len(at):
        part = at[int(rng.integers(len(at)))]
        if to not in list(part.iter()):
            at.remove(part)
            to.append(part)


def _deep(root: Element, at: Element, rng: np.random.Generator) -> None:
    tag = _pick(("body", "frame", "default", "replicate"), rng)
    for _ in range(int(rng.choice([3, 50, 500]))):
        inner = Element(tag, {"count": "2"} if tag == "replicate" else {})
        at.append(inner)
        at = inner


def _swap(root: Element, at: Element, rng: np.random.Generator) -> None:
    """An attribute's value from elsewhere in the file."""
    donors = [element for element in root.iter() if element.attrib]
    if at.attrib and donors:
        donor = donors[int(rng.integers(len(donors)))]
        at.set(_pick(tuple(at.attrib), rng), donor.attrib[_pick(tuple(donor.attrib), rng)])
