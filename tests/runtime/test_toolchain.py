"""The compiler is found, obeyed, quoted and stopped."""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from condyle.errors import BuildError
from condyle.runtime.toolchain import find_compiler, run


def script(path: Path, text: str) -> str:
    path.write_text("#!/bin/sh\n" + text)
    path.chmod(0o755)
    return str(path)


def test_the_compiler_says_who_it_is() -> None:
    compiler = find_compiler()
    assert Path(compiler.path).is_file()
    assert compiler.version
    assert len(compiler.identity) == 64


def test_a_chosen_compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = tmp_path / "a 'quoted' $(name)"
    place.mkdir()
    own = script(place / "cc", 'echo "my compiler 1.0"\n')
    monkeypatch.setenv("CONDYLE_CC", own)
    assert find_compiler().version == "my compiler 1.0"
    before = find_compiler().identity
    script(place / "cc", 'echo "my compiler 2.0 "\n')
    assert find_compiler().identity != before


def test_no_compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CONDYLE_CC", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(BuildError, match=r"cc, gcc, clang.*numpy"):
        find_compiler()
    monkeypatch.setenv("CONDYLE_CC", "no-such-compiler")
    with pytest.raises(BuildError, match="no-such-compiler"):
        find_compiler()


def test_a_failure_quotes_command_and_message(tmp_path: Path) -> None:
    command = script(tmp_path / "fail", "echo first; for i in $(seq 100); do echo line $i; done; exit 3\n")
    with pytest.raises(BuildError) as info:
        run([[command, "an argument"]], tmp_path, 10.0, 1)
    text = str(info.value)
    assert "status 3" in text
    assert f"{command} 'an argument'" in text
    assert "first" in text
    assert text.endswith("line 5\n" + "\n".join(f"line {k}" for k in range(6, 20))), "20 lines: first, and 1 to 19"


def test_arguments_meet_no_shell(tmp_path: Path) -> None:
    run([["touch", "$(touch evil); a b"]], tmp_path, 10.0, 1)
    assert [path.name for path in tmp_path.iterdir()] == ["$(touch evil); a b"]


def test_what_is_no_program(tmp_path: Path) -> None:
    with pytest.raises(BuildError, match="cannot run"):
        run([[str(tmp_path / "nothing")]], tmp_path, 10.0, 1)


def test_time_is_over(tmp_path: Path) -> None:
    command = script(tmp_path / "slow", "sleep 60 & echo $! > child; wait\n")
    start = time.monotonic()
    with pytest.raises(BuildError, match="not finished after"):
        run([[command]], tmp_path, 0.5, 1)
    assert time.monotonic() - start < 30
    assert gone(int((tmp_path / "child").read_text()))


def gone(pid: int) -> bool:
    """Whether a process has ended (a moment is allowed; a zombie has ended)."""
    for _ in range(200):
        try:
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return True
        except OSError:
            return True
        time.sleep(0.01)
    return False


def test_one_failure_stops_the_others(tmp_path: Path) -> None:
    slow = script(tmp_path / "slow", "echo $$ > pid; exec sleep 60\n")
    fail = script(tmp_path / "fail", "while [ ! -s pid ]; do sleep 0.01; done; exit 1\n")
    with pytest.raises(BuildError, match="status 1"):
        run([[slow], [fail]], tmp_path, 10.0, 2)
    assert gone(int((tmp_path / "pid").read_text()))


def test_an_interrupt_ends_the_compiler_and_its_children(tmp_path: Path) -> None:
    command = script(tmp_path / "slow", "sleep 60 & echo $! > child; wait\n")
    code = f"""
        import signal
        from pathlib import Path
        from condyle.runtime.toolchain import run
        signal.signal(signal.SIGINT, signal.default_int_handler)  # a background run inherits an ignored one
        run([[{command!r}]], Path({str(tmp_path)!r}), 60.0, 1)
    """
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    with process:
        end = time.monotonic() + 20
        while not ((tmp_path / "child").exists() and (tmp_path / "child").read_text()) and time.monotonic() < end:
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        _, message = process.communicate(timeout=10)
    assert b"KeyboardInterrupt" in message
    assert gone(int((tmp_path / "child").read_text()))


