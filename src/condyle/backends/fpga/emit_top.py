"""The top module of the accelerator: queues and joins between the arrays, feedback, the merging of results.

A queue's ready and valid come from registers, so no path runs from one end of the accelerator to the other.
"""

from __future__ import annotations

from condyle.backends.fpga.accelerator import TAG_BITS
from condyle.backends.fpga.emit_feedback import Feedback
from condyle.backends.fpga.emit_phases import LANE
from condyle.backends.fpga.expressions import copy, is_one_of, joined, module, packed, zeros
from condyle.backends.fpga.formats import Format
from condyle.backends.fpga.queues import ENTRY, MERGED, fed_by_trig
from condyle.backends.fpga.stream import CODE, DATA, ERROR, OVER, TAG, Bus, bus, result_width, width
from condyle.backends.fpga.tasks import FLAG, FLOATS, INVERSE
from condyle.text import Emitter


class TopEmitter(Feedback):
    """Writes the top module."""

    def text(self) -> str:
        sizes = width(bus(self.plan)), result_width(self.plan)
        ports = ["input clock", "input reset", "input in_valid", "output in_ready"]
        ports += [f"input [{self.id.code_bits - 1}:0] in_function", f"input [{TAG_BITS - 1}:0] in_tag"]
        ports += [f"input [{sizes[0] - 1}:0] in_data", "output out_valid", "input out_ready"]
        ports += [f"output [{self.id.code_bits - 1}:0] out_function", f"output [{TAG_BITS - 1}:0] out_tag"]
        ports += ["output out_flag", "output out_error", f"output [{sizes[1] - 1}:0] out_data"]
        self._enter()
        self._decode()
        self._fork()
        for array, write in {"solve": self._solve, "derivatives": self._derivatives, "step": self.step}.items():
            if array in self.plan.datapaths:
                write()
        self._encode()
        whole = Emitter()
        with module(whole, self.prefix, ports):
            whole(*self.d.text().splitlines(), *self.e.text().splitlines())
        return whole.text()

    def _enter(self) -> None:
        """Input Stream: a queue, so that the ports of a task begin and end at registers. The task's kind waits in
        the queue too, so registers decide whether a task starts, not its code."""
        self.e("", "// input stream", "assign in_ready = entry_free & ~reset;")
        kinds = [is_one_of("in_function", [task.codes[0] for task in tasks]) for tasks in self.kinds.values()]
        self.queue(self.entry, ENTRY, "in_valid & in_ready", packed(["in_data", "in_tag", "in_function", *kinds]))
        self.d(*(f"wire {kind.name.removeprefix('stream.')} = {self.entry[kind]};" for kind in self.kinds))
        self.d(f"wire [{TAG_BITS - 1}:0] entry_tag = {self.entry[TAG]};")
        self.d(f"wire [{self.id.code_bits - 1}:0] entry_code = {self.entry[CODE]};")

    def _decode(self) -> None:
        """A task that is fed back has priority. Words that are needed later wait in queues."""
        e, solves = self.e, "solve" in self.plan.datapaths
        e("", "// decode, feedback")
        self.d("wire take;")
        self._keep()
        first, torques = f"{{{self.entry.part('q', 'v', 'a', 'f_ext')}}}", self.entry.part("a")
        if solves:
            still, torques = self.base_and_joints() if self.base else (zeros(self.tau.width), torques)
            u = f"keeps_tau ? {still} : {self.entry.part('a')}"
            first = joined(self.entry.part("f_ext"), u, self.entry.part("q", "v"))
        state, again, id_, tau = "", list[str](), "{outside, entry_code, entry_tag}", ("take & keeps_tau", torques)
        if self.twice:
            again.append("again")
            state, id_ = self.second_pass(), f"again ? back_id : {id_}"
        if "step" in self.plan.datapaths:
            self.rounds()
        if self.plan.has_rounds:
            again.append("round_now")
            self.room.append("~round_full")
            first, id_ = f"round_now ? {self.round_task()} : {first}", f"round_now ? round_id : {id_}"
            tau = (f"{tau[0]} | round_pop", f"round_pop ? {self.round_tau()} : {tau[1]}")
        if solves:
            e(f"assign tau_enters = {tau[0]};", f"assign tau_in = {tau[1]};")
        self._start(self._entering(first, state), id_, again)

    def _keep(self) -> None:
        """Queues of words that a task needs later."""
        e, depths = self.e, self.acc.depths
        if "solve" in self.plan.datapaths:
            self.room.append("(~keeps_tau | tau_free)")
            e("wire tau_enters;", f"wire [{self.tau.width - 1}:0] tau_in;")
            self.queue(self.tau, depths["tau"], "tau_enters", "tau_in")
        if self.given.data:
            self.room.append("(~keeps_inverse | given_free)")
            self.queue(self.given, depths["given"], "take & keeps_inverse", self.entry.part("Minv"))

    def _entering(self, first: str, state: str) -> Bus:
        """What the trigonometry takes: a task's words or, chosen by a copy every LANE bits, a second pass's state."""
        e, enters = self.e, Bus("trig_in", [*self.takes("q", "v"), *self.u, *self.takes("f_ext")])
        if not state:
            e(f"wire [{enters.width - 1}:0] trig_in = {first};")
            return enters
        e(f"wire [{enters.width - 1}:0] trig_in, first_in, again_in;", f"assign first_in = {first};")
        e(f"assign again_in = {state};")
        for lane, low in enumerate(range(0, enters.width, LANE)):
            bits = f"{min(low + LANE, enters.width) - 1}:{low}"
            e(f"wire again_{lane};", copy(1, f"again_copy_{lane}", "back_next", f"again_{lane}"))
            e(f"assign trig_in[{bits}] = again_{lane} ? again_in[{bits}] : first_in[{bits}];")
        return enters

    def _start(self, enters: Bus, id_: str, again: list[str]) -> None:
        """A task with an unknown code is answered by an error. trig takes the others, those that are fed back first."""
        e = self.e
        e(f"assign take = {' & '.join(['trig_take', 'entry_full', *(f'~{name}' for name in again)])};")
        e("wire refuse = entry_full & ~is_known & refused_free;", "assign entry_pop = take | refuse;")
        self.queue(self.buses["refused"], 2, "refuse", "{entry_code, entry_tag}")
        self.outside()
        words = dict(enters)
        if self.plan.base:
            given = self.code_is("trig_id", [task.codes[0] for task in self.tasks if task.base_given])
            e(f"wire [{FLAG.width - 1}:0] trig_floats = {{1'b0, ~{given}}};")
            words |= Bus("trig_floats", [(FLOATS, FLAG)])
        starts = " | ".join([*again, f"({' & '.join(self.room)})"])
        self.array("trig", f"({starts})", id_, words)

    def _fork(self) -> None:
        """All arrays that a task needs get it in the same cycle, each by a queue."""
        for name in fed_by_trig(self.plan):
            self.e("", f"// {name}")
            task = self.buses[f"{name}_in"]
            self.array(name, f"{name}_in_full", task.id, task)
            self.e(f"assign {name}_in_pop = {name}_take;")

    def _solve(self) -> None:
        e, c, inverse = self.e, self.buses["c"], self.buses["inverse"]
        e("", "// schedule module: M^-1 (tau - c)")
        id_ = joined(f"{c[OVER]} | {inverse[OVER]}", c.span([CODE, TAG]))
        self.array("solve", "c_full & inverse_full & tau_full", id_, c.renamed("c") | inverse | self.tau)
        e("assign c_pop = solve_take, inverse_pop = solve_take, tau_pop = solve_take;")
        if self.twice:
            again = self.code_is("solve_id", [task.codes[0] for task in self.twice])
            kept = Bus("kept_q", self.group(INVERSE))
            self.queue(kept, self.acc.depths["kept"], f"solve_take & {again}", inverse.span(inverse.data))

    def _derivatives(self) -> None:
        e, columns = self.e, self.buses["dtau"]
        e("", "// schedule module: -M^-1 dtau, M^-1 the user's or the task's own")
        own = self.code_is("derivatives_id", [task.codes[1] for task in self.twice])
        inverse = Bus("dtau_inverse", self.group(INVERSE) if self.twice else self.takes("Minv"))
        queues = [name for name, there in (("kept", self.twice), ("given", self.given.data)) if there]
        words, full = (" : ".join(f"{name}_{what}" for name in queues) for what in ("q", "full"))
        if len(queues) == 2:
            words, full = f"is_own ? {words}", f"(is_own ? {full})"
        e(f"wire is_own = {own if len(queues) == 2 else int(bool(self.twice))};")
        e(f"wire [{inverse.width - 1}:0] dtau_inverse = {words};")
        self.array("derivatives", f"dtau_full & {full}", columns.id, columns | inverse)
        e("assign dtau_pop = derivatives_take;")
        for name in queues:
            e(f"assign {name}_pop = derivatives_take & {'' if name == 'kept' else '~'}is_own;")

    def _encode(self) -> None:
        e, width = self.e, result_width(self.plan)
        e("", "// encode")
        merged = Bus("merged_q", [(DATA, Format(width, 0)), *self.head, (ERROR, Format(1, 0))])
        for name in self.heads[:-1]:
            own = self.buses[name]
            whole = joined("1'b0", own.id, zeros(width - own.at[TAG].low), own.span(own.data))
            e(f"wire [{merged.width - 1}:0] {name}_all = {whole};")
        e(f"wire [{merged.width - 1}:0] refused_all = {{2'b11, refused_q, {zeros(width)}}};")
        self._turns()
        self.d(f"wire [{merged.width - 1}:0] chosen;")
        for lane, low in enumerate(range(0, merged.width, LANE)):
            self._lane(lane, low, min(low + LANE, merged.width))
        self.queue(merged, MERGED, "granting", "chosen")
        e("assign out_valid = merged_full, merged_pop = merged_full & out_ready;")
        bits = self.id.code_bits
        e(f"wire [{bits - 1}:0] code = {merged[CODE]};")
        e(f"assign out_error = {merged[ERROR]}, out_flag = {merged[OVER]};")
        codes = [task.codes for task in self.twice]
        was = " : ".join([*(f"code == {second} ? {bits}'d{first}" for first, second in codes), "code"])
        e(f"assign out_function = {f'out_error ? code : {was}' if self.twice else 'code'};")
        e(f"assign out_tag = {merged[TAG]}, out_data = {merged[DATA]};")

    def _turns(self) -> None:
        """The grant of the next cycle, round robin. A credit of the queue `merged` is taken now."""
        e, n = self.e, len(self.heads)
        # An error may wait a cycle: its path would begin at the entry.
        soon = [*(f"{name}_next" for name in self.heads[:-1]), f"refused_full & ~grant[{n - 1}]"]
        e(f"wire [{n - 1}:0] grant;", f"wire [{n - 1}:0] waiting = {{{', '.join(reversed(soon))}}};")
        e(f"reg [{n - 1}:0] turn;")
        e(f"wire [{2 * n - 1}:0] from_turn = {{waiting, waiting & ~(turn - 1'b1)}};")
        e(f"wire [{2 * n - 1}:0] first = from_turn & (~from_turn + 1'b1);")
        e(f"wire [{n - 1}:0] pick = {{{n}{{merged_room & ~reset}}}} & (first[{2 * n - 1}:{n}] | first[{n - 1}:0]);")
        e("wire picks = merged_room & ~reset & |waiting;")
        with e.block("always @(posedge clock) begin", "end"):
            e("if (reset) turn <= 1;", f"else if (picks) turn <= {{pick[{n - 2}:0], pick[{n - 1}]}};")
        e("wire granting;", copy(n + 1, "granted", "{picks, pick}", "{granting, grant}"))
        e(*(f"assign {name}_pop = grant[{k}];" for k, name in enumerate(self.heads)))
        self.credits("merged", MERGED, "picks", "merged_pop")

    def _lane(self, lane: int, low: int, stop: int) -> None:
        """Some bits of the granted result, by their own copy of the grant; only results that have such bits."""
        e, n, width = self.e, len(self.heads), result_width(self.plan)
        e(f"wire [{n - 1}:0] grant_{lane};", copy(n, f"granted_{lane}", "pick", f"grant_{lane}"))
        there = [(k, name) for k, name in enumerate(self.heads) if stop > width or self.buses[name].at[TAG].low > low]
        parts = [f"({{{stop - low}{{grant_{lane}[{k}]}}}} & {name}_all[{stop - 1}:{low}])" for k, name in there]
        e(f"assign chosen[{stop - 1}:{low}] = " + "\n    | ".join(parts) + ";")
