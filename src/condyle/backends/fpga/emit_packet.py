"""The words of the accelerator out of a packet: each function leaves out what it does not take."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import groupby

from condyle.backends.fpga import stream
from condyle.backends.fpga.accelerator import Plan
from condyle.backends.fpga.emit_phases import LANE
from condyle.backends.fpga.expressions import copy, is_one_of, packed


def words(plan: Plan, codes: Mapping[str, int], head: int) -> list[str]:
    """`words` by `packet`; codes: of each function; head: bits before a packet's words. What is chosen is decided as
    the packet is taken (`word_head`)."""
    kinds: list[tuple[Sequence[int], int]] = []
    assigned, known = list[str](), set[int]()

    def kind(of: Sequence[int], bits: int) -> int:
        """A register that says whether a packet has one of these codes, and has room for so many bits, of LANE."""
        k = next((k for k, (codes, room) in enumerate(kinds) if codes == of and room >= bits), len(kinds))
        room = kinds[k][1] if k < len(kinds) else LANE
        kinds[k : k + 1] = [(of, room - bits)]
        return k

    for (low, high), parts in sorted(runs(plan, codes, head).items()):
        known |= set(range(low, high + 1))
        for start in range(low, high + 1, LANE):
            bits = min(LANE, high + 1 - start)
            chosen = [
                f"({{{bits}{{kind[{kind(of, bits)}]}}}} & packet[{at + start - low + bits - 1}:{at + start - low}])"
                for at, of in parts
            ]
            assigned.append(f"assign words[{start + bits - 1}:{start}] = " + "\n    | ".join(chosen) + ";")
    bus, n = stream.bus(plan), len(kinds)
    assigned += [f"assign words[{field.high}:{field.low}] = 0;" for field in bus if field.low not in known]
    return [
        f"wire [{n - 1}:0] kind, next_kind;",
        "assign next_kind = ~(word_valid & word_ready) ? kind :",
        f"    {packed([is_one_of('word_head[7:0]', of) for of, _ in kinds])};",
        copy(n, "kinds", "next_kind", "kind"),
        f"wire [{stream.width(bus) - 1}:0] words;",
        *assigned,
    ]


def runs(plan: Plan, codes: Mapping[str, int], head: int) -> dict[tuple[int, int], list[tuple[int, list[int]]]]:
    """Of runs of the accelerator's bits where they stand in packets, and of which codes."""
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
