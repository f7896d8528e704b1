"""The README's first example from an installed wheel: a line each for importing, training, tagging, saving and loading.

It needs NumPy alone.

    python tests/portability/readme_example.py
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]


def main() -> None:
    start, cpu = time.perf_counter(), time.process_time()

    def took(what: str) -> None:
        nonlocal start, cpu
        now, cpu_now = time.perf_counter(), time.process_time()
        print(f"{what:10} {now - start:6.2f} s   ({cpu_now - cpu:.2f} s of CPU)")
        start, cpu = time.perf_counter(), time.process_time()

    import dualfield
    from dualfield import ChainCRF, _core
    from dualfield.tagging import SequenceTagger

    took("import")
    X = [
        [{"word": "Ada", "upper": True}, {"word": "met"}, {"word": "Charles", "upper": True}],
        [{"word": "the"}, {"word": "engine"}, {"word": "runs"}],
    ]
    y = [["B-PER", "O", "B-PER"], ["O", "O", "O"]]
    crf = ChainCRF(l2=1.0, tol=1e-3, random_state=0).fit(X, y)
    took("train")
    assert crf.predict(X) == y, crf.predict(X)
    assert "proven" in crf.solution_.message, crf.solution_.message
    took("tag")
    with tempfile.TemporaryDirectory() as folder:
        crf.save(f"{folder}/model.safetensors")
        assert ChainCRF.load(f"{folder}/model.safetensors").predict(X) == y
        assert [SequenceTagger(f"{folder}/model.safetensors").tag(x) for x in X] == y
    took("files")
    where = Path(dualfield.__file__).resolve()
    assert REPOSITORY / "src" not in where.parents, f"this is the source tree, not an installed wheel: {where}"
    print(f"{_core.ISA} on Python {sys.version.split()[0]}: {where.parent}")


if __name__ == "__main__":
    main()
