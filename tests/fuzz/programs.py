"""Random programs of a few calls of the public interface, one a seed.

Each scenario makes its data and objects from a generator and hands every call to ``call``, which notes what it did. An
object whose making was refused is None, and the program goes on without it.
"""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np

import dualfield
from dualfield import calibration, distributed, features, fields, inspection, metrics, oracles, solvers
from dualfield.compat.pycrfsuite import Trainer
from dualfield.compat.sklearn_crfsuite import CRF
from dualfield.features import Cell, Rule, Template
from dualfield.features.templates import rules
from dualfield.labels import Constraints
from dualfield.models.spec import ChainSpec
from dualfield.ranks import Communicator, run_in_threads
from tests.fuzz import hostile
from tests.fuzz.hostile import count, integer, one_of, real, word
from tests.fuzz.verdicts import check_labels, check_marginals, check_objective, check_pair, check_solution, promise

Call = Callable[..., Any]


def _solver(random: Random) -> Any:
    """A solver with one of its parameters changed, by name or as an object."""
    if random.random() < 0.5:
        return one_of(random, "auto", *solvers.NAMES) if random.random() < 0.95 else random.choice(hostile.WORDS)
    kind = solvers.BY_CLASS_NAME[random.choice(list(solvers.BY_CLASS_NAME))]
    given: dict[str, Any] = {}
    names = list(kind.__dataclass_fields__)  # type: ignore[attr-defined]
    for name in random.sample(names, min(len(names), random.randrange(3))):
        if name == "n_jobs":
            given[name] = one_of(random, 1, 2, None, 0, -3, "2", True)
        elif name in ("sampling", "schedule", "init", "memory"):
            words = ("gap", "uniform", "max", "nus", "annealed", "pegasos", "random", "peaked", "float32", "float64")
            given[name] = word(random, *words)
        elif name in (
            "inner_passes",
            "first_sample",
            "corrections",
            "batch_size",
            "permutation_every",
            "refresh_every",
        ):
            given[name] = count(random, 1, 2, 3)
        elif name == "step":
            given[name] = one_of(random, "newton", "golden", "secant", "published", "guaranteed", 0.5, 2.0, -1.0, "x")
        else:
            given[name] = real(random, 0.1, 0.5, 1.0, 1.5)
    try:
        return kind(**given)
    except (ValueError, TypeError):
        return kind()


def _fit_parameters(random: Random) -> dict[str, Any]:
    given: dict[str, Any] = {"max_passes": count(random, 1, 2, 4), "random_state": integer(random, 0, 1, 7)}
    if random.random() < 0.7:
        given["l2"] = real(random, 1.0, 0.1, 1e-3, 1e3, 1e-12, 1e12, 1e-300, 1e300)
    if random.random() < 0.5:
        given["solver"] = _solver(random)
    if random.random() < 0.3:
        given["tol"] = real(random, 1e-3, 1e-6, 0.1, 1e-15)
    if random.random() < 0.1:
        given["n_jobs"] = one_of(random, 1, 2, -1, None, 0, "2", 1.5)
    return given


def chain(random: Random, call: Call, folder: str) -> None:
    sizes, names = hostile.lengths(random), hostile.label_names(random)
    X, y = hostile.sequences(random, sizes, 4), hostile.labels(random, sizes, names)
    given = _fit_parameters(random)
    for name, choices in (
        ("state_features", ("all", "observed")),
        ("transitions", ("all", "observed")),
        ("constraints", (None, "bio", "iobes", "bilou", "bmes")),
    ):
        if random.random() < 0.25:
            given[name] = word(random, *choices)
    for name in ("bias", "begin", "end", "warm_start"):
        if random.random() < 0.15:
            given[name] = one_of(random, False, True, None, 1, "no")
    if random.random() < 0.1:
        given["l1"] = real(random, 0.0, 0.1, 10.0)
    if random.random() < 0.1:
        given["min_count"] = integer(random, 1, 2)
    crf = call("ChainCRF", dualfield.ChainCRF, **given)
    if crf is None:
        return
    for _ in range(random.choice([1, 1, 2])):
        step = "partial_fit" if random.random() < 0.15 else "fit"
        options: dict[str, Any] = {"sample_weight": hostile.weights(random, len(sizes))}
        if step == "partial_fit":
            options["classes"] = one_of(random, None, names, names[:1], "text", [])
        elif random.random() < 0.1:
            options["allowed"] = one_of(random, None, [None] * len(sizes), [[None] * s for s in sizes], "text", [names])
        if call(step, getattr(crf, step), X, y, **options) is not None:
            call("solution", check_solution, crf.solution_)
    _ask_chain(random, call, crf, X, y, names)
    if random.random() < 0.3:
        crf = _save_and_load(random, call, crf, folder, dualfield.ChainCRF)
        if crf is not None:
            _ask_chain(random, call, crf, X, y, names)


