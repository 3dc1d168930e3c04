"""The top module of the accelerator: queues and joins between the arrays, feedback, the merging of results.

A queue's ready and valid come from registers, so no path runs from one end of the accelerator to the other.
"""

from __future__ import annotations

from condyle.backends.fpga.accelerator import TAG_BITS
from condyle.backends.fpga.build import Accelerator
from condyle.backends.fpga.emit_encode import Encode
from condyle.backends.fpga.emit_phases import LANE
from condyle.backends.fpga.expressions import copy, joined, module, zeros
from condyle.backends.fpga.queues import ENTRY, fed_by_trig
from condyle.backends.fpga.stream import CODE, OVER, TAG, Bus, bus, result_width, width
from condyle.backends.fpga.tasks import FLAG, FLOATS, INVERSE
from condyle.text import Emitter


class TopEmitter(Encode):
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
        self.encode()
        whole = Emitter()
        with module(whole, self.prefix, ports):
            whole(*self.d.text().splitlines(), *self.e.text().splitlines())
        return whole.text()

    def _enter(self) -> None:
        """Input Stream: a queue, so that the ports of a task begin and end at registers."""
        self.e("", "// input stream", "assign in_ready = entry_free & ~reset;")
        self.queue(self.entry, ENTRY, "in_valid & in_ready", "{in_function, in_tag, in_data}")
        self.d(f"wire [{TAG_BITS - 1}:0] entry_tag = {self.entry[TAG]};")
        self.d(f"wire [{self.id.code_bits - 1}:0] entry_code = {self.entry[CODE]};")

    def _decode(self) -> None:
        """A task that is fed back has priority. Words that are needed later wait in queues."""
        e, solves = self.e, "solve" in self.plan.datapaths
        e("", "// decode, feedback")
        self.d("wire take;")
        e(f"wire is_known = {self.sent(True for _ in self.tasks)};")
        room = ["entry_full", "is_known", *self._keep()]
        first, torques = f"{{{self.entry.part('q', 'v', 'a', 'f_ext')}}}", self.entry.part("a")
        if solves:
            still, torques = self.base_and_joints() if self.base else (zeros(self.tau.width), torques)
            u = f"keeps_tau ? {still} : {self.entry.part('a')}"
            first = joined(self.entry.part("f_ext"), u, self.entry.part("q", "v"))
        state, again, id_, tau = "", list[str](), "{outside, entry_code, entry_tag}", ("take & keeps_tau", torques)
        if self.twice:
            again.append("again")
            state, id_ = self.second_pass(room), f"again ? back_id : {id_}"
        if "step" in self.plan.datapaths:
            self.rounds(room)
        if self.plan.has_rounds:
            again.append("round_now")
            room.append("~round_full")
            first, id_ = f"round_now ? {self.round_task()} : {first}", f"round_now ? round_id : {id_}"
            tau = (f"{tau[0]} | round_pop", f"round_pop ? {self.round_tau()} : {tau[1]}")
        if solves:
            e(f"assign tau_enters = {tau[0]};", f"assign tau_in = {tau[1]};")
        self._start(self._entering(first, state), id_, again, room)

    def _keep(self) -> list[str]:
        """Queues of words that a task needs later, and whether they have a free entry."""
        e, depths, room = self.e, self.acc.depths, list[str]()
        if "solve" in self.plan.datapaths:
            e(f"wire keeps_tau = {self.sent(task.solves for task in self.tasks)};")
            e("wire tau_enters;", f"wire [{self.tau.width - 1}:0] tau_in;")
            self.queue(self.tau, depths["tau"], "tau_enters", "tau_in")
            room.append("(~keeps_tau | tau_free)")
        if self.given.data:
            e(f"wire keeps_inverse = {self.sent('Minv' in task.inputs for task in self.tasks)};")
            self.queue(self.given, depths["given"], "take & keeps_inverse", self.entry.part("Minv"))
            room.append("(~keeps_inverse | given_free)")
        return room

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

    def _start(self, enters: Bus, id_: str, again: list[str], room: list[str]) -> None:
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
        starts = " | ".join([*again, f"({' & '.join(room)})"])
        self.array("trig", f"({starts})", id_, self.gather("trig", words))

    def _fork(self) -> None:
        """All arrays that a task needs get it in the same cycle, each by a queue."""
        for name in fed_by_trig(self.plan):
            self.e("", f"// {name}")
            task = self.buses[f"{name}_in"]
            self.array(name, f"{name}_in_full", task.id, self.gather(name, task))
            self.e(f"assign {name}_in_pop = {name}_take;")

    def _solve(self) -> None:
        e, c, inverse = self.e, self.buses["c"], self.buses["inverse"]
        e("", "// schedule module: M^-1 (tau - c)")
        id_ = joined(f"{c[OVER]} | {inverse[OVER]}", c.span([CODE, TAG]))
        words = c.renamed("c") | inverse | self.tau
        self.array("solve", "c_full & inverse_full & tau_full", id_, self.gather("solve", words))
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
        both = len(queues) == 2
        e(f"wire is_own = {own if both else int(bool(self.twice))};")
        e(f"wire [{inverse.width - 1}:0] dtau_inverse = {'is_own ? kept_q : given_q' if both else f'{queues[0]}_q'};")
        full = "(is_own ? kept_full : given_full)" if both else f"{queues[0]}_full"
        data = self.gather("derivatives", columns | inverse)
        self.array("derivatives", f"dtau_full & {full}", columns.id, data)
        e("assign dtau_pop = derivatives_take;")
        for name in queues:
            e(f"assign {name}_pop = derivatives_take & {'' if name == 'kept' else '~'}is_own;")


def emit_top(acc: Accelerator, prefix: str) -> str:
    """The text of the top module; `prefix` is its name."""
    return TopEmitter(acc, prefix).text()
