"""Changes of an MJCF tree that keep it well-formed XML: mistakes and hostile content."""

from __future__ import annotations

import copy
from xml.etree.ElementTree import Element

import numpy as np

NUMBERS = (
    *("0", "-1", "1e-300", "1e30", "1e308", "1e999", "-0", "0x10", "1.", ".5", "+1", "1e5", "1,5", "1 2 3", "", " 1 "),
    *("0.1", "0.2", "0.5", "1", "2", "-0.3", "45", "1e-3", "3", "0.05", "0.7", "0.33", "1.5", "-2", "10", "0.01"),
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
ADDED = {
    "mujoco": (
        *(
            'compiler meshdir="../outside"',
            'compiler inertiafromgeom="true"',
            'compiler strippath="true"',
            "deformable",
        ),
        *('compiler discardvisual="true"', 'compiler fusestatic="true"', 'compiler settotalmass="5"', "extension"),
        *(
            'compiler eulerseq="zzz"',
            'compiler angle="degree"',
            'compiler boundinertia="0.1"',
            'size nkey="2000000000"',
        ),
        *('include file="part.xml"', 'option density="1.2"', 'compiler balanceinertia="true"', "equality"),
    ),
    "compiler": ('lengthrange mode="all" inttotal="1e9"',),
    "asset": (
        *(
            'mesh builtin="supersphere" params="900 1 1" name="ball"',
            'mesh builtin="cone" params="100000000 1" name="big"',
        ),
        *('hfield name="h" nrow="99999" ncol="99999" size="1 1 1 1"', 'mesh name="flat" vertex="0 0 0 1 0 0 0 1 0"'),
    ),
    "body": (
        *(
            'joint type="free"',
            'joint type="ball"',
            'joint class="%s%n"',
            'geom type="box" size="1 1 1"',
            "body",
            "frame",
        ),
        *("freejoint", "composite", "flexcomp", "inertial", 'attach model="m"', 'site type="mesh" mesh="block"'),
        *('geom type="mesh" mesh="big"', 'geom type="mesh" mesh="ball"', 'geom type="hfield" hfield="h"', "camera"),
        *('inertial pos="0 0 1" mass="2" diaginertia="1 1 1"', 'geom size="0.1" class="light"', 'joint type="slide"'),
        *(
            'replicate count="100000" offset="1 0 0"',
            'replicate count="3" euler="0 0 90"',
            'plugin plugin="mujoco.sdf.torus"',
        ),
        *('geom type="box" mesh="cone"', 'geom type="capsule" fromto="0 0 0 1 1 1" size="0.1"', 'joint axis="0 0 0"'),
    ),
    "actuator": (
        *(
            'general joint="j1" armature="3" gear="-2"',
            'motor tendon="t1" armature="1"',
            'motor joint="left" armature="2"',
        ),
        *('motor joint="free" gear="1 2 3 4 5 6" armature="0.1"', 'plugin joint="j1" plugin="a"', 'muscle joint="j1"'),
    ),
    "equality": (
        'joint joint1="left" joint2="right"',
        'joint joint1="j1" joint2="j2"',
        'connect body1="left" anchor="0 0 0"',
        'connect body1="left" body2="right" anchor="0.1 0 1e3"',
        'connect site1="s1" site2="s2"',
        'weld body1="right" anchor="0 0.1 0" relpose="0 0 0 0 0 0 0"',
        'weld body1="left" body2="right" torquescale="0" relpose="0.1 0 0 1 0 2 0"',
    ),
    "tendon": ('fixed name="t3" stiffness="1"', 'spatial name="t4"'),
    "default": (
        'joint armature="0.3"',
        'geom mass="0"',
        'geom type="mesh" mesh="block"',
        'general armature="0.2"',
        "default",
    ),
}
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
    """Makes one change at a random place."""
    elements = list(root.iter())
    at = elements[int(rng.integers(len(elements)))]
    kinds = (_number, _name, _file, _add, _copy, _drop, _move, _deep, _swap)
    chances = np.array((12.0, 2.0, 2.0, 9.0, 2.0, 2.0, 2.0, 0.3, 2.0))
    kinds[int(rng.choice(len(kinds), p=chances / chances.sum()))](root, at, rng)


def _pick(words: tuple[str, ...], rng: np.random.Generator) -> str:
    return words[int(rng.integers(len(words)))]


def _number(root: Element, at: Element, rng: np.random.Generator) -> None:
    """Changes the spelling or size of one number."""
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
    """A new part, mostly where such a part may stand."""
    places = [element for element in root.iter() if element.tag in ADDED]
    at = places[int(rng.integers(len(places)))] if places else at
    tag, *pairs = _pick(ADDED.get(at.tag, ADDED["body"]), rng).replace('" ', '"\n').replace(" ", "\n", 1).split("\n")
    new = Element(tag, dict(pair.replace('"', "").split("=", 1) for pair in pairs))
    if tag == "replicate":
        new.extend(copy.deepcopy(list(at)[:1]))
    at.append(new)


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
    elements = [element for element in root.iter() if element.tag == at.tag]
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
    """An attribute's value from elsewhere in the file, mostly of the same attribute."""
    if at.attrib:
        key = _pick(tuple(at.attrib), rng)
        donors = [element for element in root.iter() if key in element.attrib]
        at.set(key, donors[int(rng.integers(len(donors)))].attrib[key])
