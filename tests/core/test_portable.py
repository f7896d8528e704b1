"""What only some compilers or systems offer has one place in ``core/``, so that others can follow."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

CORE = Path(__file__).parents[2] / "core"
SOURCES = sorted(path for path in CORE.rglob("*.[ch]*") if path.suffix in (".hpp", ".cpp", ".h", ".c"))
NAMES = [path.relative_to(CORE).as_posix() for path in SOURCES]

EXTENSION = re.compile(r"\[\[gnu::|\[\[clang::|__attribute__|__builtin_|__asm__|__int128|__restrict|__declspec")
SYSTEM = re.compile(r"#include <(sys/|linux/|arpa/|netinet/|unistd|fcntl|sched|pthread|dlfcn|poll|malloc|windows)")
INTRINSIC = re.compile(r"\b_mm\d*_|<immintrin\.h>|<arm_neon\.h>|\bv(ld1|st1|fma)q_")


def code_of(name: str) -> str:
    return "\n".join(line.partition("//")[0] for line in (CORE / name).read_text().splitlines())


@pytest.mark.parametrize("name", NAMES)
def test_extensions_of_compilers_stand_in_one_header(name: str) -> None:
    # The processor is asked in C, before any module is chosen.
    if name not in ("base/compiler.hpp", "bindings/cpu/instruction_set.h"):
        assert not EXTENSION.findall(code_of(name)), "give it a name in base/compiler.hpp"


@pytest.mark.parametrize("name", NAMES)
def test_nothing_is_asked_of_the_system_directly(name: str) -> None:
    assert not SYSTEM.findall(code_of(name)), "the standard library must do, or one file for each system"


@pytest.mark.parametrize("name", NAMES)
def test_instructions_of_one_processor_stand_where_vectors_do(name: str) -> None:
    if not name.startswith("simd/"):
        assert not INTRINSIC.findall(code_of(name))


def test_what_is_looked_for_is_found_where_it_stands() -> None:
    assert EXTENSION.search(code_of("base/compiler.hpp"))
    assert INTRINSIC.search(code_of("simd/pieces.hpp"))
    assert SYSTEM.search("#include <sys/mman.h>")
