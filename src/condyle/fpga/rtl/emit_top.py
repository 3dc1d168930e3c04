"""The top module of the accelerator: queues and joins between the arrays, feedback, the merging of results.

A queue's ready and valid come from registers, so no path runs from one end of the accelerator to the other. Each
function here writes one part of the module into the same `Wires`, in the order of the text.
"""

from __future__ import annotations

from collections import defaultdict

from condyle.fpga.rtl.build import Accelerator
from condyle.fpga.rtl.datapath import Word
from condyle.fpga.rtl.emit_feedback import rounds, second_pass, step
from condyle.fpga.rtl.emit_phases import LANE
from condyle.fpga.rtl.emit_wires import Wires
from condyle.fpga.rtl.evaluate import largest
from condyle.fpga.rtl.expressions import any_of, copy, is_one_of, joined, module, packed, zeros
from condyle.fpga.rtl.formats import Format
from condyle.fpga.rtl.header import RETURNED_BITS
from condyle.fpga.rtl.queues import ENTRY, MERGED, fed_by_trig
from condyle.fpga.rtl.stream import CODE, DATA, ERROR, OVER, TAG, Bus, bus, result_width, width
from condyle.fpga.rtl.tasks import FLAG, FLOATS, INVERSE
from condyle.text import Emitter


def emit_top(acc: Accelerator, prefix: str) -> str:
    """The text of the top module."""
    w, code = Wires(acc, prefix), acc.plan.id.code_bits
    ports = ["input clock", "input reset", "input in_valid", "output in_ready"]
    ports += [f"input [{code - 1}:0] in_function", f"input [{RETURNED_BITS - 1}:0] in_tag"]
    ports += [f"input [{width(bus(acc.plan)) - 1}:0] in_data", "output out_valid", "input out_ready"]
    ports += [f"output [{code - 1}:0] out_function", f"output [{RETURNED_BITS - 1}:0] out_tag"]
    ports += ["output out_flag", "output out_error", f"output [{result_width(acc.plan) - 1}:0] out_data"]
    _enter(w)
    _decode(w)
    _fork(w)
    for array, write in {"solve": _solve, "derivatives": _derivatives, "step": step}.items():
        if array in acc.plan.datapaths:
            write(w)
    _encode(w)
    whole = Emitter()
    with module(whole, prefix, ports):
        whole(*w.d.text().splitlines(), *w.e.text().splitlines())
    return whole.text()


def _enter(w: Wires) -> None:
    """Input Stream: a queue, so that the ports of a task begin and end at registers. The task's kind waits in the
    queue too, so registers decide whether a task starts, not its code."""
    w.e("", "// input stream", "assign in_ready = entry_free & ~reset;")
    kinds = [is_one_of("in_function", [task.codes[0] for task in tasks]) for tasks in w.kinds.values()]
    w.queue(w.entry, ENTRY, "in_valid & in_ready", packed(["in_data", "in_tag", "in_function", *kinds]))
    w.d(*(f"wire {kind.name.removeprefix('stream.')} = {w.entry[kind]};" for kind in w.kinds))
    w.d(f"wire [{RETURNED_BITS - 1}:0] entry_tag = {w.entry[TAG]};")
    w.d(f"wire [{w.id.code_bits - 1}:0] entry_code = {w.entry[CODE]};")


def _decode(w: Wires) -> None:
    """A task that is fed back has priority. Words that are needed later wait in queues."""
    w.e("", "// decode, feedback")
    w.d("wire take;")
    room = ["entry_full", "is_known", *_keep(w)]
    first, torques = _task(w)
    passes = [second_pass(w)] if w.twice else []
    stages = [rounds(w)] if "step" in w.plan.datapaths else []
    id_, enters, again = "{outside, entry_code, entry_tag}", "take & keeps_tau", list[str]()
    for loop in passes + stages:
        room += loop.room
        if loop.now:
            id_ = f"{loop.now} ? {loop.id} : {id_}"
            again.append(loop.now)
    for loop in stages if w.plan.has_rounds else ():
        first = f"{loop.now} ? {loop.words} : {first}"
        enters, torques = f"{enters} | {loop.pop}", f"{loop.pop} ? {loop.tau} : {torques}"
    if "solve" in w.plan.datapaths:
        w.e(f"assign tau_enters = {enters};", f"assign tau_in = {torques};")
    _start(w, _entering(w, first, "".join(loop.words for loop in passes)), id_, again, room)


def _keep(w: Wires) -> list[str]:
    """Queues of words that a task needs later. Returns what must be free before a task starts."""
    room = list[str]()
    if "solve" in w.plan.datapaths:
        room.append("(~keeps_tau | tau_free)")
        w.e("wire tau_enters;", f"wire [{w.tau.width - 1}:0] tau_in;")
        w.queue(w.tau, w.acc.depths["tau"], "tau_enters", "tau_in")
    if w.inverse.data:
        room.append("(~keeps_inverse | given_free)")
        w.queue(w.inverse, w.acc.depths["given"], "take & keeps_inverse", w.entry.part("Minv"))
    return room


