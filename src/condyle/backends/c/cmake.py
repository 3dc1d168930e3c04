"""The CMakeLists.txt of an exported C project: a library, its test, and a package that other projects find."""

from __future__ import annotations

from collections.abc import Sequence

from condyle.backends.c.target import TARGET
from condyle.backends.common.facts import Facts
from condyle.backends.common.package import library_of, write_install, write_library
from condyle.ir.repeated import Repeated
from condyle.ir.sweep import Code
from condyle.text import Emitter


def cmake_file(programs: Sequence[Code | Repeated], facts: Facts) -> str:
    """The text; the version of the package is the ABI number."""
    name, library = facts.name, library_of(facts.name)
    sources = " ".join(f"{name}_{part}.c" for part in ("facts", *(program.name for program in programs)))
    e = Emitter()
    write_library(e, name, TARGET.abi, "C", f"STATIC {sources}")
    e(f"set_target_properties({library} PROPERTIES C_STANDARD 99 POSITION_INDEPENDENT_CODE ON)")
    e(f"target_link_libraries({library} PUBLIC m)", "")
    e("# ON: all instructions of this machine, fused multiply-add too; OFF: for any machine of this architecture")
    e('option(CONDYLE_NATIVE "Use every instruction of this machine" ON)')
    with e.block('if(CMAKE_C_COMPILER_ID MATCHES "GNU|Clang")', "endif()"):
        e(f"target_compile_options({library} PRIVATE -O2 -ffp-contract=fast -fno-math-errno)")
        with e.block("if(CONDYLE_NATIVE)", "endif()"):
            e(f"target_compile_options({library} PRIVATE -march=native)")
    e("")
    write_install(e, name, f"{name}.h", f"-l{library} -lm")
    e("", "# the test, if this is the top-level project")
    with e.block("if(CMAKE_SOURCE_DIR STREQUAL CMAKE_CURRENT_SOURCE_DIR)", "endif()"):
        e("enable_testing()", f"add_executable({library}_test test.c)")
        e(f"set_target_properties({library}_test PROPERTIES C_STANDARD 99)")
        e(f"target_link_libraries({library}_test PRIVATE {library})")
        e(f"add_test(NAME {library}_test COMMAND {library}_test)")
    return e.text()
