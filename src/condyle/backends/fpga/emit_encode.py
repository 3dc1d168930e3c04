"""Merges the results of all functions, and the errors of unknown codes, into one stream (round robin)."""

from __future__ import annotations

from condyle.backends.fpga.emit_feedback import Feedback
from condyle.backends.fpga.emit_phases import LANE
from condyle.backends.fpga.expressions import copy, joined, zeros
from condyle.backends.fpga.formats import Format
from condyle.backends.fpga.queues import MERGED
from condyle.backends.fpga.stream import CODE, DATA, ERROR, OVER, TAG, Bus, result_width


class Encode(Feedback):
    """Writes the merging of results."""

    def encode(self) -> None:
        e, width = self.e, result_width(self.plan)
        e("", "// encode")
        merged = Bus("merged_q", [(DATA, Format(width, 0)), *self.head, (ERROR, Format(1, 0))])
        heads = [*self.results, "refused"]
        for name in self.results:
            own = self.buses[name]
            whole = joined("1'b0", own.id, zeros(width - own.at[TAG].low), own.span(own.data))
            e(f"wire [{merged.width - 1}:0] {name}_all = {whole};")
        e(f"wire [{merged.width - 1}:0] refused_all = {{2'b11, refused_q, {zeros(width)}}};")
        self._turns(heads)
        self.d(f"wire [{merged.width - 1}:0] chosen;")
        for lane, low in enumerate(range(0, merged.width, LANE)):
            self._lane(lane, low, min(low + LANE, merged.width), heads)
        self.queue(merged, MERGED, "|grant", "chosen")
        e("assign out_valid = merged_full, merged_pop = out_ready;")
        bits = self.id.code_bits
        e(f"wire [{bits - 1}:0] code = {merged[CODE]};")
        e(f"assign out_error = {merged[ERROR]}, out_flag = {merged[OVER]};")
        codes = [task.codes for task in self.twice]
        was = " : ".join([*(f"code == {second} ? {bits}'d{first}" for first, second in codes), "code"])
        e(f"assign out_function = {f'out_error ? code : {was}' if self.twice else 'code'};")
        e(f"assign out_tag = {merged[TAG]}, out_data = {merged[DATA]};")

    def _turns(self, heads: list[str]) -> None:
        """The grant of the next cycle, round robin. A credit of the queue `merged` is taken now."""
        e, n = self.e, len(heads)
        e(f"wire [{n - 1}:0] waiting = {{{', '.join(f'{name}_next' for name in reversed(heads))}}};")
        e(
            f"reg [{n - 1}:0] turn;",
            f"wire [{2 * n - 1}:0] from_turn = {{waiting, waiting}} & ~({{{n}'b0, turn}} - 1'b1);",
        )
        e(f"wire [{2 * n - 1}:0] first = from_turn & (~from_turn + 1'b1);")
        e(f"wire [{n - 1}:0] pick = {{{n}{{merged_room & ~reset}}}} & (first[{2 * n - 1}:{n}] | first[{n - 1}:0]);")
        with e.block("always @(posedge clock) begin", "end"):
            e("if (reset) turn <= 1;", f"else if (|pick) turn <= {{pick[{n - 2}:0], pick[{n - 1}]}};")
        e(f"wire [{n - 1}:0] grant;", copy(n, "granted", "pick", "grant"))
        e(*(f"assign {name}_pop = grant[{k}];" for k, name in enumerate(heads)))
        self.credits("merged", MERGED, "|pick", "merged_full & merged_pop")

    def _lane(self, lane: int, low: int, stop: int, heads: list[str]) -> None:
        """Some bits of the granted result, by their own copy of the grant; only results that have such bits."""
        e, n, width = self.e, len(heads), result_width(self.plan)
        e(f"wire [{n - 1}:0] grant_{lane};", copy(n, f"granted_{lane}", "pick", f"grant_{lane}"))
        there = [(k, name) for k, name in enumerate(heads) if stop > width or self.buses[name].at[TAG].low > low]
        parts = [f"({{{stop - low}{{grant_{lane}[{k}]}}}} & {name}_all[{stop - 1}:{low}])" for k, name in there]
        e(f"assign chosen[{stop - 1}:{low}] = " + "\n    | ".join(parts) + ";")
