"""Small named problems and all solvers: a new field or solver inherits every test by being listed here."""

from __future__ import annotations

import atexit
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np

from dualfield import LBFGS, OEG, SDCA, Constraints, Solution, fields, solve
from dualfield.features import encode
from dualfield.fields import Field
from dualfield.solvers import GDMM, IDAL, SAG, SAGA, SGD, SMD, SVRG, AdaGrad, Hybrid, SoftBCFW, SoftSDCA, Solver

# Those that reach any tolerance on every problem.
CONVERGENT: list[Solver] = [
    SDCA(accelerate=False),
    SDCA(sampling="uniform", accelerate=False),
    SDCA(permutation_every=0, accelerate=False),
    SDCA(sampling="importance", accelerate=False),
    SDCA(sampling="gap*importance", accelerate=False),
    SDCA(sampling="max", accelerate=False),
    SDCA(sampling="safemax", refresh_every=3, accelerate=False),
    SDCA(step="golden", accelerate=False),
    SDCA(),
    SDCA(n_jobs=2, accelerate=False),
    OEG(),
    OEG(accelerate=False),
    OEG(n_jobs=2),
    OEG(sampling="safemax", refresh_every=2),
    OEG(sampling="uniform", accelerate=False, step="published"),
    LBFGS(),
    Hybrid(),
    SAG(),
    SAG(sampling="nus"),
    SAG(sampling="uniform"),
    SAG(n_jobs=2),
    SAG(sampling="nus", n_jobs=2),
    SAGA(),
    SAGA(sampling="nus"),
    SAGA(sampling="uniform"),
    SAGA(n_jobs=2),
    SVRG(),
    IDAL(),
    IDAL(sampling="uniform", inner_passes=3),
]

# All that minimise the likelihood; the others come near the optimum and no further. Their steps suit every problem.
SOLVERS: list[Solver] = [
    *CONVERGENT,
    SDCA(memory="float32", accelerate=False),
    OEG(memory="float32"),
    SGD(eta=0.01),
    SGD(average=True),
    SGD(schedule="annealed"),
    SGD(schedule="pegasos", eta=1.0),
    SGD(batch_size=3),
    AdaGrad(),
    AdaGrad(batch_size=3),
    SMD(eta="auto", batch_size=2),
    IDAL(sampling="gap"),
    GDMM(),
    SoftSDCA(),
    SoftBCFW(),
]


def finish(work: Callable[[float], bool], seconds: float = 3600.0) -> None:
    """Call what works for so many seconds at most, until it says that it is done."""
    while not work(seconds):
        continue


def dense_sequences(
    n: int, labels: int = 3, columns: int = 4, longest: int = 5, seed: int = 0
) -> tuple[list[Any], list[Any]]:
    """Sequences of normal vectors whose labels depend on them, with noise."""
    random = np.random.default_rng(seed)
    map_to_labels = random.normal(size=(columns, labels))
    X = [random.normal(size=(random.integers(1, longest + 1), columns)) for _ in range(n)]
    y = [(x @ map_to_labels + random.gumbel(size=(len(x), labels))).argmax(axis=1) for x in X]
    y[0][0], y[-1][-1] = 0, labels - 1
    return X, y


def word_sequences(n: int, seed: int = 0) -> tuple[list[Any], list[Any]]:
    """Sequences of a few string attributes, some of them rare, as in natural language."""
    random = np.random.default_rng(seed)
    X, y = [], []
    for _ in range(n):
        words = random.geometric(0.15, size=random.integers(1, 8))
        X.append([[f"word={w}", f"ends={w % 3}", f"next={v}"] for w, v in zip(words, np.roll(words, -1), strict=True)])
        y.append([("NOUN", "VERB", "X")[(w + random.integers(2)) % 3] for w in words])
    return X, y


def chunk_sequences(n: int, scheme: str = "bio", longest: int = 5, seed: int = 0) -> tuple[list[Any], list[Any]]:
    """Sequences with chunks of two types, as BIO or IOBES writes them, and attributes that tell of them with noise."""
    random = np.random.default_rng(seed)
    X, y = [], []
    for _ in range(n):
        tags: list[str] = []
        length = int(random.integers(1, longest + 1))
        while len(tags) < length:
            kind, size = random.choice(["X", "geo-loc"]), min(int(random.integers(1, 4)), length - len(tags))
            if random.random() < 0.4:
                tags.append("O")
            elif scheme == "bio":
                tags += [f"B-{kind}", *[f"I-{kind}"] * (size - 1)]
            else:
                tags += [f"S-{kind}"] if size == 1 else [f"B-{kind}", *[f"I-{kind}"] * (size - 2), f"E-{kind}"]
        shown = [tag if random.random() < 0.7 else "noise" for tag in tags]
        X.append([[f"shown={tag}", f"letter={tag[0]}"] for tag in shown])
        y.append(tags)
    return X, y


