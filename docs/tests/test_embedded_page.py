"""The page of microcontrollers, followed: each file is written and each command run where the page has it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from tests.programs import skip_without

PAGE = Path(__file__).resolve().parents[2] / "docs" / "how-to" / "embedded.md"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def test_the_page_is_followed(tmp_path: Path) -> None:
    """Another version of the compiler has other counts: then names and columns are compared alone."""
    skip_without("arm-none-eabi-gcc", "qemu-system-arm")
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    printed, ran = "", 0
    for kind, text in BLOCK.findall(PAGE.read_text()):
        if kind == "c":
            (tmp_path / "control.c").write_text(text)
        elif kind == "text":
            same = text in printed or re.sub(r"[\d.]+|;.*", "", text) in re.sub(r"[\d.]+|;.*", "", printed)
            assert same and ("12.2.1" not in printed or text in printed), printed
        else:
            assert kind == "sh"
            done = subprocess.run(
                ["bash", "-euo", "pipefail", "-c", text],
                cwd=tmp_path,
                env={**os.environ, "PATH": path},
                capture_output=True,
                text=True,
                check=False,
                timeout=300,
            )
            assert done.returncode == 0, done.stdout + done.stderr
            printed, ran = done.stdout + done.stderr, ran + 1
    assert ran == 2
    assert len(re.sub(r"```.*?```", "", PAGE.read_text(), flags=re.DOTALL).split()) <= 900
