"""Hashes of exported projects, by target and file."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import condyle
from tools.guard.worker.normal import LANGUAGES, digest, normal

PROSE = ("README.md", "report.html", "condyle-export.json")
"""Words and hashes of the other files: not compared."""


def hashes(robot: Any, target: str, functions: Sequence[str], **options: Any) -> dict[str, str]:
    with tempfile.TemporaryDirectory(prefix="condyle-guard-") as folder:
        try:
            paths = condyle.export(robot, target, folder, functions=functions, name="robot", **options)
        except Exception as error:
            return {"export": type(error).__name__}
        return {path.name: _hash(path) for path in paths if path.name not in PROSE}


def _hash(path: Path) -> str:
    text, language = path.read_text(encoding="utf-8"), LANGUAGES.get(path.suffix)
    if path.suffix == ".hex":
        return digest(text)
    return digest(normal(text, language, condyle.__version__) if language else text.replace(condyle.__version__, ""))
