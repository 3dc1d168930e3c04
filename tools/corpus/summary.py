"""The records as tables, and as counts for a results file."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

import numpy as np

from condyle.cli.common import table
from condyle.functions import DEFAULT
from tools.corpus.find import VARIANTS, Record

SHOWN = 3
HEADS = ("source", "format", "files", "variant", "loads", "refused", "wrong", "other", "compared")
COMPARED = ("numpy", "numpy, cpu")
_FOLDERS = re.compile(r"(?<=\s)/\S*/")
SINGULAR = 1e15  # a condition of M from which it is singular as far as float64 can say


def text(records: Sequence[Record], shown: int = SHOWN) -> str:
    """Counts by source, refusals by reason, then everything that is wrong, by name."""
    parts = [table(HEADS, _rows(records))]
    for title, groups in wrong(records).items():
        if groups:
            parts.append(f"\n{title}:")
            parts += [_line(what, names, shown) for what, names in _largest(groups)]
    parts.append("\nworst errors within the promised accuracy:")
    rows = (
        [title, *(f"{worst[name][0]:.1e}" if name in worst else "-" for name in DEFAULT)]
        for title, worst in _worst(records).items()
    )
    parts.append(table(("", *DEFAULT), list(rows)))
    return "\n".join(parts)


def counts(records: Sequence[Record]) -> dict[str, object]:
    """The same as data: sources, reasons of refusals with the number of files, worst errors and whose they are."""
    return {
        "sources": [dict(zip(HEADS, row, strict=True)) for row in _rows(records)],
        **{title: {what: len(names) for what, names in _largest(groups)} for title, groups in wrong(records).items()},
        "worst errors": {
            title: {name: {"error": f"{error:.1e}", "of": file} for name, (error, file) in worst.items()}
            for title, worst in _worst(records).items()
        },
        "seconds to compile": _seconds(records),
    }


def wrong(records: Sequence[Record]) -> dict[str, dict[str, list[str]]]:
    """What a person should look at: title -> what -> names of files."""
    found: dict[str, dict[str, list[str]]] = {
        title: defaultdict(list)
        for title in ("refused", "refused by both", "crashes", "beyond the accuracy", "singular", "not compared")
    }
    for record in records:
        name = f"{record['file']} ({record['variant']})"
        if record.get("status") == "refused":
            both = str(record.get("other", "")).startswith("refuses")
            found["refused by both" if both else "refused"][str(record["reason"])].append(name)
        elif record.get("status") != "loads" or "where" in record:
            found["crashes"][str(record.get("where", record.get("reason")))].append(name)
        elif record.get("compared", "not asked") not in (*COMPARED, "not asked"):
            said = (str(record[key]) for key in ("compared", "other") if key in record)
            found["not compared"][_FOLDERS.sub("", ": ".join(said))].append(name)
        if record.get("beyond"):
            found["beyond the accuracy"][", ".join(_list(record["beyond"]))].append(name)
        if doubt := _doubt(record):
            found["singular"][doubt].append(name)
    return found


def _doubt(record: Record) -> str:
    """Where our word on whether M is singular is not what its condition says."""
    if "condition" not in record:
        return ""
    said = "singular" in _map(record.get("numpy")).values()
    condition = float(str(record["condition"]))
    if said == (not condition < SINGULAR):
        return ""
    return "SingularError, but a finite condition" if said else "no SingularError, and a condition beyond 1e15"


def _rows(records: Sequence[Record]) -> list[list[str]]:
    rows: list[list[str]] = []
    for format, variants in VARIANTS.items():
        sources = sorted({str(r["source"]) for r in records if r["format"] == format})
        for source in [*sources, "all"] if sources else []:
            for variant in variants:
                mine = [r for r in records if (r["format"], r["variant"]) == (format, variant)]
                mine = [r for r in mine if source in (r["source"], "all")]
                status = Counter(str(r.get("status")) for r in mine)
                others = sum(r.get("other") == "loads" for r in mine)
                wrong = len(mine) - status["loads"] - status["refused"]
                compared = sum(r.get("compared") in COMPARED for r in mine)
                numbers = (status["loads"], status["refused"], wrong, others, compared)
                rows.append([source, format, str(len(mine)), variant, *map(str, numbers)])
    return rows


def _worst(records: Sequence[Record]) -> dict[str, dict[str, tuple[float, str]]]:
    """Format and target -> function -> the largest error within the promised accuracy, and the file that it is of."""
    found: dict[str, dict[str, tuple[float, str]]] = {}
    for format in VARIANTS:
        for target in ("numpy", "cpu"):
            mine = [r for r in records if r["format"] == format and target in r]
            if mine:
                found[f"{format} {target}"] = {name: pair for name in DEFAULT if (pair := _most(mine, target, name))}
    return found


def _most(records: Sequence[Record], target: str, name: str) -> tuple[float, str] | None:
    fine = [r for r in records if f"{target} {name}" not in _list(r.get("beyond"))]
    errors = [(e, f"{r['file']} ({r['variant']})") for r in fine if isinstance(e := _map(r[target]).get(name), float)]
    return max(errors, default=None)


def _seconds(records: Sequence[Record]) -> dict[str, float]:
    """Processor seconds of all seven functions on one core, cold."""
    whole = [sum(float(str(s)) for s in _map(r["compile_seconds"]).values()) for r in records if "compile_seconds" in r]
    if not whole:
        return {}
    median, high, most = np.quantile(whole, (0.5, 0.95, 1.0))
    return {"runs": len(whole), "median": float(median), "95th percentile": float(high), "most": float(most)}


def _largest(groups: Mapping[str, list[str]]) -> list[tuple[str, list[str]]]:
    return sorted(groups.items(), key=lambda item: (-len(item[1]), item[0]))


def _line(what: str, names: list[str], shown: int) -> str:
    more = f" and {len(names) - shown} more" if len(names) > shown else ""
    return f"{len(names):5d}  {what}\n       {', '.join(names[:shown])}{more}"


def _map(value: object) -> dict[str, object]:
    return value if isinstance(value, dict) else {}


def _list(value: object) -> list[str]:
    return value if isinstance(value, list) else []