def _task(w: Wires) -> tuple[str, str]:
    """The words of the task at the entry for the arrays, and its torques. The bits of a or tau, u, are either's."""
    if "solve" not in w.plan.datapaths:
        return f"{{{w.entry.part('q', 'v', 'a', 'f_ext')}}}", ""
    still, torques = zeros(w.tau.width), w.entry.part("a")
    if w.base:
        given = is_one_of("entry_code", [task.codes[0] for task in w.tasks if task.base_given])
        base, joints = w.entry.span(w.base), [word for word, _ in w.u if word.index >= w.plan.base]
        wide = width(w.tau.field_of[word] for word in w.base)
        none = zeros(wide)
        w.e(f"wire is_given = {given};")
        w.e(f"wire [{wide - 1}:0] given_a = is_given ? {base} : {none}, base_tau = is_given ? {none} : {base};")
        still = joined(zeros(w.tau.width - wide), "given_a")
        torques = joined(w.entry.span(joints), "base_tau")
    u = f"keeps_tau ? {still} : {w.entry.part('a')}"
    return joined(w.entry.part("f_ext"), u, w.entry.part("q", "v")), torques


def _entering(w: Wires, first: str, again: str) -> Bus:
    """What the trigonometry takes: a task's words or, chosen by a copy every LANE bits, those of a second pass."""
    e, enters = w.e, Bus("trig_in", [*w.takes("q", "v"), *w.u, *w.takes("f_ext")])
    if not again:
        e(f"wire [{enters.width - 1}:0] trig_in = {first};")
        return enters
    e(f"wire [{enters.width - 1}:0] trig_in, first_in, again_in;", f"assign first_in = {first};")
    e(f"assign again_in = {again};")
    for lane, low in enumerate(range(0, enters.width, LANE)):
        bits = f"{min(low + LANE, enters.width) - 1}:{low}"
        e(f"wire again_{lane};", copy(1, f"again_copy_{lane}", "back_next", f"again_{lane}"))
        e(f"assign trig_in[{bits}] = again_{lane} ? again_in[{bits}] : first_in[{bits}];")
    return enters


def _start(w: Wires, enters: Bus, id_: str, again: list[str], room: list[str]) -> None:
    """A task with an unknown code is answered by an error. trig takes the others, those that are fed back first."""
    w.e(f"assign take = {' & '.join(['trig_take', 'entry_full', *(f'~{name}' for name in again)])};")
    w.e("wire refuse = entry_full & ~is_known & refused_free;", "assign entry_pop = take | refuse;")
    w.queue(w.buses["refused"], 2, "refuse", "{entry_code, entry_tag}")
    _outside(w)
    words = dict(enters)
    if w.plan.base:
        given = w.code_is("trig_id", [task.codes[0] for task in w.tasks if task.base_given])
        w.e(f"wire [{FLAG.width - 1}:0] trig_floats = {{1'b0, ~{given}}};")
        words |= Bus("trig_floats", [(FLOATS, FLAG)])
    starts = " | ".join([*again, f"({' & '.join(room)})"])
    w.array("trig", f"({starts})", id_, words)


def _outside(w: Wires) -> None:
    """Whether an input word that the task's function uses is outside the box."""
    flags, taken = list[str](), defaultdict[tuple[str, tuple[int, ...]], list[Word]](list)
    for word, _ in w.takes("q", "v", "a", "tau", "f_ext", "Minv") if w.plan.flags else ():
        codes = tuple(task.codes[0] for task in w.tasks if task.takes(word, w.plan.base))
        taken[word.name, codes].append(word)
    for codes, words in ((codes, words) for (_, codes), words in taken.items() if codes):
        for word in words:
            sizes = f"{w.plan.formats[word].width}, {largest(w.plan, word)}"
            w.e(f"wire far_{word};")
            w.e(f"fx_outside #({sizes}) is_far_{word} (.x({w.entry[word]}), .far(far_{word}));")
        flags.append(f"{is_one_of('entry_code', codes)} & ({any_of([f'far_{word}' for word in words])})")
    w.e(f"wire outside = {' | '.join(flags) or zeros(1)};")


def _fork(w: Wires) -> None:
    """All arrays that a task needs get it in the same cycle, each by a queue."""
    for name in fed_by_trig(w.plan):
        w.e("", f"// {name}")
        task = w.buses[f"{name}_in"]
        w.array(name, f"{name}_in_full", task.id, task)
        w.e(f"assign {name}_in_pop = {name}_take;")


def _solve(w: Wires) -> None:
    c, inverse = w.buses["c"], w.buses["inverse"]
    w.e("", "// schedule module: M^-1 (tau - c)")
    id_ = joined(f"{c[OVER]} | {inverse[OVER]}", c.span([CODE, TAG]))
    w.array("solve", "c_full & inverse_full & tau_full", id_, c.renamed("c") | inverse | w.tau)
    w.e("assign c_pop = solve_take, inverse_pop = solve_take, tau_pop = solve_take;")
    if w.twice:
        again = w.code_is("solve_id", [task.codes[0] for task in w.twice])
        kept = Bus("kept_q", w.group(INVERSE))
        w.queue(kept, w.acc.depths["kept"], f"solve_take & {again}", inverse.span(inverse.data))