def _ask_chain(random: Random, call: Call, crf: Any, X: Any, y: Any, names: list[Any]) -> None:
    if random.random() < 0.3:
        X = hostile.sequences(random, hostile.lengths(random), 5)
    for _ in range(random.randrange(1, 4)):
        question = random.randrange(12)
        if question <= 1:
            options = {"allowed": one_of(random, [names], "text", [[names]])} if random.random() < 0.1 else {}
            found = call("predict", crf.predict, X, **options)
            if found is not None:
                call("labels", check_labels, found, crf.classes_)
        elif question <= 3:
            found = call("predict_marginals", crf.predict_marginals, X)
            if found is not None:
                call("marginals", check_marginals, found)
        elif question == 4:
            call("predict_kbest", crf.predict_kbest, X, count(random, 1, 3, 50))
        elif question == 5:
            call("sample", crf.sample, X, count(random, 1, 3), random_state=integer(random, 0, 1))
        elif question == 6:
            call("score", crf.score, X, y, sample_weight=hostile.weights(random, max(1, _size(X))))
        elif question == 7:
            call("predict_confidence", crf.predict_confidence, X)
        elif question == 8:
            call("predict_entities", crf.predict_entities, X)
        elif question == 9:
            call("predict_posterior", crf.predict_posterior, X)
        elif question == 10:
            call("top_weights", inspection.top_weights, crf, count(random, 1, 5), word(random, None, *names[:1]))
            call("attribute_weights", inspection.attribute_weights, crf, word(random, "w0", "w=x", 0))
            call("transitions", inspection.transitions, crf)
        else:
            _ask_more(random, call, crf, X, y)


def _ask_more(random: Random, call: Call, crf: Any, X: Any, y: Any) -> None:
    if isinstance(X, list) and X:
        call("explain", inspection.explain, crf, X[0], integer(random, 0, 1))
    found = call("outcomes", calibration.outcomes, crf, X, y, word(random, "entities", "tokens", "sequences", "labels"))
    if found is not None:
        call("reliability", calibration.reliability, found, count(random, 2, 10))
        call(
            "choose_threshold", calibration.choose_threshold, found, real(random, 0.5, 0.9, 1.0), integer(random, 1, 20)
        )


def _size(X: Any) -> int:
    return len(X) if hasattr(X, "__len__") else 1


def _save_and_load(random: Random, call: Call, crf: Any, folder: str, kind: Any) -> Any:
    path: Any = os.path.join(folder, "model")
    if random.random() < 0.1:
        path = one_of(random, "", "\0", None, 3, folder, os.path.join(folder, "missing", "model"), os.fsencode(path))
    call(
        "save",
        crf.save,
        path,
        **({"dtype": one_of(random, np.float32, "f8", "x", None, int)} if random.random() < 0.3 else {}),
    )
    if random.random() < 0.2:
        call("pickle", lambda: pickle.loads(pickle.dumps(crf)))
    return call("load", kind.load, path)


