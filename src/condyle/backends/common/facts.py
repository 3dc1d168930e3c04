"""The information about a robot that generated code contains, and the names that it may have."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from condyle.errors import UnsupportedError
from condyle.ir.count import work
from condyle.ir.loops import Code, Repeated
from condyle.ir.program import Array, Program
from condyle.ir.segments import Segmented
from condyle.operations import ARITY
from condyle.specification import Function, Port

# Reserved names: keywords of C, C++, CUDA and Verilog, and names of their libraries and tools.


_C = """
auto break case char const constexpr continue default do double else enum extern false float for goto if inline int long
nullptr register restrict return short signed sizeof static static_assert struct switch thread_local true typedef typeof
typeof_unqual union unsigned void volatile while alignas alignof bool asm fortran complex imaginary noreturn
"""
_CPP = """
and and_eq atomic_cancel atomic_commit atomic_noexcept bitand bitor catch char8_t char16_t char32_t class co_await
co_return co_yield compl concept const_cast consteval constinit contract_assert decltype delete dynamic_cast explicit
export final friend import module mutable namespace new noexcept not not_eq operator or or_eq override post pre private
protected public reflexpr reinterpret_cast requires static_cast synchronized template this throw
trivially_relocatable_if_eligible try typeid typename using virtual wchar_t xor xor_eq
"""
_VERILOG = """
accept_on alias always always_comb always_ff always_latch and assert assign assume automatic before begin bind bins
binsof bit break buf bufif0 bufif1 byte case casex casez cell chandle checker class clocking cmos config const
constraint context continue cover covergroup coverpoint cross deassign default defparam design disable dist do edge else
end endcase endchecker endclass endclocking endconfig endfunction endgenerate endgroup endinterface endmodule endpackage
endprimitive endprogram endproperty endspecify endsequence endtable endtask enum event eventually expect export extends
extern final first_match for force foreach forever fork forkjoin function generate genvar global highz0 highz1 if iff
ifnone ignore_bins illegal_bins implements implies import incdir include initial inout input inside instance int integer
interconnect interface intersect join join_any join_none large let liblist library local localparam logic longint
macromodule matches medium modport module nand negedge nettype new nexttime nmos nor noshowcancelled not notif0 notif1
null or output package packed parameter pmos posedge primitive priority program property protected pull0 pull1 pulldown
pullup pulsestyle_ondetect pulsestyle_onevent pure rand randc randcase randsequence rcmos real realtime ref reg
reject_on release repeat restrict return rnmos rpmos rtran rtranif0 rtranif1 s_always s_eventually s_nexttime s_until
s_until_with scalared sequence shortint shortreal showcancelled signed small soft solve specify specparam static string
strong strong0 strong1 struct super supply0 supply1 sync_accept_on sync_reject_on table tagged task this throughout time
timeprecision timeunit tran tranif0 tranif1 tri tri0 tri1 triand trior trireg type typedef union unique unique0 unsigned
until until_with untyped use uwire var vectored virtual void wait wait_order wand weak weak0 weak1 while wildcard wire
with within wor xnor xor
"""
_MATHS = """
acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh cospi div drem erf erfc erfcinv erfcx erfinv exp
exp10 exp2 expm1 fabs fdim floor fma fmax fmin fmod frexp gamma hypot ilogb isfinite isinf isnan j0 j1 jn ldexp lgamma
llrint llround log log10 log1p log2 logb lrint lround max min modf nan nearbyint nextafter nexttoward norm norm3d norm4d
normcdf pow pow10 remainder remquo rhypot rint round rsqrt scalb scalbln scalbn signbit signgam significand sin sincos
sincospi sinh sinpi sqrt tan tanh tgamma trunc y0 y1 yn
"""
_FLOATS = " ".join(f"{word}f {word}l" for word in _MATHS.split() if not word[-1].isdigit() or word in ("atan2", "exp2"))
_LIBRARY = """
abort abs alloca aligned_alloc assert atexit atof atoi atol atoll bcmp bcopy bsearch bzero calloc clearerr clock close
errno exit fclose feof ferror fflush ffs fgetc fgetpos fgets fopen fprintf fputc fputs fread free freopen fscanf fseek
fsetpos ftell fwrite getc getchar getenv gets getline index labs ldiv link llabs lldiv longjmp main malloc mblen memccpy
memchr memcmp memcpy memmove mempcpy memset mktemp offsetof open perror pipe printf putc putchar putenv puts qsort raise
rand random read realloc remove rename rewind rindex scanf select setbuf setenv setjmp setvbuf signal sleep snprintf
sprintf srand srandom sscanf stderr stdin stdout stpcpy strcat strchr strcmp strcoll strcpy strcspn strdup strerror
strlen strncat strncmp strncpy strpbrk strrchr strsep strspn strstr strtod strtof strtok strtol strtoll strtoul system
time tmpfile tmpnam truncate ungetc unlink va_arg va_end va_start vfprintf vprintf vsnprintf vsprintf wait write fpos_t
int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t intptr_t uintptr_t intmax_t uintmax_t ptrdiff_t size_t
ssize_t time_t clock_t max_align_t double_t float_t div_t ldiv_t lldiv_t va_list jmp_buf int_fast8_t int_fast16_t
int_fast32_t int_fast64_t uint_fast8_t uint_fast16_t uint_fast32_t uint_fast64_t int_least8_t int_least16_t
int_least32_t int_least64_t uint_least8_t uint_least16_t uint_least32_t uint_least64_t u_char u_short u_int u_long uint
ushort ulong quad_t
"""
_TOOLS = """
linux unix i386 near far huge pascal cdecl interface hyper std cuda cub thrust nvcuda cooperative_groups cg clock64 dim3
umin umax llmin llmax ullmin ullmax mul24 umul24 saturate con prn aux nul com1 com2 com3 com4 com5 com6 com7 com8 com9
lpt1 lpt2 lpt3 lpt4 lpt5 lpt6 lpt7 lpt8 lpt9 parts fx
"""
_NUMBER_TYPES = "char uchar short ushort int uint long ulong longlong ulonglong float double"
_VECTORS = [f"{kind}{n}" for kind in _NUMBER_TYPES.split() for n in (1, 2, 3, 4)]
_MAKERS = [f"make_{vector}" for vector in _VECTORS]

IN_C = frozenset([*" ".join((_C, _CPP, _MATHS, _FLOATS, _LIBRARY, _TOOLS)).split(), *_VECTORS, *_MAKERS])
"""Names that C, C++ and CUDA reserve."""
IN_VERILOG = frozenset(_VERILOG.split())
"""The keywords of IEEE 1800, which has those of IEEE 1364."""
RESERVED = IN_C | IN_VERILOG
"""One table for all targets, so that a name that one target accepts is accepted by all."""
OWN_PREFIX = "fx_"
"""The prefix of our own Verilog modules."""


NAME = re.compile(r"[a-z][a-z0-9_]*")
SHORT, LONG = 31, 127
"""The largest length of a prefix, and of the name of a function after it."""
BITS = {"float64": 64, "float32": 32}
"""The number types that code computes in."""
_WORD = re.compile(r"[A-Za-z0-9.+:_-]{0,120}")


@dataclass(frozen=True, slots=True)
class Facts:
    """Code-generation info of a robot; `name` is the prefix of every exported symbol.

    functions: {name of a Program: its specification}, for comments.
    Raises UnsupportedError for a name that `checked_name` refuses, or for text that could end a C string.
    """

    nq: int
    nv: int
    fingerprint: str = ""
    version: str = ""
    name: str = "robot"
    functions: Mapping[str, Function] = field(default_factory=dict[str, Function], compare=False)

    def __post_init__(self) -> None:
        checked_name(self.name)
        for text in (self.fingerprint, self.version):
            if _WORD.fullmatch(text) is None:
                raise UnsupportedError(f"{text!r} cannot stand in generated code")


def checked_name(name: str, taken: Collection[str] = RESERVED, most: int = SHORT) -> str:
    """The name itself if it can be a name in generated code. taken: names that are reserved, by default in any
    target."""
    allowed = f"[a-z][a-z0-9_]{{0,{most - 1}}}"
    fits = isinstance(name, str) and len(name) <= most  # pyright: ignore[reportUnnecessaryIsInstance]
    if not fits or NAME.fullmatch(name) is None:
        raise UnsupportedError(f"name={name!r} cannot name generated code: allowed is {allowed}")
    if name in taken or name.startswith(OWN_PREFIX):
        other = f"my_{name}"[:most]
        raise UnsupportedError(
            f"name={name!r} cannot name generated code: C, C++, CUDA, Verilog or their libraries have that name. Any "
            f"other {allowed} is allowed, such as {other!r}"
        )
    return name


def bits_of(dtype: str) -> int:
    """The bits of a number type; UnsupportedError for a type that code does not compute in."""
    if dtype not in BITS:
        raise UnsupportedError(f"dtype {dtype!r}: code computes in {' and '.join(BITS)}")
    return BITS[dtype]


def packed(values: Sequence[float], bits: int) -> bytes:
    """Numbers as bytes in memory; UnsupportedError for one that is not finite in this number type."""
    with np.errstate(over="ignore"):
        array = np.array(values, dtype=np.float64 if bits == 64 else np.float32)
    if not np.isfinite(array).all():
        raise UnsupportedError("a constant is not finite in this precision and cannot stand in generated code")
    return array.tobytes()


@dataclass(frozen=True, slots=True)
class Vectors:
    """Test vectors: inputs and outputs, (n, size) each, and the error allowed.

    tolerance: relative to the largest entry of an output. times: of a rollout (steps, every). coarser: larger
    tolerances of single outputs, (number of the output, tolerance).
    """

    inputs: tuple[NDArray[np.floating], ...]
    outputs: tuple[NDArray[np.floating], ...]
    tolerance: float
    times: tuple[int, ...] = ()
    coarser: tuple[tuple[int, float], ...] = ()

    def tolerance_of(self, output: int) -> float:
        return dict(self.coarser).get(output, self.tolerance)


UNTESTED = "no well-posed state was drawn: at each the answers are not finite, or rounding decides them"
"""Why a function has no test vectors."""


# The comment above an exported function, and the names of its arguments.


_ARGUMENT = re.compile(r"[A-Za-z][A-Za-z0-9]*(_[A-Za-z0-9]+)*")
_TAKEN = """
auto break case char const continue default do double else enum extern float for goto if inline int long register
restrict return short signed sizeof static struct switch typedef union unsigned void volatile while n work in out
in_stride out_stride k w rows real LANES raw status T class delete namespace new operator template this typename warp
in_step out_step steps every stream scratch launch
"""


def header(program: Code | Repeated, facts: Facts, numbers: str, abi: int, single: bool = False) -> list[str]:
    """The comment at the top: equation, robot, arguments with shapes and units, number of operations. single: of one
    state."""
    function = facts.functions.get(program.name)
    lines = [f"/* {program.name}: " + ("a function" if function is None else in_ascii(function.equation))]
    lines.append(f" * robot {facts.fingerprint or '-'}, nq = {facts.nq}, nv = {facts.nv}, {numbers}")
    lines.append(f" * Condyle {facts.version or '-'}, ABI {abi}")
    each = "a step of a state" if isinstance(program, Repeated) else "a state"
    lines.append(f" * operations {each}: {_operations(body_of(program))}")
    for way, name, shape, port in described(program, facts):
        meaning = "" if port is None else in_ascii(f"  {port.doc} [{port.unit}]")
        meaning = meaning if single or shape[:1] == ("n",) else f"{meaning}  one for all states"
        sizes = [n for n in shape if not single or n != "n"]
        lines.append(f" * {way:3} {name}{''.join(f'[{n}]' for n in sizes)}{meaning}")
    return [*lines, " */"]


def in_ascii(text: str) -> str:
    """A specification's text in ASCII, which every compiler accepts."""
    return text.translate({ord("⊕"): "(+)", ord("⊖"): "(-)"}).encode("ascii", "replace").decode("ascii")


