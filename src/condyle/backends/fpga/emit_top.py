"""The accelerator as a Verilog module: queues and joins between the arrays, feedback, the merging of results.

A queue's ready and valid come from registers, so no path runs from one end of the accelerator to the other.
"""

from __future__ import annotations

from condyle.backends.fpga.accelerator import TAG_BITS
from condyle.backends.fpga.build import Accelerator
from condyle.backends.fpga.emit_array import widths
from condyle.backends.fpga.emit_encode import Encode
from condyle.backends.fpga.emit_wires import is_one_of
from condyle.backends.fpga.queues import ENTRY, fed_by_trig
from condyle.backends.fpga.stream import result_width
from condyle.backends.fpga.tasks import BIAS, COLUMNS, FLAG, FLOATS, INVERSE, TRIG
from condyle.text import Emitter


class TopEmitter(Encode):
    """Writes the top module."""

    def text(self) -> str:
        width = self.nq + self.nv + self.nu + self.nf + self.ni
        ports = ["input clock", "input reset", "input in_valid", "output in_ready"]
        ports += [f"input [{self.id.code_bits - 1}:0] in_function", f"input [{TAG_BITS - 1}:0] in_tag"]
        ports += [f"input [{width - 1}:0] in_data", "output out_valid", "input out_ready"]
        ports += [f"output [{self.id.code_bits - 1}:0] out_function", f"output [{TAG_BITS - 1}:0] out_tag"]
        ports += ["output out_flag", "output out_error", f"output [{result_width(self.plan) - 1}:0] out_data"]
        self._enter(width)
        self._decode()
        self._fork()
        if "solve" in self.plan.datapaths:
            self._solve()
        if "derivatives" in self.plan.datapaths:
            self._derivatives()
        if "step" in self.plan.datapaths:
            self.step()
        self.encode()
        whole = Emitter()
        whole(f"module {self.prefix} (", *(f"    {port}," for port in ports[:-1]), f"    {ports[-1]}", ");")
        with whole.block("", "endmodule"):
            whole(*self.d.text().splitlines(), *self.e.text().splitlines())
        return whole.text()

    def _enter(self, width: int) -> None:
        """Input Stream: a queue, so that what comes and whether it can come meet registers."""
        e = self.e
        e("", "// input stream")
        e("assign in_ready = entry_free & ~reset;")
        task = self.id.width - 1 + width
        self.queue("entry", task, ENTRY, "in_valid & in_ready", "{in_function, in_tag, in_data}")
        self.d(f"wire [{TAG_BITS - 1}:0] entry_tag = entry_q[{width + TAG_BITS - 1}:{width}];")
        self.d(f"wire [{self.id.code_bits - 1}:0] entry_code = entry_q[{task - 1}:{width + TAG_BITS}];")

    def _decode(self) -> None:
        """A task that comes again goes first; what is needed later waits in queues."""
        e, low = self.e, self.nq + self.nv
        high = low + self.nu
        e("", "// decode, feedback")
        self.d("wire take;")
        e(f"wire is_known = {self.sent(True for _ in self.tasks)};")
        room = ["entry_full", "is_known"]
        depths = self.acc.depths
        if "solve" in self.plan.datapaths:
            e(f"wire keeps_tau = {self.sent(task.solves for task in self.tasks)};")
            e("wire tau_enters;", f"wire [{self.nu - 1}:0] tau_in;")
            self.queue("tau", self.nu, depths["tau"], "tau_enters", "tau_in")
            room.append("(~keeps_tau | tau_free)")
        if self.ni:
            e(f"wire keeps_inverse = {self.sent('Minv' in task.inputs for task in self.tasks)};")
            upper = f"entry_q[{high + self.nf + self.ni - 1}:{high + self.nf}]"
            self.queue("given", self.ni, depths["given"], "take & keeps_inverse", upper)
            room.append("(~keeps_inverse | given_free)")
        forces = f"entry_q[{high + self.nf - 1}:{high}], " if self.nf else ""
        first = f"{{entry_q[{high + self.nf - 1}:0]}}"
        torques = f"entry_q[{high - 1}:{low}]"
        if "solve" in self.plan.datapaths:
            still, torques = self.base_and_joints() if self.nb else (f"{self.nu}'b0", torques)
            first = f"{{{forces}keeps_tau ? {still} : entry_q[{high - 1}:{low}], entry_q[{low - 1}:0]}}"
        again, id_ = list[str](), "{outside, entry_code, entry_tag}"
        if self.twice:
            again.append("again")
            self.second_pass(room)
            kept = f"state_q[{low + self.nf - 1}:{low}], " if self.nf else ""
            first = f"again ? {{{kept}back_a, state_q[{low - 1}:0]}} : {first}"
            id_ = f"again ? back_id : {id_}"
        tau = ("take & keeps_tau", torques)
        if "step" in self.plan.datapaths:
            self.rounds(room)
        if self.plan.has_rounds:
            again.append("round_now")
            first, id_ = f"round_now ? {self.round_task()} : {first}", f"round_now ? round_id : {id_}"
            tau = (f"{tau[0]} | round_pop", f"round_pop ? {self.round_tau()} : {tau[1]}")
        if "solve" in self.plan.datapaths:
            e(f"assign tau_enters = {tau[0]};", f"assign tau_in = {tau[1]};")
        e(f"wire [{high + self.nf - 1}:0] trig_in = {first};")
        if self.plan.has_rounds:
            room.append("~round_full")
        e(f"assign take = {' & '.join(['trig_take', 'entry_full', *(f'~{name}' for name in again)])};")
        e("wire refuse = entry_full & ~is_known & refused_free;", "assign entry_pop = take | refuse;")
        self.queue("refused", self.id.width - 1, 2, "refuse", "{entry_code, entry_tag}")
        self.outside()
        places = self.fields("trig_in", "q", "v", "a", "f_ext")
        if self.plan.base:
            given = is_one_of(f"trig_id[{self.id.code}]", [task.codes[0] for task in self.tasks if task.base_given])
            e(f"wire [{FLAG.width - 1}:0] trig_floats = {{1'b0, ~{given}}};")
            places[FLOATS] = ("trig_floats", 0)
        starts = " | ".join([*again, f"({' & '.join(room)})"])
        self.array("trig", f"({starts})", id_, self.gather("trig", places))

    def _fork(self) -> None:
        """The arrays that a task needs get it at the same time, each by a queue."""
        width = widths(self.acc.arrays["trig"], "out")
        for name in fed_by_trig(self.plan):
            self.e("", f"// {name}")
            id_ = f"{name}_in_q[{width + self.id.width - 1}:{width}]"
            self.array(name, f"{name}_in_full", id_, self.gather(name, self.found(f"{name}_in_q", TRIG)))
            self.e(f"assign {name}_in_pop = {name}_take;")

    def _solve(self) -> None:
        e = self.e
        nc, ni = widths(self.acc.arrays["dynamics"], "tau"), widths(self.acc.arrays["mass"], "Minv")
        e("", "// schedule module: M^-1 (tau - c)")
        places = self.found("c_q", BIAS, "c") | self.found("inverse_q", INVERSE) | self.fields("tau_q", "tau")
        id_ = f"{{c_q[{nc + self.id.width - 1}] | inverse_q[{ni + self.id.width - 1}], "
        id_ += f"c_q[{nc + self.id.width - 2}:{nc}]}}"
        self.array("solve", "c_full & inverse_full & tau_full", id_, self.gather("solve", places))
        e("assign c_pop = solve_take, inverse_pop = solve_take, tau_pop = solve_take;")
        if self.twice:
            again = is_one_of(f"solve_id[{self.id.code}]", [task.codes[0] for task in self.twice])
            depth = self.acc.depths["kept"]
            self.queue("kept", ni, depth, f"solve_take & {again}", f"inverse_q[{ni - 1}:0]")

    def _derivatives(self) -> None:
        e = self.e
        nd = widths(self.acc.arrays["dynamics"], "dtau")
        e("", "// schedule module: -M^-1 dtau, M^-1 the user's or the task's own")
        own = is_one_of(f"derivatives_id[{self.id.code}]", [task.codes[1] for task in self.twice])
        path = self.acc.arrays["derivatives"].datapath
        ni = sum(path.ops[k].format.width for word, k in path.inputs if word.name == "Minv")
        queues = [name for name, there in (("kept", self.twice), ("given", self.ni)) if there]
        both = len(queues) == 2
        e(f"wire is_own = {own if both else int(bool(self.twice))};")
        e(f"wire [{ni - 1}:0] dtau_inverse = {'is_own ? kept_q : given_q' if both else f'{queues[0]}_q'};")
        full = "(is_own ? kept_full : given_full)" if both else f"{queues[0]}_full"
        names = self.found("dtau_inverse", INVERSE) if self.twice else self.fields("dtau_inverse", "Minv")
        data = self.gather("derivatives", self.found("dtau_q", COLUMNS) | names)
        self.array("derivatives", f"dtau_full & {full}", f"dtau_q[{nd + self.id.width - 1}:{nd}]", data)
        e("assign dtau_pop = derivatives_take;")
        for name in queues:
            e(f"assign {name}_pop = derivatives_take & {'' if name == 'kept' else '~'}is_own;")


def emit_top(acc: Accelerator, prefix: str) -> str:
    """The text of the top module; `prefix` is its name."""
    return TopEmitter(acc, prefix).text()
