"""`condyle cache`: list, clear or locate the compiled functions."""

from __future__ import annotations

import argparse
import datetime
from dataclasses import asdict

from condyle.cli.common import add_json, show, show_json, table
from condyle.runtime import cache


def fill(command: argparse.ArgumentParser) -> None:
    command.description = "List, delete or locate the compiled functions that are kept for later runs."
    command.add_argument(
        "action",
        choices=("ls", "clear", "path"),
        help="ls: list them; clear: delete them all; path: print the folder that they are in",
    )
    add_json(command)
    command.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    action: str = arguments.action
    if action == "path":
        where = str(cache.path())
        show_json({"path": where}) if arguments.json else show(where)
        return 0
    if action == "clear":
        cleared = cache.clear()
        show_json({"cleared": cleared}) if arguments.json else show(f"compiled functions deleted: {cleared}")
        return 0
    entries = cache.entries()
    if arguments.json:
        show_json([asdict(entry) for entry in entries])
    elif entries:
        rows = [
            [entry.name[:12], f"{entry.bytes / 1000:.1f}", _date(entry.used), entry.description] for entry in entries
        ]
        show(table(("name", "kB", "last used", "what"), rows))
    return 0


def _date(seconds: float) -> str:
    return datetime.datetime.fromtimestamp(seconds).strftime("%Y-%m-%d %H:%M")