def allowed_around(y: list[Any], labels: int, seed: int = 0) -> list[Any]:
    """For some positions a set of labels with the true one among them."""
    random = np.random.default_rng(seed)

    def entry(label: int) -> Any:
        return None if random.random() < 0.5 else {int(label), *random.integers(labels, size=2).tolist()}

    return [None if i % 4 == 3 else [entry(label) for label in sequence] for i, sequence in enumerate(y)]


def ordered_sequences(n: int, seed: int = 0) -> tuple[list[Any], list[Any]]:
    """Dense sequences whose labels never fall by more than one, and never end in 0."""
    X, y = dense_sequences(n, seed=seed)
    for labels in y:
        for t in range(1, len(labels)):
            labels[t] = max(labels[t], labels[t - 1] - 1)
        labels[-1] = max(labels[-1], 1)
    return X, y


# For ordered_sequences.
FALLS = Constraints([0, 1, 2, 7], transitions=[(2, 0), (7, 0)], end=[0])


def random_graphs(
    n: int, labels: int = 3, columns: int = 3, largest: int = 4, edge_width: int | None = None, seed: int = 0
) -> tuple[list[Any], list[Any]]:
    """Graphs with loops, isolated nodes and edges in both directions, whose labels depend on the nodes' features."""
    random = np.random.default_rng(seed)
    map_to_labels = random.normal(size=(columns, labels))
    X: list[Any] = []
    y = []
    for _ in range(n):
        size = int(random.integers(1, largest + 1))
        nodes = random.normal(size=(size, columns))
        pairs = [(a, b) if random.random() < 0.5 else (b, a) for a in range(size) for b in range(a)]
        edges = np.array([pair for pair in pairs if random.random() < 0.7], dtype=int).reshape(-1, 2)
        rows = () if edge_width is None else (random.normal(size=(len(edges), edge_width)),)
        X.append((nodes, edges, *rows))
        y.append((nodes @ map_to_labels + random.gumbel(size=(size, labels))).argmax(axis=1))
    y[0][0], y[-1][-1] = 0, labels - 1
    return X, y


def halved_images(n: int = 6, shape: tuple[int, int] = (3, 4), seed: int = 0) -> tuple[Any, Any]:
    """Noisy pictures of two halves, divided at a random column."""
    random = np.random.default_rng(seed)
    y = [(np.arange(shape[1]) >= random.integers(1, shape[1])).astype(int) * np.ones(shape, int) for _ in range(n)]
    return [np.stack([labels - 0.5 + random.normal(size=shape), np.ones(shape)], axis=2) for labels in y], y


def chain(X: Any, y: Any, **options: Any) -> Field:
    return fields.Chain(X, y, **options)


def chain_of_few_transitions(n: int) -> Field:
    """Inference that passes over transitions without a weight, as with many labels."""
    return of_few_transitions(*word_sequences(n), state_features="observed")


def of_few_transitions(X: Any, y: Any, **options: Any) -> Field:
    field = fields.Chain(X, y, transitions="observed", **options)
    field.layout = replace(field.layout, sparse=True)
    return field.with_l2(field.l2)


def few_transitions_of_allowed(n: int) -> Field:
    """The same with rules for transitions, and sets of allowed labels at some positions."""
    X, y = ordered_sequences(n, seed=1)
    return of_few_transitions(X, y, constraints=FALLS, allowed=allowed_around(y, 3), l2=0.1)


def chain_of_allowed(n: int) -> Field:
    """Constraints, and sets of allowed labels at some positions."""
    X, y = ordered_sequences(n, seed=1)
    return fields.Chain(X, y, constraints=FALLS, allowed=allowed_around(y, 3), l2=0.1)


