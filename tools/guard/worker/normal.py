"""Generated text without what may change freely: comments, white space, the version, and names of its own.

A name is anything that is not a word of the language; names are numbered in the order in which they appear. So a
renamed buffer is no change, while another order, number, operation or name of the language is one.
"""

from __future__ import annotations

import hashlib
import re

C = """
    auto break case char const continue default do double else enum extern float for goto if inline int long register
    restrict return short signed sizeof static struct switch typedef union unsigned void volatile while size_t int8_t
    uint8_t int16_t uint16_t int32_t uint32_t int64_t uint64_t uintptr_t NULL include define undef ifdef ifndef elif
    endif error pragma defined once unroll vector_size aligned always_inline noinline unused visibility fma fmaf sin
    sinf cos cosf sqrt sqrtf fabs fabsf memcpy memset malloc calloc free abort printf fprintf stderr stdout exit
    isfinite isnan INFINITY NAN template typename class namespace using constexpr bool true false this operator auto
    nullptr threadIdx blockIdx blockDim gridDim warpSize x y z __device__ __global__ __host__ __shared__ __constant__
    __forceinline__ __restrict__ __launch_bounds__ __syncthreads __syncwarp dim3 cudaStream_t
"""
VERILOG = """
    always and assign automatic begin case casez default defparam else end endcase endfunction endgenerate endmodule
    endtask for forever function generate genvar if initial inout input integer localparam module negedge not or output
    parameter posedge real reg repeat signed specify supply0 supply1 task time tri unsigned wait wire while xor
"""
PTX = "%tid %ntid %ctaid %nctaid %laneid %warpid %lanemask_lt ret exit bra"
WORDS = {name: frozenset(text.split()) for name, text in (("c", C), ("verilog", VERILOG), ("ptx", PTX))}
LANGUAGES = {".c": "c", ".h": "c", ".cuh": "c", ".cu": "c", ".v": "verilog"}
_COMMENTS = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
_NUMBER = r"0[dDfF][0-9A-Fa-f]{8,16}\b|[0-9]+'s?[bdh][0-9A-Fa-f_]+|\.?[0-9][\w.]*(?:(?<=[pPeE])[+-][0-9]+)?"
_TOKEN = re.compile(rf"(?P<number>{_NUMBER})|(?P<name>[%$]?[A-Za-z_][\w$]*)|\s+|.", re.DOTALL)


def normal(text: str, language: str, version: str) -> str:
    """All tokens, a space between them."""
    known = WORDS[language]
    names: dict[str, str] = {}
    text = _COMMENTS.sub(" ", text).replace(version, "VERSION")
    found: list[str] = []
    for token in _TOKEN.finditer(text):
        word = token.group()
        if token["name"] is not None and not _is_kept(text, token, known, language):
            word = names.setdefault(word, f"n{len(names)}")
        if not word.isspace():
            found.append(word)
    return " ".join(found)


def _is_kept(text: str, token: re.Match[str], known: frozenset[str], language: str) -> bool:
    word = token.group()
    if language != "ptx":
        return word in known or word.startswith(("$", "__builtin_", "fx_"))
    if word in known:
        return True
    before, after = text[token.start() - 1 : token.start()], text[token.end() : token.end() + 1]
    return before == "." or (after == "." and not word.startswith("%"))  # a directive, a type, an operation


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:24]
