"""The two processes that answer, one with each Condyle."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import IO, Any, cast

from tools.guard.tree import ROOT


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
        self.process.wait()

    def ask(self, ask: str, **question: object) -> Any:
        self.send({"ask": ask, **question})
        return self.receive()

    def send(self, question: dict[str, object]) -> None:
        self.asked = question
        print(json.dumps(question), file=cast("IO[str]", self.process.stdin), flush=True)

    def receive(self) -> Any:
        answer = cast("IO[str]", self.process.stdout).readline()
        if not answer:
            raise SystemExit(f"the process of {self.whose} ended at {self.asked}")
        return json.loads(answer)


class Both:
    """Both at once: each has a core."""

    def __init__(self, before: Path, old: Process, new: Process) -> None:
        self.old, self.new = old, new
        self.kept = before.parent / (before.name + "-cache")
        """What the earlier commit has built: asked for again, it is read. The C compiler's output is shared."""

    def ask(self, question: dict[str, object]) -> tuple[Any, Any]:
        cache = "cache" in question
        shared = question.get("target") == "c"
        self.old.send(question | ({"cache": str(self.kept)} if cache else {}))
        self.new.send(question | ({"cache": str(self.kept) if shared else ""} if cache else {}))
        return self.old.receive(), self.new.receive()
