"""The top module of the accelerator: queues and joins between the arrays, feedback, the merging of results.

A queue's ready and valid come from registers, so no path runs from one end of the accelerator to the other. Each
function here writes one part of the module into the same `Wires`, in the order of the text.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from condyle.fpga.rtl import accelerator, stream
from condyle.fpga.rtl.accelerator import FLAG, FLOATS, INVERSE, SOLVED, STAGE, TASK_KINDS, Leaf
from condyle.fpga.rtl.build import Accelerator
from condyle.fpga.rtl.constants import literal
from condyle.fpga.rtl.datapath import Word
from condyle.fpga.rtl.emit_array import bits_of, join_bus
from condyle.fpga.rtl.evaluate import largest
from condyle.fpga.rtl.expressions import LANE, any_of, cases, copy, is_one_of, joined, module, packed, zeros
from condyle.fpga.rtl.header import RETURNED_BITS
from condyle.fpga.rtl.stream import (
    CODE,
    DATA,
    ENTRY,
    ERROR,
    MERGED,
    OVER,
    TAG,
    Bus,
    bus,
    codes_of,
    fed_by_trig,
    laid,
    queues,
    result_width,
    width,
)
from condyle.fpga.rtl.target import Format
from condyle.text import Emitter

# Parts of which the top module is written: queues, credits, and arrays with the queues of their results.


class Wires:
    """The text of the top module so far, and the words on its buses. It does not know what drives what.

    d: declarations of wires. e: all other text. head: what goes with a task. twice: the tasks of two passes. kinds: for
    which tasks a wire of this name is 1 while they are at the entry. u: the words of a or tau of a task, base: those of
    the base, where its motion can be an input. entry, tau, inverse, course: the buses of the queues of tasks, of their
    torques and M^-1, and of what goes with a sub-task; buses: those of the queues behind arrays, and of codes that are
    refused; results: of these the names of those that leave.
    """

    def __init__(self, acc: Accelerator, prefix: str) -> None:
        self.acc, self.plan, self.prefix, self.id = acc, acc.plan, prefix, acc.plan.id
        self.d, self.e, self.head = Emitter(), Emitter(), stream.head(self.id)
        self.tasks, self.twice = list(self.plan.tasks.values()), self.plan.fed_back
        task = [(field.word, field.format) for field in stream.bus(self.plan)]
        kinds = {kind: [task for task in self.tasks if is_kind(task)] for kind, is_kind in TASK_KINDS.items()}
        self.kinds = {Word(f"stream.{kind}", 0): tasks for kind, tasks in kinds.items() if tasks}
        self.entry = Bus("entry_q", [*task, *self.head[:2], *((kind, Format(1, 0)) for kind in self.kinds)])
        self.u = [(word, format) for word, format in task if word.name in ("a", "tau")]
        self.base = [word for word in self.plan.takes("tau") if word.index < self.plan.base]
        self.tau, self.inverse = Bus("tau_q", self.u), Bus("given_q", self.takes("Minv"))
        self.course = Bus("course_q", list(self.plan.course.items()))
        waiting = [queue for ways in queues(self.plan).values() for queue in ways]
        self.buses = {queue.name: Bus(f"{queue.name}_q", [*self.group(queue.leaf), *self.head]) for queue in waiting}
        self.buses["refused"] = Bus("refused_q", self.head[:2])
        self.results = [*(queue.name for queue in waiting if queue.is_result), "refused"]

    def queue(self, bus: Bus, depth: int, push: str, data: str) -> None:
        """A queue with wires NAME_free (ready), NAME_full (valid), NAME_q; its reader drives NAME_pop, 0 if empty."""
        name = bus.name.removesuffix("_q")
        self.d(f"wire {name}_free, {name}_full, {name}_next, {name}_pop;", f"wire [{bus.width - 1}:0] {name}_q;")
        self.e(f"fx_queue #({bus.width}, {depth}, {_bits(depth)}) {name} (.clock(clock), .reset(reset),")
        self.e(f"    .push({push}), .ready({name}_free), .in_data({data}),")
        self.e(f"    .valid({name}_full), .pop({name}_pop), .out_data({name}_q), .next({name}_next));")

    def credits(self, name: str, depth: int, take: str, give: str) -> None:
        """A wire NAME_room: one of so many credits is free."""
        self.d(f"wire {name}_room;")
        self.e(f"fx_credits #({depth}, {_bits(depth)}) {name}_credits (.clock(clock), .reset(reset), .take({take}),")
        self.e(f"    .give({give}), .free({name}_room));")

    def array(self, name: str, valid: str, id_: str, words: Mapping[Word, str]) -> None:
        """An array and the queues of its results, with wires NAME_take and, for each group G, NAME_G_id, NAME_G.

        A task starts when the queue that its result will wait in has a credit, a free place, for it.
        """
        array, ports = self.acc.arrays[name], [f".in_valid({name}_take)", f".in_ready({name}_ready)"]
        ports += [f".in_id({name}_id)", f".in_data({name}_words)"]
        self.d(f"wire {name}_ready, {name}_take;", f"wire [{self.id.width - 1}:0] {name}_id;")
        self.d(f"reg [{bits_of(array, array.datapath.inputs) - 1}:0] {name}_words;")
        join_bus(self.e, f"{name}_words", [words[word] for word, _ in array.datapath.inputs])
        for group, leaving in array.datapath.groups:
            where = f"{name}_{group}"
            self.d(f"wire {where}_valid;", f"wire [{self.id.width - 1}:0] {where}_id;")
            self.d(f"wire [{bits_of(array, leaving) - 1}:0] {where};")
            ports += [f".{group}_valid({where}_valid)", f".{group}_id({where}_id)", f".{group}_data({where})"]
        rooms = [valid, f"{name}_ready"]
        for queue in queues(self.plan)[name]:
            where, depth = f"{name}_{queue.leaf.group}", self.acc.depths[queue.name]
            # The code decides where words of other codes pass through the array too.
            is_for_all = codes_of(self.plan, name) <= set(queue.codes)
            leaves, needs = ([] if is_for_all else [self.code_is(f"{at}_id", queue.codes)] for at in (where, name))
            comes = " & ".join([f"{where}_valid", *leaves])
            self.queue(self.buses[queue.name], depth, comes, f"{{{where}_id, {where}}}")
            if not queue.counted:
                self.credits(queue.name, depth, " & ".join([f"{name}_take", *needs]), f"{queue.name}_pop")
                rooms.append(f"({' | '.join([*(f'~{code}' for code in needs), f'{queue.name}_room'])})")
        self.e(f"assign {name}_id = {id_};", f"assign {name}_take = {' & '.join(rooms)};")
        # No array's name can be a keyword with this ending: `solve` is one.
        self.e(f"{self.prefix}_{name} {name}_array (.clock(clock), .reset(reset),")
        self.e("    " + ",\n        ".join(ports) + ");")

    def code_is(self, wire: str, codes: Iterable[int]) -> str:
        """Whether the code that travels with a task is one of these."""
        return is_one_of(Bus(wire, self.head)[CODE], codes)

    def group(self, leaf: Leaf) -> stream.Words:
        """The words that leave an array together; one bit if there are none."""
        formats = self.acc.arrays[leaf.array].datapath.formats(leaf.group)
        return list(formats.items()) or [(DATA, Format(1, 0))]

    def takes(self, *names: str) -> stream.Words:
        """The words of some input arrays, one after the other."""
        return [(word, self.plan.formats[word]) for name in names for word in self.plan.takes(name)]


def _bits(depth: int) -> int:
    """Bits of an index into the memory of a queue."""
    return max(1, (depth - 2).bit_length())


# Feedback: a of a dfd for its derivatives, the state of an integration step for its next stage.
#
# As many tasks of either kind are admitted as the queues of the loop have entries: no loop can block itself.


STAGE_NUMBER = Word("stage", 0)


class Loop(NamedTuple):
    """What a loop asks of the start of tasks, as Verilog; empty where tasks are only counted.

    room: what must be there before a new task starts. now: a task that was fed back is next, with this id and these
    words. pop: it starts; then these torques, tau, are kept again.
    """

    room: tuple[str, ...]
    now: str = ""
    id: str = ""
    words: str = ""
    pop: str = ""
    tau: str = ""


def second_pass(w: Wires) -> Loop:
    """The second pass of dfd: a and the state of the task."""
    e, depth, back = w.e, w.acc.depths["back"], w.buses["back"]
    w.credits("loop", depth, "take & is_dfd", "kept_pop")
    base = [(Word("a", word.index), w.plan.formats[word]) for word in w.base]
    state = Bus("state_q", [*w.takes("q", "v", "f_ext"), *base])
    kept = joined(w.entry.part("f_ext"), w.entry.part("q", "v"))
    w.queue(state, depth, "take & is_dfd", joined("given_a", kept) if base else kept)
    e("wire again = back_full;", "assign back_pop = again & trig_take, state_pop = back_pop;")
    over, parts = list[str](), list[str]()
    for (word, was), (_, now) in zip(w.group(SOLVED), w.takes("a"), strict=True):
        n, sizes = word.index, f"{was.width}, {was.frac - now.frac}, {now.width}"
        e(f"wire [{now.width - 1}:0] again_a{n};", f"wire again_over{n};")
        e(f"fx_fit #({sizes}) again_fit{n} (.p({back[word]}), .y(again_a{n}), .over(again_over{n}));")
        over.append(f"again_over{n}")
        # one of the two is zero
        parts.append(f"again_a{n} | {state[word]}" if word in state.field_of else f"again_a{n}")
    e(f"wire [{w.tau.width - 1}:0] back_a = {{{', '.join(reversed(parts))}}};")
    was_id, bits = Bus("was_id", w.head), w.id.code_bits
    e(f"wire [{w.id.width - 1}:0] was_id = {back.id};")
    *rest, (_, last) = [task.codes for task in w.twice]
    code = "".join(f"{was_id[CODE]} == {first} ? {bits}'d{second} : " for first, second in rest)
    e(f"wire [{bits - 1}:0] back_code = {code}{bits}'d{last};")
    over_any = " | ".join([was_id[OVER], *(over if w.plan.flags else ())])
    e(f"wire [{w.id.width - 1}:0] back_id = {joined(over_any, 'back_code', was_id[TAG])};")
    words = joined(state.part("f_ext"), "back_a", state.part("q", "v"))
    return Loop(("(~is_dfd | loop_room)",), "again", "back_id", words)


def rounds(w: Wires) -> Loop:
    """Integration steps: the queue `course` has the words of sub-tasks, the queue `round` the state of a stage."""
    e, depth, plan = w.e, w.acc.depths["course"], w.plan
    loop = Loop(("(~is_step | steps_room)",))
    w.credits("steps", depth, "take & is_step", "step_out_valid")
    words = dict(w.entry)
    fresh = {word: format for word, format in plan.course.items() if word.name in accelerator.FRESH}
    words |= {
        to: words.get(Word(accelerator.FRESH[to.name], to.index), zeros(format.width)) for to, format in fresh.items()
    }
    first = [f"entry_code == {task.codes[0]} ? {task.stages[0]}" for task in w.tasks if task.stages]
    enters, data = "take & is_step", _course(w, words, w.entry.name, " : ".join([*first, "0"]))
    if plan.has_rounds:
        (code,) = (task.codes[0] for task in w.tasks if task.has_rounds)
        left = w.buses["round"]
        e(f"wire round_now = round_full & tau_free{' & ~again' if w.twice else ''};")
        e("assign round_pop = round_now & trig_take;")
        e(f"wire [{w.id.width - 1}:0] round_id = {{{left[OVER]}, {w.id.code_bits}'d{code}, ")
        e(f"    {left[TAG]}}};")
        words = dict(left)
        words |= {
            to: words[Word(accelerator.AGAIN[to.name], to.index)] for to in plan.course if to.name in accelerator.AGAIN
        }
        enters += " | round_pop"
        data = f"round_pop ? {_course(w, words, left.name, f'{words[STAGE_NUMBER]} + 1')} : {data}"
        # The state of the next stage as a task: q, v, a = 0, f_ext; the torques in the width of a task's.
        state = [left[Word(f"n{word.name}", word.index)] for word, _ in w.takes("q", "v")]
        task = packed([*state, zeros(w.tau.width), *(left[word] for word, _ in w.takes("f_ext"))])
        rest = w.tau.width - width(laid(w.takes("tau")))
        torques = packed([*(left[word] for word, _ in w.takes("tau")), *[zeros(rest)] * (rest > 0)])
        loop = Loop((*loop.room, "~round_full"), "round_now", "round_id", task, "round_pop", torques)
    w.queue(w.course, depth, enters, data)
    return loop


def step(w: Wires) -> None:
    """Schedule module: fd's answer and the step's sums become the next sub-task, or the result."""
    e, solved, words = w.e, w.buses["solved"], dict(w.course)
    e("", "// schedule module: integration steps")
    stage, kind = words[STAGE_NUMBER], solved[CODE]
    if w.plan.has_rounds:
        (follows,) = w.plan.through(STAGE)
        e(f"wire step_last = {' | '.join(f'{stage} == {s}' for s in accelerator.LAST)};")
        kind = f"step_last ? {kind} : {w.id.code_bits}'d{follows}"
    for name, (values, format) in w.plan.weights.items():
        weight = Bus(f"step_{name}", [(Word(name, 0), format)])
        e(f"reg signed [{format.width - 1}:0] {weight.name};")
        *rest, final = [literal(value, format.width) for value in values]
        cases(e, weight.name, stage, enumerate(rest), final)
        words |= weight
    id_ = joined(solved[OVER], kind, solved[TAG])
    w.array("step", "solved_full", id_, words | solved.renamed("k"))
    e("assign solved_pop = step_take, course_pop = step_take;")


def _course(w: Wires, words: Mapping[Word, str], source: str, stage: str) -> str:
    """Its words, and the number of its stage."""
    (_, format), *rest = w.plan.course.items()
    w.e(f"wire [{format.width - 1}:0] stage_{source} = {stage};")
    return packed([f"stage_{source}", *(words[word] for word, _ in rest)])


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
