"""Figures for the docs: SVG files that are the same bytes for the same numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def pyplot() -> Any:
    """Matplotlib's, set up to draw SVG; None, said once, where it is not installed."""
    try:
        import matplotlib as mpl
    except ImportError:
        print("no figures: pip install matplotlib")
        return None
    mpl.use("svg")
    mpl.rcParams.update({"svg.hashsalt": "condyle", "font.size": 9, "svg.fonttype": "none"})
    from matplotlib import pyplot as found

    return found


def save(plots: Any, figure: Any, path: Path, description: str | None = None) -> None:
    """Without a date in it; the description is part of the file and is not seen."""
    figure.savefig(path, metadata={"Date": None} | ({"Description": description} if description else {}))
    plots.close(figure)
