"""On a GPU, training finds what the CPU finds, with a certificate that holds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch, of the extra dualfield[torch], is not installed")

from dualfield import ChainCRF, fields, l2_path, solve  # noqa: E402

needs_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="PyTorch sees no CUDA GPU here")
pytestmark = [pytest.mark.gpu, needs_gpu]


def sentences(count: int, labels: int, longest: int = 12, seed: int = 0) -> tuple[list[Any], list[Any]]:
    """Random sequences whose attributes tell something of the labels."""
    random = np.random.default_rng(seed)
    X, y = [], []
    for _ in range(count):
        codes = random.integers(labels, size=random.integers(1, longest + 1))
        noisy = np.where(random.random(len(codes)) < 0.7, codes, random.integers(labels, size=len(codes)))
        X.append([[f"a{code}", f"b{code % 5}", "often"] for code in noisy])
        y.append([f"L{code:03}" for code in codes])
    return X, y


def bio(count: int) -> tuple[list[Any], list[Any]]:
    """Sentences of chunks whose labels follow the rules of "bio"."""
    random = np.random.default_rng(1)
    X, y = [], []
    for _ in range(count):
        labels: list[str] = []
        while len(labels) < random.integers(2, 15):
            kind = str(random.choice(["X", "Y"]))
            labels += [["O"], [f"B-{kind}"], [f"B-{kind}", f"I-{kind}"]][random.integers(3)]
        y.append(labels)
        X.append([[f"a{hash_of(label, random)}"] for label in labels])
    return X, y


def hash_of(label: str, random: np.random.Generator) -> int:
    return (sum(map(ord, label)) + int(random.integers(3))) % 7


def chain(**options: Any) -> fields.Chain:
    return fields.Chain(*sentences(200, options.pop("labels", 6)), options.pop("l2", 1.0), **options)


def points(dense: bool, n_labels: int = 7, **options: Any) -> fields.Multiclass:
    from scipy import sparse

    random = np.random.default_rng(0)
    X = random.normal(size=(500, 30)) if dense else sparse.random(500, 300, 0.05, random_state=0, format="csr")
    return fields.Multiclass(X, random.integers(n_labels, size=500), 1.0, **options)


FIELDS = {
    "all pairs": lambda: chain(),
    "observed pairs": lambda: chain(state_features="observed", transitions="observed"),
    "no bias": lambda: chain(bias=False, begin=False, end=False),
    "weights of sequences": lambda: chain(sample_weight=np.random.default_rng(0).uniform(0, 2, 200)),
    "two labels": lambda: chain(labels=2),
    "forty labels": lambda: chain(labels=40),
    "a hundred labels": lambda: chain(labels=100, transitions="observed"),
    "200 labels": lambda: chain(labels=200),
    "weak penalty": lambda: chain(l2=0.01),
    "values": lambda: fields.Chain(
        [[{"a": 0.3 * t, "b": -1.0, f"c{t}": 2.0} for t in range(5)] for _ in range(60)],
        [[str((s + t) % 3) for t in range(5)] for s in range(60)],
    ),
    "rules": lambda: fields.Chain(*bio(150), constraints="bio"),
    "rules without begin": lambda: fields.Chain(*bio(150), constraints="bio", begin=False, end=False),
    "dense points": lambda: points(True),
    "sparse points": lambda: points(False),
    "weighted points": lambda: points(False, sample_weight=np.linspace(0, 2, 500), bias=False),
}


def on_gpu(field: Any, dtype: Any) -> Any:
    from dualfield.cuda.objective import Data, Objective
    from dualfield.cuda.problem import problem_of

    return Objective(Data(problem_of(field), torch.device("cuda:0")), dtype)


def order_of(objective: Any) -> Any:
    """The weights in the order of the GPU, as an index."""
    return slice(None) if objective.data.order is None else objective.data.order


@pytest.mark.parametrize("name", FIELDS)
@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float32, 1e-5), (torch.float64, 1e-11)])
def test_losses_and_gradients_are_those_of_the_cpu(name: str, dtype: Any, tolerance: float) -> None:
    field = FIELDS[name]()
    weights = np.random.default_rng(0).normal(size=field.dimension)
    value, gradient = field.gradient(weights)
    value, gradient = value - 0.5 * field.l2 * weights @ weights, gradient - field.l2 * weights
    objective = on_gpu(field, dtype)
    order = order_of(objective)
    w = torch.from_numpy(weights[order]).to("cuda", dtype)
    u = torch.full_like(w, float("nan"))
    for _ in range(2):  # what is left of the first must not show in the second
        found = float(objective.evaluate(w, u))
    assert found == pytest.approx(value, rel=tolerance)
    np.testing.assert_allclose(u.cpu().numpy(), gradient[order], atol=tolerance * np.abs(gradient).max(), rtol=0)


@pytest.mark.parametrize("name", FIELDS)
def test_the_optimum_is_that_of_the_cpu_and_its_gap_bounds_the_distance(name: str) -> None:
    field = FIELDS[name]()
    reference = solve(field, "lbfgs", tol=1e-9, max_passes=3000)
    for tol in (1e-2, 1e-3, 1e-5):
        solution = solve(field, device="cuda", tol=tol, max_passes=1000)
        assert solution.status == "converged"
        assert solution.certificate == "exact"
        assert field.primal(solution.weights) == pytest.approx(solution.primal, rel=1e-9)
        assert solution.primal - reference.dual <= solution.duality_gap + 1e-9 * solution.primal
        assert solution.dual <= reference.primal
    assert solution.primal == pytest.approx(reference.primal, rel=1e-5)


def test_wide_ranges_of_scores_are_mended() -> None:
    field = chain(labels=9)
    weights = 60 * np.random.default_rng(0).normal(size=field.dimension)
    value, gradient = field.gradient(weights)
    objective = on_gpu(field, torch.float64)
    w = torch.from_numpy(weights[order_of(objective)]).to("cuda")
    u = torch.empty_like(w)
    found = float(objective.evaluate(w, u)) + 0.5 * weights @ weights
    assert found == pytest.approx(value, rel=1e-10)
    single = on_gpu(field, torch.float32)
    assert float(single.evaluate(w.float(), u.float())) + 0.5 * weights @ weights == pytest.approx(value, rel=1e-5)
    np.testing.assert_allclose(u.cpu().numpy(), (gradient - weights)[order_of(objective)], atol=1e-9 * len(field.codes))


def test_paths_share_what_is_on_the_gpu_and_end_where_the_cpu_ends() -> None:
    field = chain()
    found = l2_path(field, [10.0, 1.0, 0.1], device="cuda", tol=1e-5)
    expected = l2_path(field, [10.0, 1.0, 0.1], "lbfgs", tol=1e-6)
    for one, other in zip(found, expected, strict=True):
        assert one.primal == pytest.approx(other.primal, rel=2e-5)


def test_estimators_train_on_the_gpu_and_go_on_there() -> None:
    X, y = sentences(200, 5)
    crf = ChainCRF(device="cuda", tol=1e-2, warm_start=True).fit(X, y)
    assert crf.solution_.status == "converged"
    crf.tol = 1e-5
    crf.fit(X, y)
    assert crf.solution_.relative_gap <= 1e-5
    assert crf.predict(X) == ChainCRF(solver="lbfgs", tol=1e-7).fit(X, y).predict(X)
    from sklearn.datasets import load_iris

    from dualfield import SoftmaxRegression

    X, y = load_iris(return_X_y=True)
    one, other = SoftmaxRegression(device="cuda", tol=1e-6), SoftmaxRegression(solver="lbfgs", tol=1e-8)
    np.testing.assert_allclose(one.fit(X, y).coef_, other.fit(X, y).coef_, atol=5e-3)


def test_what_does_not_fit_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda *_: (350 << 20, 1 << 40))
    monkeypatch.setattr(torch.cuda, "memory_reserved", torch.cuda.memory_allocated)
    with pytest.raises(MemoryError, match="bytes a position"):
        solve(chain(labels=200), device="cuda")


def test_a_gpu_that_does_not_exist_is_refused() -> None:
    with pytest.raises(ValueError, match="does not exist"):
        solve(chain(), device="cuda:63")


def test_callbacks_and_the_last_pass_are_followed() -> None:
    passes = []
    solution = solve(
        chain(), device="cuda", tol=0, max_passes=7, callbacks=lambda progress: passes.append(progress.passes)
    )
    assert passes == list(range(1, 8))
    assert solution.status == "max_passes"
    assert solution.duality_gap > 0
