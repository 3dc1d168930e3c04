"""Reserved names: keywords of C, C++, CUDA and Verilog, and names of their libraries and tools."""

from __future__ import annotations

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