def body_of(program: Code | Repeated) -> Code:
    """The code that is repeated, or the code itself."""
    return program.body if isinstance(program, Repeated) else program


def described(program: Code | Repeated, facts: Facts) -> list[tuple[str, str, tuple[int | str, ...], Port | None]]:
    """For each argument "in" or "out", its name in C, its shape, and its port.

    The shape begins with "n" if each state has a row, then has "steps" or "rows" if each step of a rollout has one.
    """
    function, body = facts.functions.get(program.name), body_of(program)
    held = held_of(body)
    docs: dict[str, Port] = {}
    if function is not None:
        docs = {port.name: port for port in (*function.inputs, *function.named_outputs)}
    loop = program.loop if isinstance(program, Repeated) else None
    times = {
        "in": [("steps",) if loop is not None and loop.takes[k].every else () for k in range(len(body.inputs))],
        "out": [("rows",) if loop is not None and not loop.gives[k].summed else () for k in range(len(body.arrays))],
    }
    return [
        (
            way,
            name,
            (*(() if way == "in" and array.name in held else ("n",)), *time, *array.shape),
            docs.get(array.name),
        )
        for way, arrays in (("in", body.inputs), ("out", body.arrays))
        for name, array, time in zip(argument_names(arrays, way), arrays, times[way], strict=True)
    ]


def held_of(program: Code) -> frozenset[str]:
    """The inputs that are one row for all states where arrays are contiguous."""
    return program.held if isinstance(program, Segmented) else frozenset()


def _operations(program: Code) -> str:
    if isinstance(program, Segmented):
        return f"{work(program)}, products of matrices in loops"
    if not isinstance(program, Program):
        return f"{work(program)}, in loops over {len(program.joints)} joints"
    counts = Counter(node[0] for node in program.nodes if node[0] in ARITY)
    return ", ".join(f"{n} {op}" for op, n in sorted(counts.items())) or "none"


def argument_names(arrays: Sequence[Array], way: str) -> list[str]:
    """Array names as C identifiers; a name that cannot be one is replaced by its direction and number."""
    plain = [array.name for array in arrays]
    return [
        name
        if _ARGUMENT.fullmatch(name) and len(name) < 32 and name not in _TAKEN.split() and plain.count(name) == 1
        else f"{way}{k}"
        for k, name in enumerate(plain)
    ]
