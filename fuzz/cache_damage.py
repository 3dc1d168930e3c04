"""Kinds of damage to a cache folder."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import stat
from pathlib import Path

import numpy as np

FILES = ("object.so", "manifest.json")
OWN = (".aside", ".size")
JSON = (b"[" * 4000, b"[" * 100_000, b"{}", b"[]", b"null", b"1e999", b"\xff\xfe", b'{"a":' * 600, b"1" * 4000)


def tree(folder: Path) -> dict[str, tuple[object, ...]]:
    """Modes, times and contents of all files in a folder."""
    found: dict[str, tuple[object, ...]] = {}
    for path in sorted(folder.rglob("*")):
        status = path.lstat()
        data = path.read_bytes() if stat.S_ISREG(status.st_mode) else b""
        found[str(path.relative_to(folder))] = status.st_mode, status.st_size, status.st_mtime_ns, data
    return found


def damage(rng: np.random.Generator, root: Path, outside: Path, entries_only: bool = False) -> bool:
    """One change; True if the folder itself was changed, so that it may be refused.

    entries_only: leaves the folder itself alone, for damage while the cache is in use. Only this user could then
    replace the build folder by a link.
    """
    if not entries_only and rng.random() < 0.1:
        with contextlib.suppress(OSError):
            folder(rng, root, outside)
        return True
    if root.is_symlink() or (root.is_dir() and not os.access(root, os.R_OK | os.X_OK)):
        return True  # through a link this would change what lies outside
    places = [path for path in root.iterdir() if len(path.name) == 64] if root.is_dir() else []
    places += [root / name for name in (OWN if not entries_only and rng.random() < 0.3 else ())]
    if rng.random() < 0.1:
        places.append(root / "".join(rng.choice(list("0123456789abcdef"), 64)))
    if places:
        with contextlib.suppress(OSError):  # what was damaged before may not be damaged again
            place = places[int(rng.integers(len(places)))]
            if place.is_dir() and not place.is_symlink() and rng.random() < 0.75:
                inside(rng, place / str(rng.choice(FILES)), places, outside)
            else:
                replaced(rng, place, outside)
    return False


def folder(rng: np.random.Generator, root: Path, outside: Path) -> None:
    """Changes the mode of the cache folder or its parent, or replaces the cache folder."""
    way = int(rng.integers(5))
    if way == 0 and root.is_dir() and not root.is_symlink():
        root.chmod(int(rng.choice([0o777, 0o770, 0o702, 0o1777, 0o500, 0])))
    elif way == 1:
        root.parent.chmod(int(rng.choice([0o777, 0o770, 0o1777])))
    else:
        gone = root.with_name(f"gone{rng.integers(2**31)}")
        if root.exists() or root.is_symlink():
            root.rename(gone)
        if way == 2:
            root.symlink_to(outside / "folder" if rng.random() < 0.5 else gone)
        elif way == 3:
            root.write_bytes(b"a file")


def replaced(rng: np.random.Generator, place: Path, outside: Path) -> None:
    """Replaces an entry or a file by something else."""
    way = int(rng.integers(8))
    if way == 0 and place.exists() and not place.is_symlink():
        place.chmod(int(rng.choice([0, 0o400, 0o777, 0o666])))
        return
    if place.is_dir() and not place.is_symlink():
        shutil.rmtree(place, ignore_errors=True)
    else:
        place.unlink(missing_ok=True)
    if way == 1:
        place.write_bytes(bytes(int(rng.integers(3))))
    elif way == 2:
        place.symlink_to(outside / str(rng.choice(["file", "folder", "none"])))
    elif way == 3:
        os.mkfifo(place)
    elif way == 4:
        deep = place.joinpath(*["d"] * int(rng.integers(1, 40)))
        deep.mkdir(parents=True)
        (deep / "link").symlink_to(outside / "folder")
    elif way == 5:
        place.touch()
        os.truncate(place, int(rng.choice([1 << 20, 1 << 41])))
    elif way == 6:
        place.mkdir(mode=0)


def put(file: Path, data: bytes) -> None:
    """Writes a file; not through a link, and not into a pipe, which would block."""
    if not stat.S_ISREG(file.lstat().st_mode if file.exists() or file.is_symlink() else stat.S_IFREG):
        shutil.rmtree(file) if file.is_dir() and not file.is_symlink() else file.unlink()
    file.write_bytes(data)


def inside(rng: np.random.Generator, file: Path, places: list[Path], outside: Path) -> None:
    """Damages one of the two files of an entry, or plants a whole entry."""
    way = int(rng.integers(8))
    data = file.read_bytes() if file.is_file() and file.stat().st_size < 1 << 20 else b""
    if way == 0 and data:
        place = int(rng.integers(len(data)))
        put(file, data[:place] + bytes([data[place] ^ (1 << int(rng.integers(8)))]) + data[place + 1 :])
    elif way == 1:
        put(file, data[: int(rng.integers(len(data) + 1))])
    elif way == 2:
        put(file, data + rng.bytes(int(rng.integers(1, 50))))
    elif way == 3 and file.name == FILES[1]:
        put(file, odd_json(rng, data))
    elif way == 4:
        other = places[int(rng.integers(len(places)))]
        swap(file.parent, other)
    elif way == 5 and not file.with_name("moved").exists():
        swap(file, file.with_name(FILES[file.name == FILES[0]]))
    elif way == 6:
        plant(rng, file.parent)
    else:
        replaced(rng, file, outside)


def swap(one: Path, other: Path) -> None:
    """Exchanges the names of two entries, or of two files."""
    if one != other and one.exists() and other.exists():
        aside = one.with_name("moved")
        one.rename(aside)
        other.rename(one)
        aside.rename(other)


def plant(rng: np.random.Generator, place: Path) -> None:
    """A whole entry of other bytes that fits its own manifest, under the name of another key."""
    data = rng.bytes(100)
    manifest = {"key": "0" * 64, "sha256": hashlib.sha256(data).hexdigest(), "description": "planted"}
    put(place / FILES[0], data)
    put(place / FILES[1], json.dumps(manifest).encode())


def odd_json(rng: np.random.Generator, data: bytes) -> bytes:
    """Invalid text, or a manifest with a value of another type."""
    if rng.random() < 0.5:
        return JSON[int(rng.integers(len(JSON)))]
    with contextlib.suppress(ValueError, RecursionError):
        manifest = json.loads(data)
        if isinstance(manifest, dict) and manifest:
            name = str(rng.choice(sorted(manifest)))
            odd = (None, 0, -1.5, [], {}, "\ud800", "x" * 5000, [[["x"]]], True)
            return json.dumps(manifest | {name: odd[int(rng.integers(len(odd)))]}).encode()
    return b""
