"""Find polluted stretches of rivers: label the nodes of trees, each with the help of its neighbours.

A river is a tree: every stretch flows into one other, down to the sea. A sensor measures each stretch, with much noise.
What is polluted stays so downstream for a while, so a measurement says something about the neighbours too. Logistic
regression looks at one stretch at a time; a conditional random field on the tree looks at all of them together, and
its inference is exact.

    pip install "dualfield[sklearn]"
    python examples/rivers.py

It prints the share of wrong labels of both, the weights of an edge, and a river with what was found in it.
"""

from __future__ import annotations

import numpy as np

from dualfield import GraphCRF, SoftmaxRegression

LABELS = np.array(["clean", "polluted"])


def river(random: np.random.Generator) -> tuple[np.ndarray, list[tuple[int, int]], np.ndarray]:
    """Measurements, edges (from upstream to downstream), and the truth; stretch 0 ends in the sea."""
    n = int(random.integers(12, 30))
    flows_into = [int(random.integers(max(0, v - 4), v)) for v in range(1, n)]
    polluted = np.zeros(n, bool)
    for v in range(n - 1, -1, -1):  # from the sources to the sea
        above = [u for u in range(v + 1, n) if flows_into[u - 1] == v]
        dirty_above = any(polluted[u] for u in above)
        polluted[v] = random.random() < (0.85 if dirty_above else 0.08)
    measured = np.where(polluted, 1.0, -1.0) + 1.3 * random.normal(size=n)
    return measured, [(v, down) for v, down in enumerate(flows_into, start=1)], polluted.astype(int)


def drawn(graph: tuple[np.ndarray, list[tuple[int, int]]], columns: dict[str, np.ndarray]) -> str:
    """The river as text, the sea on top, with a column for each way to label it."""
    upstream: dict[int, list[int]] = {}
    for v, down in graph[1]:
        upstream.setdefault(down, []).append(v)
    lines = [f"{'':22}{'measured':>9}  " + "  ".join(f"{name:9}" for name in columns)]

    def add(v: int, indent: str, branch: str) -> None:
        found = "  ".join(f"{LABELS[labels[v]]:9}" for labels in columns.values())
        lines.append(f"{indent + branch + 'o':22}{graph[0][v, 0]:9.1f}  {found}")
        below = indent + {"": "", "├─": "│ ", "└─": "  "}[branch]
        for place, u in enumerate(upstream.get(v, [])):
            add(u, below, "└─" if place == len(upstream[v]) - 1 else "├─")

    add(0, "", "")
    return "\n".join(line.rstrip() for line in lines)


random = np.random.default_rng(0)
rivers = [river(random) for _ in range(300)]
X = [(np.column_stack([measured, np.ones(len(measured))]), edges) for measured, edges, _ in rivers]
y = [truth for _, _, truth in rivers]
X_train, y_train, X_test, y_test = X[:200], y[:200], X[200:], y[200:]

# Each stretch by itself.
alone = SoftmaxRegression().fit(np.concatenate([x for x, _ in X_train]), np.concatenate(y_train))
by_itself = [alone.predict(x) for x, _ in X_test]

# All stretches of a river together.
crf = GraphCRF(random_state=0).fit(X_train, y_train)
print(crf.solution_.message)
together = crf.predict(X_test)

print("\nWrong labels on 100 rivers that were not trained on:")
truth = np.concatenate(y_test)
for name, found in (("each stretch by itself", by_itself), ("the river as a whole", together)):
    print(f"  {name:24}{np.mean(np.concatenate(found) != truth):6.1%}")

print("\nThe weights of an edge; the row is the stretch upstream, the column the one downstream:")
print(f"{'':10}{LABELS[0]:>10}{LABELS[1]:>10}")
for label, weights in zip(LABELS, crf.edge_weights_[0], strict=True):
    print(f"{label:10}" + "".join(f"{weight:+10.2f}" for weight in weights))

# The river where looking at the whole corrects most.
gains = [int(np.sum(a != t) - np.sum(b != t)) for a, b, t in zip(by_itself, together, y_test, strict=True)]
shown = int(np.argmax(gains))
print(f"\nTest river {shown}, with the sea on top:")
print(drawn(X_test[shown], {"truth": y_test[shown], "by itself": by_itself[shown], "together": together[shown]}))
