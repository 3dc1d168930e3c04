"""The words of the accelerator from a packet. The packet of a function has only the words that it takes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import groupby

from condyle.backends.fpga import stream
from condyle.backends.fpga.accelerator import Plan
from condyle.backends.fpga.emit_phases import LANE
from condyle.backends.fpga.expressions import copy, is_one_of, packed


class Kinds:
    """Registers that each say whether a packet has one of some codes, and choose at most LANE bits."""

    def __init__(self) -> None:
        self.chosen: list[tuple[Sequence[int], int]] = []

    def place(self, codes: Sequence[int], bits: int) -> int:
        """Of a register of these codes that has room for so many bits more."""
        for k, (known, used) in enumerate(self.chosen):
            if known == codes and used + bits <= LANE:
                self.chosen[k] = known, used + bits
                return k
        self.chosen.append((codes, bits))
        return len(self.chosen) - 1


def words(plan: Plan, codes: Mapping[str, int], head: int) -> list[str]:
    """`words` by `packet`; codes: of each function; head: bits before a packet's words. What is chosen is decided as
    the packet is taken (`word_head`)."""
    kinds, found, known = Kinds(), runs(plan, codes, head), set[int]()
    assigned: list[str] = []
    for (low, high), parts in sorted(found.items()):
        known |= set(range(low, high + 1))
        for start in range(low, high + 1, LANE):
            stop = min(start + LANE, high + 1)
            chosen = [
                f"({{{stop - start}{{kind[{kinds.place(of, stop - start)}]}}}}"
                f" & packet[{at + stop - low - 1}:{at + start - low}])"
                for at, of in parts
            ]
            assigned.append(f"assign words[{stop - 1}:{start}] = " + "\n    | ".join(chosen) + ";")
    bus = stream.bus(plan)
    assigned += [f"assign words[{field.high}:{field.low}] = 0;" for field in bus if field.low not in known]
    of, n = [is_one_of("word_head[7:0]", known) for known, _ in kinds.chosen], len(kinds.chosen)
    return [
        f"wire [{n - 1}:0] kind, next_kind;",
        "assign next_kind = ~(word_valid & word_ready) ? kind :",
        f"    {packed(of)};",
        copy(n, "kinds", "next_kind", "kind"),
        f"wire [{stream.width(bus) - 1}:0] words;",
        *assigned,
    ]


def runs(plan: Plan, codes: Mapping[str, int], head: int) -> dict[tuple[int, int], list[tuple[int, list[int]]]]:
    """For runs of the accelerator's bits their position in packets, and the codes of these packets."""
    found: dict[tuple[int, int], dict[int, list[int]]] = defaultdict(lambda: defaultdict(list))
    names = {field.low: field.word.name for field in stream.bus(plan)}
    for function, code in codes.items():
        taken = stream.taken(plan, function)
        behind = stream.laid(((field.word, field.format) for field in taken), head)
        both = zip(taken, behind, strict=True)
        for (shift, _), run in groupby(both, key=lambda pair: (pair[0].low - pair[1].low, names[pair[0].low])):
            fields = [to for to, _ in run]
            found[fields[0].low, fields[-1].high][fields[0].low - shift].append(code)
    return {run: list(parts.items()) for run, parts in found.items()}