def cross_validation(random: Random, call: Call, folder: str) -> None:
    sizes, names = hostile.lengths(random), hostile.label_names(random)
    given = {
        "max_passes": count(random, 1, 2),
        "cv": integer(random, 2, 3),
        "l2s": one_of(random, (1.0, 0.1), (1.0,), (), "x", 3),
    }
    if random.random() < 0.3:
        given["l1s"] = one_of(random, (1.0, 0.0), (0.5,), (), "x", 3, None)
    if random.random() < 0.3:
        given["scoring"] = word(random, "accuracy", "chunk_f1", "f1", "log_likelihood")
    crf = call("ChainCRFCV", dualfield.ChainCRFCV, **given)
    X, y = hostile.sequences(random, sizes, 4), hostile.labels(random, sizes, names)
    if crf is not None and call("fit", crf.fit, X, y) is not None:
        found = call("predict", crf.predict, X)
        if found is not None:
            call("labels", check_labels, found, crf.classes_)


def graph(random: Random, call: Call, folder: str) -> None:
    sizes = [random.choice([1, 2, 3, 4]) for _ in range(random.choice([1, 2, 5]))]
    grid = random.random() < 0.4
    given = _fit_parameters(random)
    for name, choices in (
        ("inference", ("auto", "exact", "bp", "trw", "mean_field", "pseudo_likelihood", "junction_tree")),
        ("edge_weights", ("full", "symmetric", "potts", "diagonal")),
        ("prediction", ("auto", "marginals", "map")),
    ):
        if random.random() < 0.3:
            given[name] = word(random, *choices)
    for name, sound in (("edge_l2", (0.1, 1.0, 1e6)), ("damping", (0.0, 0.5)), ("inference_tol", (1e-8, 1e-3))):
        if random.random() < 0.1:
            given[name] = real(random, *sound)
    if random.random() < 0.1:
        given["table_budget"] = integer(random, 16, 1000, 2**24)
    given["max_sweeps"] = count(random, 1, 20)
    names = hostile.label_names(random)
    if grid:
        if random.random() < 0.3:
            given["neighbours"] = integer(random, 4, 8)
        if random.random() < 0.3:
            given["edge_features"] = word(random, None, "contrast", "difference")
        X = hostile.images(random, sizes, 2)
        y: Any = [_label_image(random, x, names) for x in X] if isinstance(X, list) else None
    else:
        X, y = hostile.graphs(random, sizes, 2), hostile.labels(random, sizes, names)
    kind = dualfield.GridCRF if grid else dualfield.GraphCRF
    crf = call(kind.__name__, kind, **given)
    if crf is None:
        return
    if call("fit", crf.fit, X, y, sample_weight=hostile.weights(random, len(sizes))) is not None:
        call("solution", check_solution, crf.solution_)
    found = call("predict", crf.predict, X)
    if found is not None:
        call("labels", check_labels, found, crf.classes_)
    found = call("predict_marginals", crf.predict_marginals, X)
    if found is not None:
        call("marginals", check_marginals, [np.asarray(m).reshape(-1, len(crf.classes_)) for m in found])
    if random.random() < 0.3:
        call("sample", crf.sample, X, count(random, 1, 2))
        call("score", crf.score, X, y)
        _save_and_load(random, call, crf, folder, kind)


def _label_image(random: Random, x: Any, names: list[Any]) -> Any:
    image = np.empty(_shape(x), dtype=object)
    for pixel in np.ndindex(image.shape):
        image[pixel] = random.choice(names)
    return image if random.random() < 0.5 else image.tolist()


def _shape(x: Any) -> tuple[int, ...]:
    try:
        shape = np.shape(x)
    except ValueError:  # rows of different lengths
        return 1, 1
    return shape[:2] if len(shape) >= 2 else (1, 1)


def softmax(random: Random, call: Call, folder: str) -> None:
    n = random.choice([1, 2, 5, 20])
    X, names = hostile.matrix(random, n, 3), hostile.label_names(random)
    y: Any = [random.choice(names) for _ in range(n)]
    if random.random() < 0.3:
        y = one_of(random, np.array(y, dtype=object), y[:-1], None, "text", [1.5] * n, [[1]] * n)
    model = call("SoftmaxRegression", dualfield.SoftmaxRegression, **_fit_parameters(random))
    if model is not None and call("fit", model.fit, X, y, sample_weight=hostile.weights(random, n)) is not None:
        call("solution", check_solution, model.solution_)
        X = X if random.random() < 0.7 else hostile.matrix(random, n, random.choice([0, 2, 3]))
        found = call("predict_proba", model.predict_proba, X)
        if found is not None:
            call("marginals", check_marginals, found)
        call("predict", model.predict, X)
        call("decision_function", model.decision_function, X)


