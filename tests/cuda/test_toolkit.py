"""The kernels are text in the package, and what is missing is said in a sentence."""

from __future__ import annotations

import re

import pytest

from dualfield.cuda.toolkit import source_of

KERNELS = {
    "chains": {"exponentials", "shift", "messages", "marginals", "pairs", "in_logarithms"},
    "labels": {"lay_out", "truth", "viterbi"},
    "attributes": {"scores", "points", "gather", "collect"},
    "vectors": {"products", "combine"},
}


@pytest.mark.parametrize("name", KERNELS)
def test_every_program_travels_with_the_package_and_has_its_kernels(name: str) -> None:
    source = source_of(name)
    assert "typedef long long int64;" in source
    assert (
        set(re.findall(r"^ *(?:extern \"C\" __global__ void )?(\w+)\((?:const|float|byte)", source, re.M))
        >= KERNELS[name]
    )
    assert "#include" not in source  # the compiler at run time has no headers


def test_rows_in_registers_are_padded_to_fours() -> None:
    pytest.importorskip("torch")
    from dualfield.cuda.chains import held_and_rest

    assert held_and_rest(22, 160) == (24, 0)
    assert held_and_rest(160, 160) == (160, 0)
    assert held_and_rest(256, 160) == (160, 96)
    assert held_and_rest(256, 72) == (72, 184)
