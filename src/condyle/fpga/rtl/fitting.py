"""Whether an accelerator fits a part: the shortest interval within a budget of DSPs, and room for its registers."""

from __future__ import annotations

from collections.abc import Mapping

from condyle.errors import UnsupportedError
from condyle.fpga.rtl.accelerator import Plan
from condyle.fpga.rtl.build import Accelerator, build, dsp_at, with_folding
from condyle.fpga.rtl.constants import with_constants
from condyle.fpga.rtl.target import XCVU9P, Device

LARGEST_II = 64


def foldings(plan: Plan) -> list[int]:
    """How many branches can share arrays, ascending."""
    counts = {len(alike) for path in plan.datapaths.values() for alike in path.shared}
    return sorted({1, *(k for n in counts for k in range(2, n + 1) if n % k == 0)})


def fit(
    plan: Plan,
    budget: int,
    constants: str = "dsp",
    folding: int | None = None,
    device: Device = XCVU9P,
    least: int = 1,
) -> tuple[int, int]:
    """The shortest interval whose units stay within a budget of DSPs, and the folding factor that then needs fewest.

    folding: only this factor. least: the shortest interval that is tried, because the link cannot feed a shorter one.
    UnsupportedError names the factors, or what fits the part.
    """
    known = foldings(plan)
    if folding is not None and folding not in known:
        raise UnsupportedError(f"folding={folding!r}: the branches of this robot allow {', '.join(map(str, known))}")
    plans = {n: with_folding(plan, n) for n in (known if folding is None else [folding])}
    costs: dict[int, tuple[int, int]] = {}
    for ii in range(min(least, LARGEST_II // 2), LARGEST_II + 1):
        there = {n: with_constants(shared, constants, ii, device) for n, shared in plans.items() if ii % n == 0}
        if there:
            costs[ii] = min((dsp_at(shared, ii, device), n) for n, shared in there.items())
            if costs[ii][0] <= min(budget, device.dsp):
                if budget > device.dsp:
                    break
                return ii, costs[ii][1]
    raise UnsupportedError(_does_not_fit(plan, budget, device, {ii: cost for ii, (cost, _) in costs.items()}))


def _does_not_fit(plan: Plan, budget: int, device: Device, costs: Mapping[int, int]) -> str:
    """The message that the functions do not fit. costs: DSPs at the intervals that were tried."""
    functions = ", ".join(plan.functions)
    ii = next((ii for ii, cost in costs.items() if cost <= device.dsp), None)
    if ii is None:
        return (
            f"an {device.name} is too small for {functions} at any interval: it has {device.dsp} DSPs, and "
            f"{min(costs.values())} are needed with a task every {_cycles(LARGEST_II)}. Choose fewer functions, a "
            "narrower word or a larger part"
        )
    shortest = f"the shortest interval that fits its {device.dsp} DSPs is {_cycles(ii)}, with {costs[ii]}"
    if budget > device.dsp:
        return f"dsp={budget} is more than an {device.name} has; {shortest}"
    return (
        f"dsp={budget} is too small for {functions}: the smallest budget is {min(costs.values())}, with a task every "
        f"{_cycles(max(costs))}. On an {device.name} {shortest}. Choose more DSPs, fewer functions, a narrower word or "
        "a larger part"
    )


def _cycles(n: int) -> str:
    return "1 cycle" if n == 1 else f"{n} cycles"


def fitted(plan: Plan, budget: int, constants: str, folding: int | None, device: Device, least: int = 1) -> Accelerator:
    """The accelerator at the shortest interval; UnsupportedError if the part has too few DSPs, or flip-flops."""
    ii, fold = fit(plan, budget, constants, folding, device, least)
    acc = _built(plan, constants, fold, ii, device)
    if device.family != "ecp5" or acc.register_bits <= device.lut:
        return acc
    longer = (_built(plan, constants, fold, n, device) for n in range(2 * ii, LARGEST_II + 1, ii))
    found = next((one for one in longer if one.register_bits <= device.lut), None)
    fits = f"The shortest interval that fits is {_cycles(found.ii)}: --dsp {found.dsp}" if found else "No interval fits"
    raise UnsupportedError(
        f"an {device.name} is too small for {', '.join(plan.functions)} with a task every {_cycles(ii)}: registers of "
        f"words take {acc.register_bits} flip-flops, and it has {device.lut}. {fits}. Choose fewer functions or a "
        "larger part"
    )


def _built(plan: Plan, constants: str, folding: int, ii: int, device: Device) -> Accelerator:
    return build(with_constants(with_folding(plan, folding), constants, ii, device), ii, device=device)