def solve(random: Random, call: Call, folder: str) -> None:
    """A field and two solvers: neither proves what the other disproves."""
    sizes, names = hostile.lengths(random), hostile.label_names(random)
    kind = random.randrange(5)
    given: dict[str, Any] = {"l2": real(random, 1.0, 0.1, 1e-3, 1e6, 1e-12, 1e150)}
    if kind == 0:
        X: Any = hostile.matrix(random, len(sizes), 3)
        y: Any = [random.choice(names) for _ in sizes]
        field = call("Multiclass", fields.Multiclass, X, y, sample_weight=hostile.weights(random, len(sizes)), **given)
    elif kind <= 2:
        X, y = hostile.sequences(random, sizes, 4), hostile.labels(random, sizes, names)
        field = call("Chain", fields.Chain, X, y, sample_weight=hostile.weights(random, len(sizes)), **given)
    else:
        sizes = [random.choice([1, 2, 3, 4]) for _ in range(3)]
        X, y = hostile.graphs(random, sizes, 2), hostile.labels(random, sizes, names)
        of_graphs = one_of(random, fields.Graph, fields.PseudoLikelihood, fields.RelaxedGraph)
        if of_graphs is not fields.PseudoLikelihood:
            given["max_sweeps"] = count(random, 1, 50)
        field = call(of_graphs.__name__, of_graphs, X, y, **given)
    if field is None:
        return
    options = {"max_passes": random.choice([1, 2, 5]), "tol": real(random, 1e-3, 1e-6), "random_state": 0}
    found = [call("solve", dualfield.solve, field, _solver(random), **options) for _ in range(2)]
    for solution in found:
        if solution is not None:
            call("solution", check_solution, solution)
            if not isinstance(field, fields.RelaxedGraph):  # whose messages end after max_sweeps
                call("objective", check_objective, field, solution)
    if None not in found:
        call("pair", check_pair, *found)
        if random.random() < 0.2:
            call("go on", dualfield.solve, field, max_passes=1, state=found[0].state)
    if random.random() < 0.2:
        call(
            "l2_path",
            dualfield.l2_path,
            field,
            one_of(random, [1.0, 0.1], [], [0.0], [1e-9, 1e9], "x", [np.nan]),
            max_passes=2,
        )
        call(
            "l1_path",
            dualfield.l1_path,
            field,
            one_of(random, [1.0, 0.1], [0.0], [], [-1.0], [1e-9, 1e9], "x", [np.nan]),
            _solver(random),
            max_passes=2,
        )
        call(
            "penalty_path",
            dualfield.penalty_path,
            field,
            one_of(random, [(1.0, 0.1), (0.0, 1.0)], [(1.0, 0.0)], [(0.0, 0.0)], [], [(1.0,)], "xy", 3),
            max_passes=2,
        )
    weights = hostile.matrix(random, 1, field.dimension)
    call("primal", field.primal, weights if random.random() < 0.2 else np.ravel(weights))
    call(
        "gradient",
        field.gradient,
        np.zeros(field.dimension + one_of(random, 0, 0, 1)),
    )


