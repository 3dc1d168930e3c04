"""`condyle cache`: list, clear or locate the compiled functions."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from condyle.cli.common import add_json, show, show_json, table
from condyle.runtime import cache

if TYPE_CHECKING:
    from argparse import _SubParsersAction  # pyright: ignore[reportPrivateUsage]


def add(commands: _SubParsersAction[argparse.ArgumentParser]) -> None:
    command = commands.add_parser("cache", help="list, clear or locate the compiled functions")
    command.add_argument("action", choices=("ls", "clear", "path"))
    add_json(command)
    command.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    action: str = arguments.action
    if action == "path":
        where = str(cache.path())
        show_json({"path": where}) if arguments.json else show(where)
        return 0
    entries = cache.entries()
    if action == "clear":
        cache.clear()
        show_json({"cleared": len(entries)}) if arguments.json else show(f"cleared {len(entries)}")
        return 0
    if arguments.json:
        show_json([{"name": entry.name, "bytes": entry.bytes} for entry in entries])
    elif entries:
        show(table(("name", "kB"), [[entry.name, f"{entry.bytes / 1000:.1f}"] for entry in entries]))
    return 0