def bigram_sequences(n: int, seed: int = 0, valued: bool = False, longest: int = 5) -> tuple[Any, list[Any]]:
    """Words as attributes, and of pairs of them what decides whether a label is the one before or the next."""
    random = np.random.default_rng(seed)
    X, pairs, y = [], [], []
    for _ in range(n):
        words = random.geometric(0.4, size=random.integers(1, longest + 1)).tolist()
        labels = [int(random.integers(3))]
        for a, b in pairwise(words):
            stays = (a == b) ^ (random.random() < 0.2)
            labels.append(labels[-1] if stays else (labels[-1] + 1) % 3)
        kinds = [f"same={a == b}" for a, b in zip([0, *words], words, strict=False)]
        values = random.normal(size=len(words)).tolist()
        X.append([[f"word={word}"] for word in words])
        pairs.append(
            [{kind: value, "sum": 1.5, f"w={w}": -1.0} for kind, value, w in zip(kinds, values, words, strict=True)]
            if valued
            else [[kind, *(["even"] if w % 2 == 0 else [])] for kind, w in zip(kinds, words, strict=True)]
        )
        y.append(labels)
    y[0][0], y[-1][-1], y[-1][0] = 0, 2, 1
    return encode(X, bigrams=pairs), y


def bigrams_of_allowed(n: int) -> Field:
    """Bigrams, a rule for transitions, and sets of allowed labels at some positions."""
    X, y = bigram_sequences(n, 3, valued=True, longest=4)
    for labels in y:
        for t in range(1, len(labels)):
            labels[t] = max(labels[t], labels[t - 1] - 1)
        labels[-1] = max(labels[-1], 1)
    return fields.Chain(X, y, constraints=FALLS, allowed=allowed_around(y, 3))


def embedded_words(n: int, dtype: Any = np.float32, columns: int = 5, seed: int = 0) -> tuple[Any, list[Any]]:
    """Words as attributes, and beside them dense columns that tell of the labels too, one of them larger."""
    X, y = word_sequences(n, seed)
    random = np.random.default_rng(seed)
    kinds = {"NOUN": 0, "VERB": 1, "X": 2}
    scales = np.append(np.ones(columns - 1), 2.0)
    dense = [
        ((np.eye(3, columns)[[kinds[label] for label in labels]] + random.normal(size=(len(labels), columns))) * scales)
        for labels in y
    ]
    return encode(X, dense=[array.astype(dtype) for array in dense]), y


