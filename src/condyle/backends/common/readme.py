"""The part of an export's README about its robot: the order of its joints."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from condyle.backends.common.facts import Facts
from condyle.text import Emitter

_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,63}")


class Coordinates(NamedTuple):
    """A joint: its name (any text of a model file), its type (one of our own words), and its entries of q and v.

    follows: for a mimic joint, which has no entries of its own, the joint that it follows.
    """

    name: str
    type: str
    q: range
    v: range
    follows: str | None = None


def birth(facts: Facts) -> str:
    """The line that names the version of Condyle and the robot."""
    return f"Written by Condyle {facts.version or '-'} from robot `{facts.fingerprint or '-'}`."


def order(joints: Sequence[Coordinates]) -> str:
    """A Markdown table of the joints in the order of q and v."""
    rows = [f"| {k} | {plain(j.name)} | {j.type} | {_place(j, j.q)} | {_place(j, j.v)} |" for k, j in enumerate(joints)]
    return "\n".join(["| joint | name | type | in q | in v, a, tau |", "|---|---|---|---|---|", *rows])


QUATERNIONS = """\
A free joint has x y z qx qy qz qw in q, and in v the linear, then the angular velocity, in the body's own axes. A
spherical joint has qx qy qz qw in q, and in v the angular velocity in the body's own axes.
"""


def counted(n: int) -> str:
    """How many functions, in words."""
    return f"{n} function{'s' if n > 1 else ''}"


def plain(name: str) -> str:
    """The name if it is a plain word. No other text of a model file is written, because a page may be shown as HTML."""
    return f"`{name}`" if _PLAIN.fullmatch(name) else "(see `robot.json`)"


def _place(joint: Coordinates, place: range) -> str:
    if joint.follows is not None:
        return f"follows {plain(joint.follows)}"
    return str(place.start) if len(place) == 1 else f"{place.start} to {place.stop - 1}"


# The package of an exported project: for CMake's `find_package` and for pkg-config.


def library_of(name: str) -> str:
    """The CMake target of a robot; its alias, in a build and after an installation, is NAME::NAME."""
    return f"condyle_{name}"


def write_library(e: Emitter, name: str, abi: int, language: str, kind: str) -> None:
    """Writes the project and its library, with the include paths of a build and of an installation. kind: the library's
    type and sources."""
    library = library_of(name)
    e("cmake_minimum_required(VERSION 3.18)", f"project({library} VERSION {abi} LANGUAGES {language})")
    e("include(GNUInstallDirs)", "", f"add_library({library} {kind})", f"add_library({name}::{name} ALIAS {library})")
    e(f"set_target_properties({library} PROPERTIES EXPORT_NAME {name})")
    with e.block(f"target_include_directories({library} INTERFACE", ")"):
        e("$<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}>", "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>")


def write_install(e: Emitter, name: str, header: str, libs: str = "") -> None:
    """Installs the target, its header, a CMake package and a pkg-config file; their version is the project's.

    libs: what a program links with, for pkg-config.
    """
    library = library_of(name)
    e("include(CMakePackageConfigHelpers)")
    e(f"set(place ${{CMAKE_INSTALL_LIBDIR}}/cmake/{name})", f"set(config ${{CMAKE_CURRENT_BINARY_DIR}}/{name}Config)")
    e(f"install(TARGETS {library} EXPORT {name}Targets ARCHIVE DESTINATION ${{CMAKE_INSTALL_LIBDIR}})")
    e(f"install(FILES {header} DESTINATION ${{CMAKE_INSTALL_INCLUDEDIR}})")
    e(f"install(EXPORT {name}Targets NAMESPACE {name}:: DESTINATION ${{place}})")
    e(f'file(WRITE ${{config}}.cmake "include(\\${{CMAKE_CURRENT_LIST_DIR}}/{name}Targets.cmake)\\n")')
    e("write_basic_package_version_file(${config}Version.cmake COMPATIBILITY ExactVersion)")
    e("install(FILES ${config}.cmake ${config}Version.cmake DESTINATION ${place})")
    e("# a folder that is moved as a whole stays a package: places are relative to this file")
    e("file(RELATIVE_PATH to_headers ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_FULL_INCLUDEDIR})")
    lines = [f"Name: {name}", "Description: rigid-body dynamics of one robot", "Version: ${PROJECT_VERSION}"]
    lines += ["Cflags: -I\\${pcfiledir}/${to_headers}", *([f"Libs: -L\\${{pcfiledir}}/.. {libs}"] if libs else [])]
    with e.block(f"file(WRITE ${{CMAKE_CURRENT_BINARY_DIR}}/{name}.pc", ")"):
        e(*(f'"{line}\\n"' for line in lines))
    e(f"install(FILES ${{CMAKE_CURRENT_BINARY_DIR}}/{name}.pc DESTINATION ${{CMAKE_INSTALL_LIBDIR}}/pkgconfig)")