def test_foreign_include_paths_are_not_passed_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CPATH", "/evil")
    monkeypatch.setenv("LC_ALL", "fr_FR.UTF-8")
    command = script(tmp_path / "show", 'echo "$CPATH|$LC_ALL" > seen\n')
    run([[command]], tmp_path, 10.0, 1)
    assert (tmp_path / "seen").read_text() == "|C\n"


def test_many_at_once(tmp_path: Path) -> None:
    """Each waits for the three others."""
    text = 'touch met$1; while [ "$(echo met?)" != "met0 met1 met2 met3" ]; do sleep 0.01; done\n'
    meet = script(tmp_path / "meet", text)
    run([[meet, str(k)] for k in range(4)], tmp_path, 10.0, 4)


def test_the_identity_of_a_compiler_is_its_first_line_and_what_it_assumes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its macros are those of this machine, by `-march=native`."""
    own = script(tmp_path / "cc", 'if [ "$1" = --version ]; then echo "cc 1"; echo "a licence"; else echo "$@"; fi\n')
    monkeypatch.setenv("CONDYLE_CC", own)
    compiler = find_compiler()
    macros = "-march=native -dM -E -xc /dev/null\n"
    assert (compiler.path, compiler.version) == (own, "cc 1")
    assert compiler.identity == hashlib.sha256(f"cc 1\n{macros}".encode()).hexdigest()


def test_the_first_compiler_on_the_path_is_asked_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CONDYLE_CC", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    for name in ("clang", "gcc", "cc"):
        own = script(tmp_path / name, f'echo {name} >> {tmp_path}/asked; echo "{name} 1"\n')
        assert find_compiler() == find_compiler() and find_compiler().path == own
        assert (tmp_path / "asked").read_text() == f"{name}\n" * 2, "its version, and its macros"
        (tmp_path / "asked").unlink()


@pytest.mark.parametrize(
    "name", ["CPATH", "C_INCLUDE_PATH", "LIBRARY_PATH", "DEPENDENCIES_OUTPUT", "SUNPRO_DEPENDENCIES"]
)
def test_nothing_foreign_gets_into_a_build(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a compiler writes between its passes lies in the folder of the build."""
    monkeypatch.setenv(name, "/evil")
    monkeypatch.setenv("TMPDIR", "/elsewhere")
    monkeypatch.setenv("KEPT", "as it is")
    command = script(tmp_path / "show", f'echo "[${name}] $TMPDIR $KEPT"\n')
    assert run([[command]], tmp_path, 10.0, 1) == [f"[] {tmp_path} as it is\n"]
    assert run([[command]], None, 10.0, 1) == ["[] /elsewhere as it is\n"]


def test_what_each_printed_comes_in_the_order_of_the_commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One at a time where none may run at once; on a disk where there are no files in memory."""
    wait = script(tmp_path / "wait", "while [ ! -e go ]; do sleep 0.01; done; echo waited; echo and >&2\n")
    go = script(tmp_path / "go.sh", "touch go; echo went\n")
    assert run([[wait], [go]], tmp_path, 10.0, 2) == ["waited\nand\n", "went\n"]

    def refuse(*_: object) -> int:
        raise OSError

    monkeypatch.setattr(os, "memfd_create", refuse)
    assert run([[go], [wait]], tmp_path, 10.0, 0) == ["went\n", "waited\nand\n"]
    assert run([], tmp_path, 10.0, 1) == []


def test_no_more_than_were_asked_for_run_at_once(tmp_path: Path) -> None:
    alone = script(tmp_path / "alone", "mkdir busy && sleep 0.02 && rmdir busy\n")
    run([[alone]] * 3, tmp_path, 10.0, 1)
