"""How many innermost loops of the core work on vectors of doubles, by the disassembly of its objects for AArch64.

    python tests/portability/vector_loops.py FOLDER_OF_OBJECTS

A loop is a branch back within a function; it is innermost if no other lies within. Those with arithmetic on doubles or
floats count; a loop works on vectors if some of that arithmetic does (``v0.2d``, ``v0.4s``).
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

FUNCTION = re.compile(r"^[0-9a-f]+ <(.*)>:$")
LINE = re.compile(r"^\s*([0-9a-f]+):\t(\S+)\s*(.*)$")
BRANCH = re.compile(r"^(?:b|b\.\w+|cbn?z|tbn?z)$")
ARITHMETIC = re.compile(r"^f(?:n?m(?:ul|add|sub|la|ls|ax|in)(?:nm|p|x)?|add|sub|div|sqrt|addp|cm\w+)\b")
VECTOR = re.compile(r"\bv\d+\.(?:2d|4s)\b")

# The classes whose loops take the time of training and prediction.
HOT = ("ForwardBackward", "Viterbi", "SparseChain", "ChainSparse", "JunctionTreeOracle", "BeliefPropagation", "exp")

Instruction = tuple[int, str, str]


def functions(path: Path) -> Iterator[tuple[str, list[Instruction]]]:
    """The functions of an object file, as (address, name, operands) of each instruction."""
    command = ["aarch64-linux-gnu-objdump", "-d", "-C", "--no-show-raw-insn", str(path)]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    name, body = "", list[Instruction]()
    for line in text.splitlines():
        if begins := FUNCTION.match(line):
            if body:
                yield name, body
            name, body = begins[1], []
        elif instruction := LINE.match(line):
            body.append((int(instruction[1], 16), instruction[2], instruction[3]))
    if body:
        yield name, body


def innermost_loops(body: list[Instruction]) -> list[list[Instruction]]:
    """The instructions of each loop that has no other within."""
    places = {address: place for place, (address, _, _) in enumerate(body)}
    loops = []
    for place, (_, operation, operands) in enumerate(body):
        if not BRANCH.match(operation):
            continue
        target = re.search(r"(?:^|\s|,)([0-9a-f]+)(?: <|$)", operands)
        begin = places.get(int(target[1], 16)) if target else None
        if begin is not None and begin <= place:
            loops.append((begin, place + 1))
    inner = [a for a in loops if not any(b != a and a[0] <= b[0] and b[1] <= a[1] for b in loops)]
    return [body[begin:end] for begin, end in inner]


def main() -> None:
    objects = sorted(Path(sys.argv[1]).rglob("*.o"))
    assert objects, f"no object files are in {sys.argv[1]}"
    counts: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    seen = set()
    for path in objects:
        for name, body in functions(path):
            if name in seen or "nanobind" in name.partition("(")[0]:
                continue
            seen.add(name)
            groups = ["everything", *(word for word in HOT if word in name)]
            for loop in innermost_loops(body):
                arithmetic = [operands for _, operation, operands in loop if ARITHMETIC.match(operation)]
                for group in groups if arithmetic else ():
                    counts[group][0] += 1
                    counts[group][1] += any(VECTOR.search(operands) for operands in arithmetic)
    for group, (loops, vectors) in counts.items():
        print(f"{group:20} {loops:5} innermost loops of arithmetic, {vectors:5} on vectors ({vectors / loops:.0%})")
    assert counts["ForwardBackward"][1] > 0, "no loop of the forward-backward recursions works on vectors"


if __name__ == "__main__":
    main()
