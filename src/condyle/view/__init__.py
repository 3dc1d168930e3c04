"""Robots that are seen: a scene as data, a picture of it, a page in the browser."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from os import PathLike
from pathlib import Path

from condyle.choices import LAYERS, THEMES
from condyle.errors import UnsupportedError
from condyle.text import write_whole
from condyle.view.drawing import draw
from condyle.view.handle import View
from condyle.view.png import write_png
from condyle.view.scene import Scene, nowhere, poses_of, scene_of, with_body_frames
from condyle.view.svg import svg

__all__ = ["Scene", "View", "nowhere", "poses_of", "save", "scene_of", "serve", "with_body_frames"]


def save(scene: Scene, file: str | PathLike[str], view: str, layers: Sequence[str] | None, theme: str) -> Path:
    """Write a picture, .svg or .png by its name. UnsupportedError for another ending, a missing folder, a word."""
    path = Path(file)
    if path.suffix not in (".svg", ".png"):
        raise UnsupportedError(f"{path}: a picture is a .svg or a .png file")
    if not path.parent.is_dir():
        raise UnsupportedError(f"{path}: there is no folder {str(path.parent)!r}: make it, or name another")
    check_theme(theme)
    picture = draw(scene, view, LAYERS if layers is None else layers)
    if path.suffix == ".png":
        write_png(picture, path, theme)
        return path
    return write_whole(path, svg(picture, theme))


def check_theme(theme: str) -> None:
    """UnsupportedError for an unknown word."""
    if theme not in THEMES:
        raise UnsupportedError(f"theme={theme!r}, expected one of {', '.join(THEMES)}")


def serve(
    scene: Scene, again: Callable[..., Scene], layers: Sequence[str] | None, theme: str, port: int, browser: bool
) -> View:
    """A page, opened in the user's browser if asked for. UnsupportedError."""
    check_theme(theme)
    page = View(scene, again, layers, port, theme == "dark")
    if browser:
        import webbrowser

        webbrowser.open(page.address)
    return page
