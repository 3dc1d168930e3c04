"""The command `condyle`: one file a subcommand, its name is the word typed. argparse, since it costs no dependency."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import NoReturn

import condyle
from condyle.cli.common import say
from condyle.errors import BuildError, CondyleError, ModelError, SingularError

FINE, WANTING, BAD_USE = 0, 1, 2
OPTION, NEGATIVE = re.compile(r"--[a-z][a-z-]*"), re.compile(r"-\.?[0-9]")
COMMAND = "COMMAND"
COMMANDS = {
    "info": "print the joints, bodies and warnings of a robot",
    "check": "compare every function with the reference, and check the model",
    "explain": "print the routes, the steps and the operations of a function",
    "bench": "time each function for several batch sizes",
    "export": "write the functions as C, CUDA, CasADi or Verilog",
    "fpga": "simulate a robot's FPGA accelerator, or report on it",
    "view": "show a robot in the browser, or draw it into a file",
    "cache": "list, clear or locate the compiled functions",
}
"""Each subcommand, the file of its name, in a line."""


class Parser(argparse.ArgumentParser):
    """A parser that says what an argument means where it is missing or wrong."""

    def error(self, message: str) -> NoReturn:
        named = set(re.findall(r"\w+", message))
        for action in self._actions:
            name = action.metavar if isinstance(action.metavar, str) else action.dest
            if not action.option_strings and name in named and action.help:
                message += f"\n{name}: {action.help}"
        if COMMAND in named:
            message += "".join(f"\n  {name:8} {what}" for name, what in COMMANDS.items())
        super().error(f"{message}\n{self.prog} --help says more")


def parser(command: str | None) -> argparse.ArgumentParser:
    """The command line, with the arguments of one command: the others' files are not imported, which takes time."""
    top = Parser(
        prog="condyle",
        description="Compile the rigid-body dynamics of one robot; `condyle COMMAND --help` says more.",
        epilog="exit status: 0 success; 1 a check failed, or the model or a build did; 2 wrong arguments",
    )
    top.add_argument("--version", action="version", version=f"condyle {condyle.__version__}")
    commands = top.add_subparsers(dest="command", required=True, metavar=COMMAND)
    for name, what in COMMANDS.items():
        one = commands.add_parser(name, help=what)
        if name == command:
            import_module(f"condyle.cli.{name}").fill(one)
    return top


def joined(words: Sequence[str]) -> list[str]:
    """The words, a number or a list that begins with a minus sign together with the option before it: --q=-1,0."""
    found = list[str]()
    for word in words:
        if found and OPTION.fullmatch(found[-1]) and NEGATIVE.match(word):
            found[-1] += f"={word}"
        else:
            found.append(word)
    return found


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; the answer is the exit status."""
    words = joined(sys.argv[1:] if argv is None else argv)
    arguments = parser(words[0] if words else None).parse_args(words)
    try:
        status: int = arguments.run(arguments)
    except (ModelError, BuildError, SingularError) as error:
        return _fail(error, WANTING)
    except BrokenPipeError:
        return FINE
    except CondyleError as error:
        return _fail(error, BAD_USE)
    except OSError as error:
        return _fail(f"{error.filename}: {error.strerror}" if error.filename else error, BAD_USE)
    except KeyboardInterrupt:
        return 130
    return status


def _fail(error: Exception | str, status: int) -> int:
    say(f"condyle: {error}")
    sys.stdout.flush()
    return status
