"""Programs of this machine that tests call: where they are, and what they said."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

HERE = str(Path(sys.executable).parent)
CMAKE = shutil.which("cmake") or shutil.which("cmake", path=HERE)
"""The system's, or that of the wheel."""


def call(command: Sequence[str | Path], cwd: Path, timeout: float = 300) -> str:
    """What it printed; its exit status is 0."""
    words = [str(word) for word in command]
    done = subprocess.run(words, cwd=cwd, capture_output=True, text=True, timeout=timeout, check=False)
    assert done.returncode == 0, (done.stdout + done.stderr)[-4000:]
    return done.stdout + done.stderr