def _derivatives(w: Wires) -> None:
    columns = w.buses["dtau"]
    w.e("", "// schedule module: -M^-1 dtau, M^-1 the user's or the task's own")
    is_own = w.code_is("derivatives_id", [task.codes[1] for task in w.twice])
    inverse = Bus("dtau_inverse", w.group(INVERSE) if w.twice else w.takes("Minv"))
    queues = [name for name, there in (("kept", w.twice), ("given", w.inverse.data)) if there]
    words, full = (" : ".join(f"{name}_{what}" for name in queues) for what in ("q", "full"))
    if len(queues) == 2:
        words, full = f"is_own ? {words}", f"(is_own ? {full})"
    w.e(f"wire is_own = {is_own if len(queues) == 2 else int(bool(w.twice))};")
    w.e(f"wire [{inverse.width - 1}:0] dtau_inverse = {words};")
    w.array("derivatives", f"dtau_full & {full}", columns.id, columns | inverse)
    w.e("assign dtau_pop = derivatives_take;")
    for name in queues:
        w.e(f"assign {name}_pop = derivatives_take & {'' if name == 'kept' else '~'}is_own;")


def _encode(w: Wires) -> None:
    e, answer, bits = w.e, result_width(w.plan), w.id.code_bits
    e("", "// encode")
    merged = Bus("merged_q", [(DATA, Format(answer, 0)), *w.head, (ERROR, Format(1, 0))])
    for name in w.results[:-1]:
        left = w.buses[name]
        whole = joined("1'b0", left.id, zeros(answer - left.field_of[TAG].low), left.span(left.data))
        e(f"wire [{merged.width - 1}:0] {name}_all = {whole};")
    e(f"wire [{merged.width - 1}:0] refused_all = {{2'b11, refused_q, {zeros(answer)}}};")
    _turns(w)
    w.d(f"wire [{merged.width - 1}:0] chosen;")
    n = len(w.results)
    for lane, low in enumerate(range(0, merged.width, LANE)):  # each by its own copy of the grant
        stop = min(low + LANE, merged.width)
        e(f"wire [{n - 1}:0] grant_{lane};", copy(n, f"granted_{lane}", "pick", f"grant_{lane}"))
        there = [
            (k, name) for k, name in enumerate(w.results) if stop > answer or w.buses[name].field_of[TAG].low > low
        ]
        parts = [f"({{{stop - low}{{grant_{lane}[{k}]}}}} & {name}_all[{stop - 1}:{low}])" for k, name in there]
        e(f"assign chosen[{stop - 1}:{low}] = " + "\n    | ".join(parts) + ";")
    w.queue(merged, MERGED, "granting", "chosen")
    e("assign out_valid = merged_full, merged_pop = merged_full & out_ready;")
    e(f"wire [{bits - 1}:0] code = {merged[CODE]};")
    e(f"assign out_error = {merged[ERROR]}, out_flag = {merged[OVER]};")
    codes = [task.codes for task in w.twice]
    was = " : ".join([*(f"code == {second} ? {bits}'d{first}" for first, second in codes), "code"])
    e(f"assign out_function = {f'out_error ? code : {was}' if w.twice else 'code'};")
    e(f"assign out_tag = {merged[TAG]}, out_data = {merged[DATA]};")


def _turns(w: Wires) -> None:
    """The grant of the next cycle, round robin. A credit of the queue `merged` is taken now."""
    e, n = w.e, len(w.results)
    # An error may wait a cycle: its path would begin at the entry.
    soon = [*(f"{name}_next" for name in w.results[:-1]), f"refused_full & ~grant[{n - 1}]"]
    e(f"wire [{n - 1}:0] grant;", f"wire [{n - 1}:0] waiting = {{{', '.join(reversed(soon))}}};")
    e(f"reg [{n - 1}:0] turn;")
    e(f"wire [{2 * n - 1}:0] from_turn = {{waiting, waiting & ~(turn - 1'b1)}};")
    e(f"wire [{2 * n - 1}:0] first = from_turn & (~from_turn + 1'b1);")
    e(f"wire [{n - 1}:0] pick = {{{n}{{merged_room & ~reset}}}} & (first[{2 * n - 1}:{n}] | first[{n - 1}:0]);")
    e("wire picks = merged_room & ~reset & |waiting;")
    with e.block("always @(posedge clock) begin", "end"):
        e("if (reset) turn <= 1;", f"else if (picks) turn <= {{pick[{n - 2}:0], pick[{n - 1}]}};")
    e("wire granting;", copy(n + 1, "granted", "{picks, pick}", "{granting, grant}"))
    e(*(f"assign {name}_pop = grant[{k}];" for k, name in enumerate(w.results)))
    w.credits("merged", MERGED, "picks", "merged_pop")
