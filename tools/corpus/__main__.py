"""The command: see the package's docstring. Exit status 1 if anything crashed or is beyond the promised accuracy."""

from __future__ import annotations

import argparse
import json
import os
import sys
from functools import partial
from pathlib import Path

from benchmarks import results
from condyle.cli.common import progress, show
from tools.corpus.find import ALL, How, Record, cases
from tools.corpus.runs import run_all
from tools.corpus.summary import counts, text, wrong


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(prog="python -m tools.corpus", description="Try the model files below some folders.")
    made.add_argument("folders", metavar="DIR", nargs="*", type=Path)
    made.add_argument("--jobs", type=int, default=1, help="processes at a time (default 1)")
    made.add_argument("--json", metavar="FILE", type=Path, help="write one line of JSON a run")
    made.add_argument(
        "--read",
        metavar="FILE",
        nargs="+",
        type=Path,
        default=[],
        help="lines of earlier runs: later ones count, and what they have is not run again",
    )
    made.add_argument("--results", metavar="FILE", type=Path, help="write the counts, with machine, date and commit")
    made.add_argument("--only", metavar="TEXT", default="", help="files whose path below DIR contains this")
    made.add_argument("--every", metavar="N", type=int, default=1, help="of each source, every N-th file")
    made.add_argument("--variants", nargs="+", choices=ALL, default=ALL, help="the ways to load (default all)")
    made.add_argument(
        "--assets", metavar="DIR", type=Path, action="append", default=[], help="load(assets=...) of MJCF"
    )
    made.add_argument("--states", type=int, default=How.states)
    made.add_argument("--snap", metavar="RAD", type=float, default=How.snap, help="load(snap=...), 0 if not given")
    made.add_argument(
        "--most", metavar="NV", type=int, default=How.most, help="compare robots up to this size; 0: load only"
    )
    made.add_argument("--cpu-most", metavar="NV", type=int, default=How.cpu_most, help="compile robots up to this size")
    made.add_argument("--seconds", type=float, default=How.seconds, help="the limit of one run, on the wall")
    made.add_argument("--shown", metavar="N", type=int, default=3, help="names shown of each kind")
    return made


def main(words: list[str] | None = None) -> int:
    given = parser().parse_args(words)
    os.environ |= {"CONDYLE_NO_CACHE": "1", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}  # times are cold
    assets = tuple(str(path.resolve()) for path in given.assets)
    how = How(given.states, given.snap, given.most, given.cpu_most, assets, given.seconds)
    picked = partial(cases, only=given.only, every=given.every, variants=given.variants)
    todo = [case for folder in given.folders for case in picked(folder.resolve())]
    known = earlier(given.read)
    todo = [case for case in todo if (case.name, case.variant) not in known]
    records = list(known.values())
    with (given.json or Path(os.devnull)).open("w", encoding="utf-8") as out:
        for done, record in enumerate(run_all(todo, how, given.jobs), 1):
            records.append(record)
            print(json.dumps(record), file=out, flush=True)
            progress(str(record["file"]), done, len(todo))
    progress("")
    show(text(records, given.shown))
    if given.results:
        results.write(given.results, {"machine": results.machine(), **results.certificate(), **counts(records)})
    found = wrong(records)
    return int(any(found[title] for title in ("crashes", "beyond the accuracy", "singular")))


def earlier(files: list[Path]) -> dict[tuple[str, str], Record]:
    lines = [json.loads(line) for file in files for line in file.read_text(encoding="utf-8").splitlines()]
    return {(record["file"], record["variant"]): record for record in lines}


if __name__ == "__main__":
    sys.exit(main())
