"""The files of an exported folder: an export replaces files of an earlier export that are unchanged, and no others.

A manifest in the folder has the sha256 of each file that was written. While files are replaced it has the old and the
new ones, so that an export that is interrupted at any point can be repeated.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, cast

from condyle.backends.common.facts import Facts
from condyle.errors import UnsupportedError
from condyle.text import Emitter, few, write_whole

MANIFEST = "condyle-export.json"
_ABOUT = (
    "Files that Condyle wrote here, with their sha256. A later export replaces these while they are unchanged, those "
    "under 'rewritten' (the project itself changes them) in any case, and no others."
)
_LARGEST = 1 << 20
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}")
_HASH = re.compile(r"[0-9a-f]{64}")
_SHOWN = 5


@dataclass(frozen=True)
class Manifest:
    """files: {name: sha256}. replacing: those of an interrupted export. rewritten: names of files that may have any
    content."""

    files: Mapping[str, str] = field(default_factory=dict[str, str])
    replacing: Mapping[str, str] = field(default_factory=dict[str, str])
    rewritten: frozenset[str] = frozenset()

    def text(self) -> str:
        found = {"about": _ABOUT, "files": dict(self.files), "rewritten": sorted(self.rewritten)}
        return json.dumps(found | {"replacing": dict(self.replacing)}, indent=1, sort_keys=True) + "\n"


def write_owned(out: Path, texts: Mapping[str, str], rewritten: Collection[str] = ()) -> list[Path]:
    """Writes the files, {name: text}, into the folder, which is created; gives the paths, with the manifest.

    rewritten: those that the project itself changes. Each file is replaced in one step.
    UnsupportedError, before anything is written, where `check_owned` says so.
    """
    check_owned(out, texts)
    out.mkdir(parents=True, exist_ok=True)
    known = _read(out)
    new = {name: _hash(text.encode()) for name, text in texts.items()}
    kept = {name: sha for name, sha in _unchanged(out, known).items() if name not in new or sha != new[name]}
    changing = known.rewritten | set(rewritten)
    write_whole(out / MANIFEST, Manifest(kept, new, changing).text())
    written = [write_whole(out / name, text) for name, text in texts.items()]
    return [*written, write_whole(out / MANIFEST, Manifest({**kept, **new}, {}, changing).text())]


def check_owned(out: Path, names: Collection[str]) -> None:
    """UnsupportedError for existing files of these names that no export wrote, that were changed since, or are
    links."""
    if not out.is_dir():
        return
    known = _read(out)
    unchanged = _unchanged(out, known)
    wrong = [name for name in names if os.path.lexists(out / name) and name not in unchanged]
    if wrong:
        shown = few((_described(out / name, known) for name in wrong), _SHOWN)
        raise UnsupportedError(
            f"out={str(out)!r}: {shown}: an export replaces only what an export wrote there, as it wrote it: "
            f"name another folder, or move these away (an export without {MANIFEST}, as older versions wrote it, can "
            "be deleted); nothing was written"
        )


def _described(path: Path, manifest: Manifest) -> str:
    if not _regular(path):
        return f"{path.name!r} is {'a link' if path.is_symlink() else 'no file'}"
    return f"{path.name!r} {'was changed' if path.name in {*manifest.files, *manifest.replacing} else 'is not ours'}"


def _unchanged(out: Path, manifest: Manifest) -> dict[str, str]:
    """{name: sha256} of files of the manifest that are unchanged (or may have any content)."""
    found: dict[str, str] = {}
    for name in {*manifest.files, *manifest.replacing}:
        if _regular(out / name):
            sha = _hash_of(out / name)
            if name in manifest.rewritten or sha in (manifest.files.get(name), manifest.replacing.get(name)):
                found[name] = sha
    return found


def _read(out: Path) -> Manifest:
    """The manifest of the folder, an empty one where there is none; UnsupportedError for a file that is no manifest."""
    path = out / MANIFEST
    if not os.path.lexists(path):
        return Manifest()
    wrong = UnsupportedError(
        f"out={str(out)!r}: {MANIFEST!r} is no manifest of an export: name another folder, or delete that file and "
        "what was exported"
    )
    if not _regular(path) or path.stat().st_size > _LARGEST:
        raise wrong
    try:
        found: object = json.loads(path.read_bytes())
    except (ValueError, RecursionError):
        raise wrong from None
    rows = cast("dict[str, object]", found) if isinstance(found, dict) else {}
    files, replacing, rewritten = _table(rows.get("files")), _table(rows.get("replacing")), rows.get("rewritten")
    names = cast("list[object]", rewritten) if isinstance(rewritten, list) else [None]
    if files is None or replacing is None or not all(_is(_NAME, name) for name in names):
        raise wrong
    return Manifest(files, replacing, frozenset(str(name) for name in names))


def _table(content: object) -> dict[str, str] | None:
    """Plain names of files and hashes; None for anything else, such as a name that leads out of the folder."""
    if not isinstance(content, dict):
        return None
    rows = cast("dict[str, object]", content)
    if not all(_is(_NAME, name) and _is(_HASH, sha) for name, sha in rows.items()):
        return None
    return {name: str(sha) for name, sha in rows.items()}


def _is(pattern: re.Pattern[str], word: object) -> bool:
    return isinstance(word, str) and pattern.fullmatch(word) is not None


def _regular(path: Path) -> bool:
    """Whether it is a regular file: no link, no folder, no pipe or device that could block."""
    try:
        return stat.S_ISREG(path.lstat().st_mode)
    except OSError:
        return False


def _hash_of(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while piece := file.read(1 << 20):
            digest.update(piece)
    return digest.hexdigest()


def _hash(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


# The part of an export's README about its robot: the order of its joints.


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