def oracle(random: Random, call: Call, folder: str) -> None:
    length, k = random.choice([1, 2, 5]), random.choice([1, 2, 3, 20])
    node = hostile.matrix(random, length, k)
    edge = hostile.matrix(random, k, k) if random.random() < 0.7 else np.zeros((max(0, length - 1), k, k))
    if random.random() < 0.5:
        name = one_of(
            random, "log_partition", "marginals", "log_marginals", "viterbi", "decode_posterior", "kbest", "sample"
        )
        more = {"kbest": (integer(random, 1, 5),), "sample": (count(random, 1, 5), 0)}.get(name, ())
        found = call(name, getattr(oracles, name), node, edge, *more)
        if found is not None and name == "marginals":
            call("check", check_marginals, [found[1] if isinstance(found, tuple) else found.nodes])
        if found is not None and name == "viterbi":
            total = call("log_partition", oracles.log_partition, node, edge)
            if total is not None:
                call(
                    "check",
                    lambda: promise(found[1] <= total + 1e-9 * (1 + abs(total)), "the best score is at most log Z"),
                )
        return
    ends = hostile.edges(random, length)
    name = one_of(random, "belief_propagation", "tree_reweighted", "mean_field", "map_labels", "JunctionTree", "trees")
    if name == "JunctionTree":
        tree = call(
            name, oracles.JunctionTree, count(random, length), ends, count(random, k), integer(random, 1000, 2**24)
        )
        if tree is not None:
            found = call("marginals", tree.marginals, node, edge)
            if found is not None:
                call("check", check_marginals, [found.nodes])
            call("map_labels", tree.map_labels, node, edge)
    elif name == "trees":
        call(name, oracles.spanning_tree_probabilities, count(random, length), ends)
    else:
        options: dict[str, Any] = {"max_sweeps": count(random, 1, 30)}
        if random.random() < 0.2:
            options["tol"] = real(random, 1e-8, 1e-3)
        found = call(name, getattr(oracles, name), node, ends, edge, **options)
        if found is not None and name != "map_labels":
            call("check", check_marginals, [found.nodes])


def template(random: Random, call: Call, folder: str) -> None:
    words = (
        "U:%x[0,0]\n",
        "U%x[-1,0]/%x[0,1]\n",
        "B\n",
        "B%x[0,0]\n",
        "#\n",
        "U%x[",
        "U%x[9999999,0]\n",
        "\0",
        "U\ud800%x[0,0]\n",
        "*%x[0,0]\n",
    )
    more = ('u:%m[0,0,"."]\n', 'u:%t[0,0,"^\\\\u*$"]\n', 'u:%m[0,0,"*"]\n', "u%x[@1,0]\n")
    text = "".join(random.choice(words + more) for _ in range(random.randrange(4)))
    kind = random.randrange(4)
    if kind == 0:
        made = call("crfpp", Template.crfpp, word(random, text))
    elif kind == 1:
        made = call("wapiti", Template.wapiti, text)
    else:
        steps = call("steps", lambda: (one_of(random, rules.lower, rules.shape)(), rules.suffix(integer(random, 1, 3))))
        cells = [call("Cell", Cell, integer(random, 0, 1), integer(random, 0, -1, 1), steps or ()) for _ in range(2)]
        pieces = tuple(random.choice([*cells, word(random, "x=", "y=")]) for _ in range(random.randrange(1, 4)))
        rule = call(
            "Rule", Rule, pieces, word(random, "unigram", "bigram", "both"), word(random, "anywhere", "first", "last")
        )
        made = call("Template", Template, [rule], outside=word(random, "nothing", "crfpp", "wapiti"))
    if made is None:
        return
    sentence: Any = [[word(random, "The", "cat"), word(random, "DT", "NN")] for _ in range(random.choice([0, 1, 4]))]
    call("strings", made.strings, hostile.damaged(random, sentence))
    plain = call("to_dict", made.to_dict)
    if plain is not None:
        if random.random() < 0.5:
            plain = {**plain, random.choice(list(plain)): random.choice([None, [], "x", 3, {}, [None]])}
        call("from_dict", Template.from_dict, plain)


def encoding(random: Random, call: Call, folder: str) -> None:
    sizes = hostile.lengths(random)
    X = hostile.sequences(random, sizes, 4)
    vocabulary = one_of(random, None, None, ["w0", "w1"], ["a", "a"], "text", 3, [None], ["\ud800"])
    if isinstance(vocabulary, list):
        vocabulary = call("Vocabulary", features.Vocabulary, vocabulary)
    call("encode", features.encode, X, vocabulary)
    call("NumberedColumns", features.NumberedColumns, integer(random, 3))
    call(
        "Constraints",
        Constraints,
        hostile.label_names(random),
        one_of(random, None, [("N", "V")], "x", np.eye(2, dtype=bool), [3]),
    )
    y = hostile.labels(random, sizes, hostile.label_names(random))
    other = hostile.labels(random, sizes, hostile.label_names(random))
    call("token_accuracy", metrics.token_accuracy, y, other)
    call("chunk_scores", metrics.chunk_scores, y, other)
    if isinstance(y, list) and y:
        call("chunks", metrics.chunks, y[0])
    call("grid_edges", features.grid_edges, count(random, 2, 3), count(random, 2), integer(random, 4, 8))