def points(n: int, labels: int = 3, columns: int = 5, seed: int = 0) -> tuple[Any, Any]:
    """Normal vectors and labels that depend on them, with noise."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, columns))
    scores = X @ random.normal(size=(columns, labels)) + random.gumbel(size=(n, labels))
    y = scores.argmax(axis=1)
    y[:labels] = np.arange(labels)
    return X, y


def graphs_with_cliques(n: int, seed: int = 0) -> tuple[list[Any], list[Any]]:
    """Rings of five nodes with cliques of three, whose labels depend on their features, with noise."""
    random = np.random.default_rng(seed)
    ring = [(v, (v + 1) % 5) for v in range(5)]
    X = [(random.normal(size=(5, 2)), ring, None, [(0, 1, 2), (2, 3, 4)]) for _ in range(n)]
    y = [(x[0][:, 0] + random.normal(size=5) > 0).astype(int) for x in X]
    y[0][:2] = 0, 1
    return X, y


def weights_with_zeros(n: int) -> Any:
    return np.resize([1.0, 0.0, 2.5, 0.3], n)


def constrained(name: str) -> bool:
    """Whether some labellings of the problem are forbidden."""
    few = ("chain-few-transitions-iobes", "chain-few-transitions-allowed")
    return name in ("chain-bio", "chain-iobes", "chain-forbidden", "chain-allowed", "bigrams-allowed", *few)


PROBLEMS: dict[str, Callable[[], Field]] = {
    "chain-dense": lambda: chain(*dense_sequences(12)),
    "chain-words": lambda: chain(*word_sequences(10)),
    "chain-columns": lambda: chain(*embedded_words(10), sample_weight=weights_with_zeros(10)),
    "chain-observed-columns": lambda: chain(
        *embedded_words(10, np.float64, columns=11), state_features="observed", transitions="observed", l2=0.3
    ),
    "chain-observed": lambda: chain(*word_sequences(10), state_features="observed", transitions="observed"),
    "chain-few-transitions": lambda: chain_of_few_transitions(10),
    "chain-few-transitions-iobes": lambda: of_few_transitions(*chunk_sequences(12, "iobes", 4), constraints="iobes"),
    "chain-few-transitions-allowed": lambda: few_transitions_of_allowed(12),
    "chain-bare": lambda: chain(*word_sequences(8), bias=False, begin=False, end=False),
    "chain-weighted": lambda: chain(*dense_sequences(12), sample_weight=weights_with_zeros(12)),
    "chain-one-block": lambda: chain([[["a"], ["b"], ["a", "c"]]], [["A", "B", "A"]]),
    "chain-two-labels": lambda: chain(*dense_sequences(10, labels=2)),
    "chain-single-positions": lambda: chain(*dense_sequences(12, longest=1)),
    "chain-duplicates": lambda: chain(*(part * 3 for part in word_sequences(4))),
    "chain-strong-penalty": lambda: chain(*dense_sequences(12), l2=1e3),
    "chain-weak-penalty": lambda: chain(*dense_sequences(8), l2=1e-2),
    "chain-bio": lambda: chain(*chunk_sequences(12), constraints="bio"),
    "chain-iobes": lambda: chain(
        *chunk_sequences(12, "iobes", 4), constraints="iobes", state_features="observed", transitions="observed"
    ),
    "chain-forbidden": lambda: chain(*ordered_sequences(12), constraints=FALLS, sample_weight=weights_with_zeros(12)),
    "chain-allowed": lambda: chain_of_allowed(12),
    "bigrams": lambda: chain(*bigram_sequences(12)),
    "bigrams-valued": lambda: chain(
        *bigram_sequences(10, 1, valued=True), sample_weight=weights_with_zeros(10), state_features="observed"
    ),
    "bigrams-observed": lambda: chain(*bigram_sequences(12, 2), bigram_features="observed", l2=0.1),
    "bigrams-allowed": lambda: bigrams_of_allowed(12),
    "multiclass-dense": lambda: fields.Multiclass(*points(30)),
    "multiclass-single": lambda: fields.Multiclass(points(60)[0].astype(np.float32), points(60)[1]),
    "multiclass-two-labels": lambda: fields.Multiclass(*points(20, labels=2)),
    "multiclass-bare": lambda: fields.Multiclass(*points(20), bias=False),
    "multiclass-weighted": lambda: fields.Multiclass(*points(20), sample_weight=weights_with_zeros(20)),
    "multiclass-two-points": lambda: fields.Multiclass(np.eye(2), [0, 1]),
    "multiclass-duplicates": lambda: fields.Multiclass(*(np.repeat(part, 3, axis=0) for part in points(8))),
    "multiclass-strong-penalty": lambda: fields.Multiclass(*points(30), l2=1e3),
    "multiclass-weak-penalty": lambda: fields.Multiclass(*points(20), l2=1e-2),
    "graph-loops": lambda: fields.Graph(*random_graphs(10), bias=True),
    "graph-edge-features": lambda: fields.Graph(*random_graphs(10, edge_width=2), edge_l2=3.0),
    "graph-potts": lambda: fields.Graph(*random_graphs(8), edge_weights="potts", sample_weight=weights_with_zeros(8)),
    "graph-cliques": lambda: fields.Graph(*graphs_with_cliques(6)),
    "pseudo-likelihood": lambda: fields.PseudoLikelihood(*random_graphs(6), edge_weights="symmetric"),
}


# Problems with an l1 penalty, for the methods that take one.
ELASTIC: dict[str, Callable[[], Field]] = {
    "chain-l1": lambda: chain(*word_sequences(10), l1=0.3, l2=0.5),
    "chain-observed-l1": lambda: chain(
        *dense_sequences(12), sample_weight=weights_with_zeros(12), state_features="observed", l1=0.5, l2=0.1
    ),
    "chain-columns-l1": lambda: chain(*embedded_words(10), l1=0.2, l2=0.5),
    "chain-bio-l1": lambda: chain(*chunk_sequences(12), constraints="bio", l1=0.2, l2=0.2),
    "bigrams-l1": lambda: chain(*bigram_sequences(12), l1=0.2, l2=0.3),
    "multiclass-l1": lambda: fields.Multiclass(*points(30), l1=0.5, l2=0.5),
}


# Convex problems with approximate inference: methods on the primal and on cliques solve them.
RELAXED: dict[str, Callable[[], Field]] = {
    "graph-trw": lambda: fields.Graph(*random_graphs(4), inference="trw", max_sweeps=2000, inference_tol=1e-12),
    "relaxed-gini": lambda: fields.RelaxedGraph(*random_graphs(4), entropy="gini", inference_tol=1e-12),
}


@cache
def problem(name: str) -> Field:
    """The named problem, made once."""
    return (PROBLEMS | ELASTIC | RELAXED)[name]()


@cache
def reference(name: str) -> Solution:
    """The named problem solved by L-BFGS as far as floating point goes."""
    return solve(problem(name), LBFGS(), tol=1e-11, max_passes=5000)


# Compiled objects that outlive the interpreter's last breath are reported as leaks.
atexit.register(reference.cache_clear)
atexit.register(problem.cache_clear)
