"""A picture or a curve of each example, drawn from what the example computes, for examples/README.md.

python -m benchmarks.example_figures [07 15 ...]     writes docs/figures/examples/NUMBER.svg

The examples run as they are. What a curve needs of each turn of a loop is read at a line of the program.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

from benchmarks.figures import pyplot, save
from benchmarks.results import ROOT
from condyle.model.array import Array

EXAMPLES, FOLDER = ROOT / "examples", ROOT / "docs" / "figures" / "examples"
BLUE, RED, GREY = "#1b6ca8", "#c8553d", "#8a8d91"
Values = dict[str, Any]


def example(number: str) -> Path:
    return next(EXAMPLES.glob(f"{number}_*.py"))


def run(number: str, line: str = "", names: Sequence[str] = ()) -> tuple[Values, Values]:
    """Runs an example; its variables at the end, and arrays of those that were read each time at a line of it."""
    path = example(number)
    text = path.read_text()
    where = next((k for k, one in enumerate(text.splitlines(), 1) if line and one.strip().startswith(line)), 0)
    if line and not where:
        raise ValueError(f"{path.name} has no line that begins with {line!r}")
    read: dict[str, list[Any]] = {name: [] for name in names}
    values: Values = {"__name__": "__main__", "__file__": str(path)}

    def at_line(frame: FrameType, event: str, _: object) -> Any:
        if event == "line" and frame.f_lineno == where:
            for name in names:
                read[name].append(np.array(values[name]))
        return at_line

    def trace(frame: FrameType, *_: object) -> Any:
        return at_line if frame.f_globals is values and frame.f_code.co_name == "<module>" else None

    before = sys.gettrace()
    sys.settrace(trace if line else before)
    try:
        exec(compile(text, str(path), "exec"), values)
    finally:
        sys.settrace(before)
    return values, {name: np.array(each) for name, each in read.items()}


def panel(plots: Any, across: str, up: str) -> tuple[Any, Any]:
    figure, axes = plots.subplots(figsize=(4.0, 2.6), layout="constrained")
    axes.set(xlabel=across, ylabel=up)
    axes.spines[["top", "right"]].set_visible(False)
    return figure, axes


def curves(number: str, across: str, up: str, draw: Callable[[Any], None]) -> None:
    """One set of axes, filled by `draw`."""
    plots = pyplot()
    if plots is None:
        return
    figure, axes = panel(plots, across, up)
    draw(axes)
    save(plots, figure, FOLDER / f"{number}.svg")


def robot(number: str, values: Values, *states: Array, **options: Any) -> None:
    """The picture of `Robot.show`, as large as the curves, without its words, which would be too small to read."""
    file = FOLDER / f"{number}.svg"
    values["robot"].show(*states, file=file, **options)
    lines = [line for line in file.read_text().splitlines() if not line.startswith("<text")]
    lines[0] = lines[0].replace('width="760" height="640"', 'width="384" height="323"')
    file.write_text("\n".join(lines) + "\n")


def load_and_call() -> None:
    values, _ = run("01")
    robot("01", values, values["q"], layers=("bodies", "links", "axes", "com"))


def batches() -> None:
    values, _ = run("02")
    change = np.abs(values["pushed"] - values["out"]).reshape(-1, values["robot"].nv)

    def draw(axes: Any) -> None:
        axes.bar(range(change.shape[1]), np.median(change, axis=0), color=BLUE)
        axes.set_yscale("log")
        axes.set_title("100 states: change by a push on one shank", fontsize=9)

    curves("02", "number of a", "median change, rad/s²", draw)


def derivatives() -> None:
    values, _ = run("03")

    def draw(axes: Any) -> None:
        matrix = np.abs(values["slopes"].da_dq)
        axes.pcolormesh(np.log10(matrix + 1e-3), cmap="Blues")
        axes.set(aspect="equal", ylim=(len(matrix), 0))
        axes.set_title("da/dq of HyQ, logarithmic", fontsize=9)

    curves("03", "of q", "of a", draw)


def packed() -> None:
    values, _ = run("06")
    rows, columns = np.nonzero(values["derivatives"].da_dq[7])

    def draw(axes: Any) -> None:
        axes.plot(columns, rows, "s", color=BLUE, markersize=6)
        axes.set(aspect="equal", xlim=(-0.7, 11.7), ylim=(11.7, -0.7))
        axes.set_title("da/dq of HyQ: what is stored", fontsize=9)

    curves("06", "of q", "of a", draw)


def predictive() -> None:
    values, read = run("07", "if k % 20 == 19:", ("q",))
    away = np.abs(read["q"] - values["goal"]).max(axis=-1)

    def draw(axes: Any) -> None:
        time = values["H"] * np.arange(1, len(away) + 1)
        axes.semilogy(time, away, linewidth=1)
        for k in (20, 40):
            axes.axvline(values["H"] * (k + 1), color=GREY, linewidth=0.8, linestyle="--")
        axes.set_title("eight arms, pushed twice", fontsize=9)

    curves("07", "s", "rad from the goal", draw)


def reached() -> None:
    values, _ = run("08")
    iterations = np.sort(values["answer"].iterations[values["answer"].solved])

    def draw(axes: Any) -> None:
        axes.step(iterations, np.arange(1, len(iterations) + 1) / values["N"], where="post", color=BLUE)
        axes.set(xlim=(0, 40), ylim=(0.0, 1.05))
        axes.set_title("1000 targets of an iiwa14", fontsize=9)

    curves("08", "iterations", "share that is reached", draw)


def whole_body() -> None:
    values, read = run("09", "middle = ", ("q",))
    turned = np.linalg.norm(values["dyn"].difference(values["start"], read["q"])[:, 3:6], axis=-1)

    def draw(axes: Any) -> None:
        axes.plot(values["TURNS"] * np.arange(len(turned)) / len(turned), turned, color=BLUE)
        axes.set_title("Atlas in the air, without angular momentum", fontsize=9)

    curves("09", "swings of the arms", "turn of the pelvis, rad", draw)


def sampling() -> None:
    values, read = run("10", "if k % 20 == 19:", ("q",))
    reach = values["tip"].frame_placements(read["q"]).translation[:, 0] - values["GOAL"]

    def draw(axes: Any) -> None:
        axes.semilogy(values["H"] * np.arange(1, len(reach) + 1), 1e3 * np.linalg.norm(reach, axis=-1), color=BLUE)
        axes.set_title("the hand comes to its goal", fontsize=9)

    curves("10", "s", "mm from the goal", draw)


def payload() -> None:
    _, read = run("11", "step, size = down +", ("miss",))

    def draw(axes: Any) -> None:
        size = np.sqrt(np.mean(read["miss"] ** 2, axis=(1, 2)))
        axes.semilogy(range(1, len(size) + 1), size, color=BLUE)
        axes.axhline(0.02, color=GREY, linewidth=0.8, linestyle="--")
        axes.set_title("torques, and their noise (dashed)", fontsize=9)

    curves("11", "iterations", "off by, N m", draw)


def randomised() -> None:
    values, _ = run("12")

    def draw(axes: Any) -> None:
        axes.hist(values["turned"], bins=40, color=BLUE)
        axes.set_title("the same kicks, 4096 different robots", fontsize=9)

    curves("12", "turn of the trunk, rad", "robots", draw)


def shooting() -> None:
    values, _ = run("13")

    def draw(axes: Any) -> None:
        time = values["H"] * np.arange(1, values["STEPS"] + 1)
        axes.plot(time, values["way"].q[:24, :, 3].T, linewidth=0.8)
        axes.set_title("the elbow, 24 of the 64 motions", fontsize=9)

    curves("13", "s", "rad", draw)


def fixed_point() -> None:
    values, _ = run("14")
    error = np.sort(values["error"][~values["flag"]])

    def draw(axes: Any) -> None:
        axes.semilogx(error, np.arange(1, len(error) + 1) / len(error), color=BLUE)
        axes.set_title("integers beside float64", fontsize=9)

    curves("14", "largest error of a, rad/s²", "share of the states", draw)


def walking() -> None:
    values, read = run("15", "plan = 0.95", ("q",))
    robot("15", values, trajectory=read["q"], dt=values["EACH"] * values["H"], layers=("bodies", "links", "com"))


def trotting() -> None:
    values, _ = run("17")

    def draw(axes: Any) -> None:
        for costs, name, style in zip(values["costs"], ("crocoddyl", "Condyle"), ("o", "-"), strict=True):
            axes.semilogy(costs, style, label=name, color=BLUE if style == "-" else GREY)
        axes.legend(frameon=False)

    curves("17", "iterations", "cost", draw)


def stick_and_slip() -> None:
    values, _ = run("18")
    path = values["path"]
    way = np.linalg.norm(path.q[:, -1, :3] - values["q"][:3], axis=-1)

    def draw(axes: Any) -> None:
        axes.plot(values["friction"], way, ".", color=BLUE)
        axes.axvline(np.tan(values["angle"]), color=GREY, linewidth=0.8, linestyle="--")
        axes.set_title("101 boxes, and tan 20° (dashed)", fontsize=9)

    curves("18", "friction", "way in 0.4 s, m", draw)


def motors() -> None:
    values, _ = run("19")
    path, leg = values["path"], values["leg"]

    def draw(axes: Any) -> None:
        axes.plot(1e-3 * np.arange(1, 301), path.q[:, 2], color=BLUE)
        axes.axhline(leg.upper[2], color=GREY, linewidth=0.8, linestyle="--")
        axes.set_title("a knee at full torque, and its stop (dashed)", fontsize=9)

    curves("19", "s", "rad", draw)


def microcontroller() -> None:
    _, read = run("21", "most = max(", ("q", "goal"))

    def draw(axes: Any) -> None:
        off = 1e3 * np.abs(read["q"] - read["goal"][:, :1]).max(axis=-1)
        axes.semilogy(1e-3 * np.arange(1, len(off) + 1), off, color=BLUE)
        axes.set_title("computed torque at 1 kHz", fontsize=9)

    curves("21", "s", "mrad from the motion", draw)


DRAWN: dict[str, Callable[[], None]] = {
    "01": load_and_call,
    "02": batches,
    "03": derivatives,
    "06": packed,
    "07": predictive,
    "08": reached,
    "09": whole_body,
    "10": sampling,
    "11": payload,
    "12": randomised,
    "13": shooting,
    "14": fixed_point,
    "15": walking,
    "17": trotting,
    "18": stick_and_slip,
    "19": motors,
    "21": microcontroller,
}
"""By number. 16 and 20 have the figures of pages; 04 prints a matrix, 05 writes files."""


def main() -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    for number in sys.argv[1:] or DRAWN:
        DRAWN[number]()


if __name__ == "__main__":
    main()
