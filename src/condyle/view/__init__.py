"""Robots that are seen: a scene as data, a picture of it, a page in the browser."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from os import PathLike
from pathlib import Path

from condyle.errors import UnsupportedError
from condyle.model.robot import Robot
from condyle.readers.shapes import read_visuals
from condyle.specification.integrators import THEMES, USUAL
from condyle.text import write_whole
from condyle.view.drawing import draw
from condyle.view.ground import HardPlane, SmoothGround
from condyle.view.handle import View
from condyle.view.picture import svg, write_png
from condyle.view.robot_parts import Shell, shells
from condyle.view.scene import Scene, poses_by, scene_of, with_body_frames

__all__ = [
    "HardPlane",
    "Scene",
    "SmoothGround",
    "View",
    "poses_by",
    "save",
    "scene_of",
    "serve",
    "shells_of",
    "with_body_frames",
]


def save(scene: Scene, file: str | PathLike[str], view: str, layers: Sequence[str] | None, theme: str) -> None:
    """Write a picture, .svg or .png by its name. UnsupportedError for another ending, a missing folder, a word."""
    if not isinstance(file, (str, PathLike)):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise UnsupportedError(f"file={file!r}: name a .svg or a .png file")
    path = Path(file)
    if path.suffix not in (".svg", ".png"):
        raise UnsupportedError(f"{path}: a picture is a .svg or a .png file")
    if not path.parent.is_dir():
        raise UnsupportedError(f"{path}: there is no folder {str(path.parent)!r}: make it, or name another")
    check_theme(theme)
    picture = draw(scene, view, USUAL if layers is None else layers)
    try:
        if path.suffix == ".png":
            write_png(picture, path, theme)
        else:
            write_whole(path, svg(picture, theme))
    except OSError as error:  # which would name a file of ours beside the one that was asked for
        raise UnsupportedError(f"{path} cannot be written: {error.strerror or error}") from None


def check_theme(theme: str) -> None:
    """UnsupportedError for an unknown word."""
    if theme not in THEMES:
        raise UnsupportedError(f"theme={theme!r}, expected one of {', '.join(THEMES)}")


def shells_of(
    robot: Robot,
    meshes: str | PathLike[str] | None,
    assets: Sequence[str | PathLike[str]],
    file: str | PathLike[str] | None,
) -> tuple[Shell, ...]:
    """The meshes of a robot's file, if they are asked for. ModelError, UnsupportedError."""
    if meshes is None:
        return ()
    if file is not None:
        raise UnsupportedError("meshes: they are shown on a page, not in a picture: leave out file= or meshes=")
    return shells(read_visuals(meshes, assets), robot.frames)


def serve(
    scene: Scene,
    again: Callable[..., Scene],
    layers: Sequence[str] | None,
    theme: str,
    port: int,
    browser: bool,
    shells: tuple[Shell, ...] = (),
) -> View:
    """A page, opened in the user's browser if asked for. UnsupportedError."""
    check_theme(theme)
    page = View(scene, again, layers, port, theme == "dark", shells)
    if browser:
        import webbrowser

        webbrowser.open(page.address)
    return page
