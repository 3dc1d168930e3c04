"""The two processes that answer, one with each Condyle."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any, cast

import numpy as np

from tools.guard.cases import Question
from tools.guard.tree import ROOT, Before

WORKER = Path(__file__).with_name("worker")


class Process:
    """Answers with the Condyle of `site`, or of this environment."""

    def __init__(self, site: Path | None) -> None:
        environment = os.environ | {"CONDYLE_NO_CACHE": "1"} | ({} if site is None else {"PYTHONPATH": str(site)})
        command, pipe = (sys.executable, "-m", "tools.guard.worker"), subprocess.PIPE
        self.process = subprocess.Popen(command, cwd=ROOT, env=environment, stdin=pipe, stdout=pipe, text=True)
        self.whose = "this tree" if site is None else str(site)

    def __enter__(self) -> Process:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.communicate()  # ends it, and closes its pipes

    def ask(self, ask: str, **question: object) -> Any:
        self.send({"ask": ask, **question})
        return self.receive()

    def send(self, question: Mapping[str, object]) -> None:
        self.asked = question
        print(json.dumps(question), file=cast("IO[str]", self.process.stdin), flush=True)

    def receive(self) -> Any:
        answer = cast("IO[str]", self.process.stdout).readline()
        if not answer:
            raise SystemExit(f"the process of {self.whose} ended at {self.asked}")
        return json.loads(answer)


class Both:
    """Both at once: each has a core.

    The earlier commit's answers, and what it builds, are kept beside its folder: asked again, it need not compute. An
    answer is known by the commit, the question, the states, the packages, the compiler and what asks.
    """

    def __init__(self, before: Before, old: Process, new: Process) -> None:
        self.old, self.new = old, new
        self.folder = before.site.parent / (before.site.name + "-kept")
        self.folder.mkdir(mode=0o700, exist_ok=True)
        self._about = [before.commit, _surroundings()]
        self._remembered = False

    def load(self, states: Path, **question: object) -> tuple[Any, Any]:
        """This tree makes the states."""
        new = self.new.ask("load", states=str(states), **question)
        self._about += [json.dumps(question), hashlib.sha256(states.read_bytes()).hexdigest()]
        return self.old.ask("load", states=str(states), **question), new

    def ask(self, question: Question) -> tuple[Any, Any]:
        """Of the C compiler's output, which depends on the text alone, the earlier commit's is used by both."""
        in_c = question.get("target") == "c" and "cache" in question
        self.asked = question | ({"cache": str(self.folder / "built")} if "cache" in question else {})
        path = self.folder / f"{self._key(question)}.json"
        self._remembered = path.exists()
        if not self._remembered:
            self.old.send(self.asked)
        old = self._answer(path) if in_c else None
        self.new.send(self.asked if in_c else question)
        new = self.new.receive()
        return self._answer(path) if old is None else old, new

    def save(self, key: str, paths: tuple[Path, Path]) -> None:
        """Writes the arrays of an answer, before and now."""
        if self._remembered:
            self.old.ask(**self.asked)
            self._remembered = False
        for process, path in zip((self.old, self.new), paths, strict=True):
            process.ask("save", key=key, path=str(path))

    def _key(self, question: Question) -> str:
        return hashlib.sha256(json.dumps([*self._about, question]).encode()).hexdigest()

    def _answer(self, path: Path) -> Any:
        if self._remembered:
            return json.loads(path.read_text())
        answer = self.old.receive()
        aside = path.with_suffix(f".{os.getpid()}")
        aside.write_text(json.dumps(answer))
        aside.replace(path)
        return answer


def _surroundings() -> str:
    """What answers depend on beside Condyle: the packages, the compiler, and the questions themselves."""
    compiler = os.environ.get("CONDYLE_CC", "cc")
    said = subprocess.run([compiler, "--version"], capture_output=True, text=True, check=False).stdout
    made = hashlib.sha256(f"{sys.version} {np.__version__} {np.__file__} {said}".encode())
    for path in sorted(WORKER.glob("*.py")):
        made.update(path.read_bytes())
    return made.hexdigest()
