"""Generated code as texts for people, for the fixture `golden`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from condyle.backends.c import source
from condyle.backends.common.exported_files import MANIFEST
from condyle.backends.cuda.cpp import project

Golden = Callable[[str, str], None]
HAND_WRITTEN = [
    *sorted((Path(source.__file__).parent / "support").glob("*.h")),
    *sorted((Path(project.__file__).parent / "support").glob("*.cuh")),
]


def without_support(text: str) -> str:
    """The names of files that are written by hand, in place of their texts."""
    for path in HAND_WRITTEN:
        text = text.replace(path.read_text(encoding="ascii"), f"<{path.name}>\n")
    return text


def project_text(files: Iterable[Path]) -> str:
    """All files but the manifest, one after the other."""
    return "".join(
        f"==== {path.name}\n{without_support(path.read_text(encoding='ascii'))}"
        for path in files
        if path.name != MANIFEST
    )
