"""From a path or a bundled name to a Robot: the root element says which reader."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from difflib import get_close_matches
from numbers import Real
from pathlib import Path

from numpy.typing import ArrayLike

from condyle.errors import Finding, ModelError
from condyle.model.array import LARGEST, Array, frozen, moderate
from condyle.model.finish import GRAVITY, Options, finish
from condyle.model.robot import Robot
from condyle.readers import urdf, xml
from condyle.readers.folders import Folders, named_folders
from condyle.readers.mjcf_compiler import Limits
from condyle.readers.mjcf_tree import ENCODINGS, MAX_DEPTH
from condyle.readers.shapes import urdf_shapes
from condyle.specification.integrators import BUNDLED


def load_robot(
    source: str | os.PathLike[str],
    *,
    floating_base: bool = False,
    gravity: ArrayLike | None = None,
    strict: bool = False,
    snap: float = 1e-9,
    mimic: str = "exact",
    unmodelled: str = "refuse",
    assets: Sequence[str | os.PathLike[str]] = (),
    timeout: float = 60.0,
    memory: int = 2 << 30,
) -> Robot:
    """Return the robot of a URDF or MJCF file, or a bundled one; arguments and errors are those of `condyle.load`.

    Warnings about bundled robots are not given; `check()` returns them.
    """
    down = None if gravity is None else _gravity(gravity)
    if not isinstance(snap, Real) or not 0.0 <= snap < 0.1:
        raise ModelError(f"snap={snap!r}, expected an angle of 0 to 0.1 rad")
    if not isinstance(source, (str, os.PathLike)) or source == "":  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ModelError(f"expected a path or one of {', '.join(BUNDLED)}, got {source!r}")
    options = Options(floating_base, strict, snap, mimic, unmodelled)
    assets = named_folders(assets)
    limits = Limits(timeout, memory)
    if isinstance(source, str) and source in BUNDLED:
        from importlib import resources

        quiet = replace(options, quiet=True)
        with resources.as_file(resources.files("condyle.robots") / f"{source}.urdf") as path:
            return _load(path, f"{source}.urdf", down, quiet, (), limits)
    if isinstance(source, str) and source.lstrip()[:1] == "<":
        raise ModelError("expected a path or a bundled name, got XML text: write it to a file and load that")
    path = Path(source)
    if not _exists(path):
        raise ModelError([_missing(str(source), path)])
    return _load(path, str(path), down, options, assets, limits)


def _exists(path: Path) -> bool:
    """False for a path that is too long to be one."""
    try:
        return path.exists()
    except (OSError, ValueError):
        return False


def _missing(source: str, path: Path) -> Finding:
    """What is wrong with a path that leads nowhere, and what may have been meant."""
    if "://" in source:
        cure = "give the file's path: ROS knows it, `ros2 pkg prefix --share PACKAGE` prints that of a package"
        return Finding("error", "is a URI, expected a path", source, cure=cure)
    meant = [repr(name) for name in get_close_matches(source.lower(), BUNDLED, 1)]
    try:
        beside = {other.name.lower(): other.name for other in path.parent.iterdir() if other.is_file()}
    except OSError:
        beside = dict[str, str]()
    near = get_close_matches(path.name.lower(), beside, 2, 0.75)
    meant += [repr(str(path.with_name(beside[name]))) for name in near]
    hint = f"; did you mean {' or '.join(meant)}?" if meant else ""
    if not path.parent.is_dir():
        hint += f"; there is no folder {str(path.parent)!r}"
    return Finding("error", f"does not exist{hint}", str(path), cure=f"give a path, or one of {', '.join(BUNDLED)}")


def _load(
    path: Path,
    file: str,
    gravity: Array | None,
    options: Options,
    assets: Sequence[str | os.PathLike[str]],
    limits: Limits,
) -> Robot:
    data = xml.read_bytes(path)
    root = xml.parse(data, file, depth=MAX_DEPTH)
    if root.tag == "robot":
        root = xml.parse(data, file)
        said, findings = urdf.read(root, file, frozen(GRAVITY if gravity is None else gravity, 3), options.snap)
        return finish(urdf_shapes(root, file).put_into(said), options, findings)
    if root.tag == "mujoco":
        from condyle.readers import mjcf

        root = xml.parse(data, file, depth=MAX_DEPTH, encodings=ENCODINGS)
        name = root.get("model") or path.stem
        return mjcf.read(root, path, name, gravity, options, Folders(path.parent, assets), limits)
    kind = "SDF, which is not supported: convert it to URDF" if root.tag == "sdf" else "neither URDF nor MJCF"
    message = f"<{root.tag}> is {kind}; the root element must be <robot> or <mujoco>"
    raise ModelError([Finding("error", message, file, root.line)])


def _gravity(value: ArrayLike) -> Array:
    try:
        array = frozen(value, 3)
    except (ValueError, TypeError) as error:
        raise ModelError(f"gravity={value!r}: {error}; give X, Y, Z in m/s^2, such as (0, 0, -9.81)") from None
    if not moderate(array):
        raise ModelError(f"gravity={value!r}: not finite, or beyond {LARGEST:.0e} m/s^2")
    return array