def crfsuite(random: Random, call: Call, folder: str) -> None:
    sizes, names = hostile.lengths(random), hostile.label_names(random)
    given: dict[str, Any] = {"max_iterations": count(random, 1, 3)}
    if random.random() < 0.5:
        given["algorithm"] = word(random, "lbfgs", "l2sgd", "ap", "pa", "arow")
    for name in random.sample(["c1", "c2", "epsilon", "delta", "min_freq", "variance", "gamma", "c"], 2):
        if random.random() < 0.4:
            given[name] = real(random, 0.0, 0.1, 1.0)
    crf = call("CRF", CRF, **given)
    X, y = hostile.sequences(random, sizes, 4), hostile.labels(random, sizes, names)
    if crf is not None:
        call("fit", crf.fit, X, y)
        found = call("predict", crf.predict, X)
        if found is not None:
            call("labels", check_labels, found, crf.classes_)
        call("predict_marginals", crf.predict_marginals, X)


def trainer(random: Random, call: Call, folder: str) -> None:
    sizes, names = hostile.lengths(random), hostile.label_names(random)
    made = call("Trainer", Trainer, "lbfgs", {"max_iterations": 2}, False)
    X, y = hostile.sequences(random, sizes, 4), hostile.labels(random, sizes, names)
    if made is None or not isinstance(X, list) or not isinstance(y, list):
        return
    for x, labels in zip(X, y, strict=False):
        before = len(made._data), made._data.n_attributes
        if call("append", made.append, x, labels, one_of(random, 0, 0, 1)) is None and len(made._data) == before[0]:
            call("no trace", promise, made._data.n_attributes == before[1], "a refused sequence left its attributes")
    if len(made._data):
        call("train", made.train, os.path.join(folder, "model.crfsuite"), one_of(random, -1, -1, 1))


def ranks(random: Random, call: Call, folder: str) -> None:
    """Pieces of hostile data on ranks that are threads; what is refused is refused on all of them."""
    given = {name: value for name, value in _fit_parameters(random).items() if name not in ("n_jobs", "random_state")}
    for name in ("state_features", "transitions"):
        if random.random() < 0.25:
            given[name] = word(random, "all", "observed")
    for name in ("bias", "begin"):
        if random.random() < 0.15:
            given[name] = one_of(random, False, True, None)
    if random.random() < 0.2:
        given["l1"] = real(random, 0.0, 0.1, 10.0)
    asked = {name: given.pop(name) for name in ("solver", "tol", "max_passes") if name in given}
    spec = call("ChainSpec", ChainSpec, **given)
    if spec is None:
        return
    size = random.choice([1, 2, 3])
    names = hostile.label_names(random)
    drawn = []
    for _ in range(size):
        sizes = hostile.lengths(random)
        drawn.append((hostile.sequences(random, sizes, 4), hostile.labels(random, sizes, names)))
    pieces = [call("encoded_piece", distributed.encoded_piece, piece) for piece in drawn]
    folder = os.path.join(folder, "kept")

    def work(communicator: Communicator) -> Any:
        share = distributed.share_of_pieces(communicator, {f"piece-{communicator.rank}": pieces[communicator.rank]})
        checkpoints = distributed.Checkpoints(folder, seconds=0.0, resume=True, may_be_missing=True)
        training = distributed.Training(spec, random_state=0, **asked)
        return distributed.train_share(communicator, share, training, checkpoints=checkpoints)[1]

    for _ in range(2):
        found = call("train", run_in_threads, size, work, 30.0)
        for solution in found or ():
            call("solution", check_solution, solution)


SCENARIOS = (
    chain,
    chain,
    chain,
    cross_validation,
    graph,
    graph,
    softmax,
    solve,
    solve,
    solve,
    oracle,
    oracle,
    template,
    encoding,
    crfsuite,
    trainer,
    ranks,
)
