"""An earlier commit, installed in a folder of its own beside the packages of this environment."""

from __future__ import annotations

import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent


@contextmanager
def installed(commit: str, folder: Path | None) -> Iterator[Path]:
    """The folder that holds `condyle` as it was at `commit`, for PYTHONPATH; kept if it is named, and used again."""
    if folder is not None:
        if not (folder / "condyle").is_dir():
            _install(commit, folder)
        yield folder.resolve()
        return
    with tempfile.TemporaryDirectory(prefix="condyle-guard-") as made:
        _install(commit, Path(made) / "site")
        yield Path(made) / "site"


def _install(commit: str, site: Path) -> None:
    with tempfile.TemporaryDirectory(prefix="condyle-guard-") as folder:
        packed = Path(folder) / "tree.tar"
        _run("git", "archive", "--output", str(packed), commit)
        with tarfile.open(packed) as archive:
            archive.extractall(Path(folder) / "tree", filter="data")
        tree = str(Path(folder) / "tree")
        _run(sys.executable, "-m", "pip", "install", "--no-deps", "--quiet", "--target", str(site), tree)


def _run(*command: str) -> None:
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"status {done.returncode} from {' '.join(command)}\n{done.stderr}")
