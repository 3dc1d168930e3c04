"""The command `condyle`: one file a subcommand, its name is the word typed. argparse, since it costs no dependency."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

import condyle
from condyle.cli import bench, cache, check, export, fpga, info
from condyle.cli.common import say
from condyle.errors import BuildError, CondyleError, ModelError, SingularError

FINE, WANTING, BAD_USE = 0, 1, 2
COMMANDS = (info, check, bench, export, fpga, cache)


def parser() -> argparse.ArgumentParser:
    """The whole command line."""
    top = argparse.ArgumentParser(
        prog="condyle",
        description="Compiles the rigid-body dynamics of one robot.",
        epilog="exit status: 0 fine, 1 found wanting, 2 bad use",
    )
    top.add_argument("--version", action="version", version=f"condyle {condyle.__version__}")
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for module in COMMANDS:
        module.add(commands)
    return top


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; the answer is the exit status."""
    arguments = parser().parse_args(argv)
    try:
        status: int = arguments.run(arguments)
    except (ModelError, BuildError, SingularError) as error:
        return _fail(error, WANTING)
    except BrokenPipeError:
        return FINE
    except (CondyleError, OSError) as error:
        return _fail(error, BAD_USE)
    except KeyboardInterrupt:
        return 130
    return status


def _fail(error: Exception, status: int) -> int:
    say(f"condyle: {error}")
    sys.stdout.flush()
    return status
