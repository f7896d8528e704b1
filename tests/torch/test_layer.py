"""The layer gives what enumeration and what automatic differentiation of the plain recursion give."""

from __future__ import annotations

import copy
from itertools import product
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch, of the extra dualfield[torch], is not installed")

from dualfield import Constraints  # noqa: E402
from dualfield.torch import CRF  # noqa: E402
from tests.enumeration import Enumeration  # noqa: E402

K = 3
LABELS = ["B-X", "I-X", "O"]


def layer(**options: Any) -> Any:
    torch.manual_seed(0)
    crf = CRF(options.pop("num_tags", K), **options)
    for parameter in crf.parameters():
        torch.nn.init.normal_(parameter)
    return crf


def exact(crf: Any, emissions: Any) -> Enumeration:
    """One sequence, shape (T, K)."""
    node = emissions.detach().double().numpy().copy()
    start, transitions, end = (
        parameter.detach().double().numpy()
        for parameter in (crf.start_transitions, crf.transitions, crf.end_transitions)
    )
    node[0] += start if crf.forbidden_start is None else np.where(crf.forbidden_start.numpy(), -np.inf, start)
    node[-1] += end
    if crf.forbidden_transition is not None:
        transitions = np.where(crf.forbidden_transition.numpy(), -np.inf, transitions)
    return Enumeration(node, transitions)


def recursion(crf: Any, emissions: Any, tags: Any, mask: Any) -> Any:
    """The sum of log-likelihoods, batch first, by operations that PyTorch differentiates."""
    total = 0.0
    for rows, labels, kept in zip(emissions, tags, mask, strict=True):
        rows, labels = rows[kept], labels[kept]
        score = crf.start_transitions[labels[0]] + rows[0, labels[0]]
        alpha = crf.start_transitions + rows[0]
        for before, label, row in zip(labels, labels[1:], rows[1:], strict=False):
            score = score + crf.transitions[before, label] + row[label]
            alpha = torch.logsumexp(alpha[:, None] + crf.transitions, 0) + row
        total = total + score + crf.end_transitions[labels[-1]] - torch.logsumexp(alpha + crf.end_transitions, 0)
    return total


def batch(shape: tuple[int, int] = (6, 11), labels: int = 7, dtype: Any = None) -> tuple[Any, Any, Any]:
    torch.manual_seed(1)
    emissions = torch.randn(*shape, labels, dtype=dtype)
    lengths = torch.randint(1, shape[1] + 1, (shape[0],))
    return emissions, torch.randint(labels, shape), torch.arange(shape[1]) < lengths[:, None]


@pytest.mark.parametrize("batch_first", [True, False])
@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float32, 1e-5), (torch.float64, 1e-10)])
def test_likelihood_and_gradients_are_those_of_the_recursion(batch_first: bool, dtype: Any, tolerance: float) -> None:
    emissions, tags, mask = batch(dtype=dtype)
    crf = layer(num_tags=7, batch_first=batch_first).to(dtype)
    inputs = [emissions.requires_grad_(), *crf.parameters()]
    expected = recursion(crf, emissions, tags, mask)
    gradients = torch.autograd.grad(expected, inputs)
    if batch_first:
        found = crf(emissions, tags, mask)
    else:
        found = crf(emissions.transpose(0, 1), tags.t(), mask.t())
    assert found.dtype == dtype
    torch.testing.assert_close(found, expected, atol=tolerance, rtol=tolerance)
    for one, other in zip(torch.autograd.grad(found, inputs), gradients, strict=True):
        torch.testing.assert_close(one, other, atol=tolerance, rtol=tolerance)


def test_gradcheck_with_weights_of_sequences() -> None:
    emissions, tags, mask = batch((3, 4), 3, torch.float64)
    crf = layer(batch_first=True).double()
    inputs = (emissions.requires_grad_(), *crf.parameters())
    weights = torch.tensor([1.0, -2.0, 0.5], dtype=torch.float64)

    def weighted(emissions: Any, *_: Any) -> Any:
        return (weights * crf(emissions, tags, mask, reduction="none")).sum() + crf.log_partition(emissions, mask)[1]

    assert torch.autograd.gradcheck(weighted, inputs)


@pytest.mark.parametrize("reduction", ["none", "sum", "mean", "token_mean"])
def test_reductions(reduction: str) -> None:
    emissions, tags, mask = batch()
    crf = layer(num_tags=7, batch_first=True)
    each = crf(emissions, tags, mask, reduction="none")
    expected = {"none": each, "sum": each.sum(), "mean": each.mean(), "token_mean": each.sum() / mask.sum()}[reduction]
    torch.testing.assert_close(crf(emissions, tags, mask, reduction), expected)


def test_masks_of_any_shape_leave_positions_out() -> None:
    emissions, tags, _ = batch((4, 6), 7)
    mask = torch.tensor([[0, 1, 1, 0, 1, 0], [0, 0, 0, 1, 1, 1], [1, 0, 0, 0, 0, 1], [0] * 6], dtype=torch.bool)
    crf = layer(num_tags=7, batch_first=True, any_mask=True)
    ignoring = layer(num_tags=7, batch_first=True, ignore_index=-100)
    expected = [crf(emissions[b : b + 1, mask[b]], tags[b : b + 1, mask[b]]) for b in range(3)]
    for found in (
        crf(emissions, tags, mask, reduction="none"),
        ignoring(emissions, torch.where(mask, tags, -100), reduction="none"),
    ):
        torch.testing.assert_close(found, torch.stack([*expected, torch.zeros(())]))
    best = [crf.decode(emissions[b : b + 1, mask[b]])[0] for b in range(3)]
    assert crf.decode(emissions, mask) == [*best, []]
    assert (crf.decode_tensor(emissions, mask, padding=-100)[~mask] == -100).all()


def test_masks_with_gaps_are_refused_unless_asked_for() -> None:
    emissions, tags, _ = batch((2, 3), 7)
    with pytest.raises(ValueError, match="mask of sequence 1 has a gap"):
        layer(num_tags=7, batch_first=True)(emissions, tags, torch.tensor([[1, 1, 0], [1, 0, 1]]))


@pytest.mark.parametrize("batch_first", [True, False])
@pytest.mark.parametrize("constraints", [None, "bio"])
def test_answers_are_those_of_enumeration(batch_first: bool, constraints: Any) -> None:
    torch.manual_seed(3)
    emissions = torch.randn(2, 4, K)
    crf = layer(batch_first=batch_first, labels=LABELS, constraints=constraints)
    given = emissions if batch_first else emissions.transpose(0, 1)
    with torch.no_grad():
        log_z, entropy, marginals = crf.log_partition(given), crf.entropy(given), crf.marginals(given)
        tags, scores = crf.kbest(given, 3)
        samples = crf.sample(given, 2000)
        spans = crf.span_probabilities(given, [(0, 1, 3, "X"), (1, 0, 1, "X")])
    if not batch_first:
        marginals, tags, samples = marginals.transpose(0, 1), tags.transpose(1, 2), samples.transpose(1, 2)
    for b in range(2):
        chain = exact(crf, emissions[b])
        nodes = torch.tensor(np.exp(chain.log_nodes).astype(np.float32))
        best, best_scores = chain.kbest(3)
        assert log_z[b].item() == pytest.approx(float(chain.log_partition), rel=1e-5)
        assert entropy[b].item() == pytest.approx(float(chain.entropy), rel=1e-4)
        torch.testing.assert_close(marginals[b], nodes, atol=1e-6, rtol=0)
        assert tags[:, b].tolist() == best.tolist()
        assert scores[:, b].tolist() == pytest.approx(best_scores.astype(float).tolist(), rel=1e-5)
        frequencies = torch.stack([(samples[:, b] == k).float().mean(0) for k in range(K)], 1)
        torch.testing.assert_close(frequencies, nodes, atol=0.06, rtol=0)
        assert crf.decode(given)[b] == best[0].tolist()
    first, second = exact(crf, emissions[0]), exact(crf, emissions[1])
    # (1, 3, X): B or an I that nothing before it goes on to, then I, then no I.
    has = [(y[1] == 0 or (y[1] == 1 and y[0] == 2)) and y[2] == 1 and y[3] != 1 for y in first.labellings]
    assert spans[0].item() == pytest.approx(float(first.probabilities[np.array(has)].sum()), rel=1e-5)
    has = [y[0] != 2 and y[1] != 1 for y in second.labellings]
    assert spans[1].item() == pytest.approx(float(second.probabilities[np.array(has)].sum()), rel=1e-5)


def test_constraints_keep_forbidden_parameters_out_of_the_gradient() -> None:
    crf = layer(batch_first=True, constraints=Constraints(LABELS, transitions=[("O", "I-X")]))
    crf(torch.randn(2, 4, K), torch.zeros(2, 4, dtype=torch.long)).backward()
    assert crf.transitions.grad[2, 1] == 0
    assert crf.transitions.grad.abs().sum() > 0
    with pytest.raises(ValueError, match="sequence 0, position 1: the tag is impossible there"):
        crf(torch.randn(1, 2, K), torch.tensor([[2, 1]]))


def test_partial_labels_sum_over_what_they_allow() -> None:
    torch.manual_seed(5)
    emissions = torch.randn(1, 4, K)
    crf = layer(batch_first=True)
    allowed = torch.tensor([[[1, 1, 0], [1, 1, 1], [0, 0, 1], [1, 0, 1]]], dtype=torch.bool)
    choices = product(*[row.nonzero()[:, 0].tolist() for row in allowed[0]])
    expected = torch.logsumexp(torch.stack([crf(emissions, torch.tensor([tags])) for tags in choices]), 0)
    inputs = [emissions.requires_grad_(), *crf.parameters()]
    found = crf(emissions, allowed)
    torch.testing.assert_close(found, expected)
    choices = product(*[row.nonzero()[:, 0].tolist() for row in allowed[0]])
    expected = torch.logsumexp(torch.stack([crf(emissions, torch.tensor([tags])) for tags in choices]), 0)
    for one, other in zip(torch.autograd.grad(found, inputs), torch.autograd.grad(expected, inputs), strict=True):
        torch.testing.assert_close(one, other, atol=1e-5, rtol=1e-5)


def test_second_derivatives_are_refused() -> None:
    emissions, tags, _ = batch()
    crf = layer(num_tags=7, batch_first=True)
    emissions.requires_grad_()
    (gradient,) = torch.autograd.grad(crf(emissions, tags), emissions, create_graph=True)
    with pytest.raises(RuntimeError, match=r"dualfield\.torch\.CRF: double backward is not supported"):
        (gradient**2).sum().backward()
    with pytest.raises(RuntimeError, match=r"dualfield\.torch\.CRF\.marginals has no gradient"):
        crf.marginals(emissions).sum().backward()


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision_is_summed_in_float32_or_better(dtype: Any) -> None:
    emissions, tags, mask = batch((4, 300), 7)
    emissions = emissions.to(dtype).requires_grad_()
    crf = layer(num_tags=7, batch_first=True)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        found = crf(emissions, tags, mask)
        found.backward()
    expected = crf.double()(emissions.detach().double(), tags, mask)
    assert found.dtype == torch.float32
    assert emissions.grad.dtype == dtype
    torch.testing.assert_close(found.double(), expected, rtol=1e-6, atol=0)


def test_state_dict_has_three_keys_whatever_the_options() -> None:
    crf = layer(labels=LABELS, constraints="bio", ignore_index=-100)
    assert sorted(crf.state_dict()) == ["end_transitions", "start_transitions", "transitions"]
    assert repr(crf) == "CRF(num_tags=3)"


def test_what_is_forbidden_outlives_memory_without_content() -> None:
    crf = layer(labels=LABELS, constraints="bio")
    with torch.device("meta"):
        later = CRF(K, labels=LABELS, constraints="bio")
    later = later.to_empty(device="cpu")
    later.load_state_dict(crf.state_dict())
    emissions = torch.randn(6, 4, K)
    assert later.decode(emissions) == crf.decode(emissions)
    torch.testing.assert_close(later.log_partition(emissions), crf.log_partition(emissions))
    assert not list(crf.buffers())
    copied = copy.deepcopy(crf).double()
    torch.testing.assert_close(copied.log_partition(emissions).float(), crf.log_partition(emissions))


@pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning", "ignore:.*torch.jit:FutureWarning")
@pytest.mark.parametrize("constraints", [None, "bio"])
def test_a_scripted_layer_gives_the_same(constraints: Any) -> None:
    crf = layer(batch_first=True, labels=LABELS, constraints=constraints)
    scripted = torch.jit.script(crf)
    emissions, tags = torch.randn(2, 5, K), torch.tensor([[0, 1, 2, 2, 0], [2, 2, 0, 1, 1]])
    torch.testing.assert_close(scripted(emissions, tags), crf(emissions, tags))
    assert scripted.decode(emissions) == crf.decode(emissions)


def test_samples_follow_the_generator_of_pytorch() -> None:
    emissions, crf = torch.zeros(20, 30, K), layer()
    with torch.no_grad():
        one, other, third = (
            crf.sample(emissions, 2, generator=torch.Generator().manual_seed(seed)) for seed in (7, 7, 8)
        )
    assert (one == other).all()
    assert (one != third).any()


def test_compiled_layer_keeps_the_graph_whole() -> None:
    emissions, tags, mask = batch()
    crf = layer(num_tags=7, batch_first=True)
    compiled = torch.compile(crf, fullgraph=True, backend="aot_eager")
    results = []
    for function in (crf, compiled):
        inputs = emissions.clone().requires_grad_()
        value = function(inputs, tags, mask)
        value.backward()
        results.append((value.detach(), inputs.grad, crf.transitions.grad.clone()))
        crf.zero_grad()
    for one, other in zip(*results, strict=True):
        torch.testing.assert_close(one, other)


def test_exported_layer_decodes() -> None:
    emissions, _, mask = batch()

    class Decoder(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.crf = layer(num_tags=7, batch_first=True)

        def forward(self, emissions: Any, mask: Any) -> Any:
            return self.crf.decode_tensor(emissions, mask)

    decoder = Decoder().eval()
    program = torch.export.export(decoder, (emissions, mask))
    assert "dualfield.crf_decode" in str(program.graph)
    assert (program.module()(emissions, mask) == decoder(emissions, mask)).all()


def test_operators_keep_pytorchs_rules() -> None:
    emissions, tags, mask = batch((3, 4), 3)
    crf = layer(batch_first=True)
    chains = (emissions.requires_grad_(), mask, *(p.detach() for p in (crf.start_transitions, crf.transitions)))
    chains = (*chains, crf.end_transitions.detach(), False)
    checks = ["test_schema", "test_faketensor", "test_autograd_registration"]
    operators = torch.ops.dualfield
    for function, more in (
        (operators.crf_values, (tags, None, True)),
        (operators.crf_decode, (-1,)),
        (operators.crf_marginals, ()),
        (operators.crf_entropy, ()),
        (operators.crf_kbest, (2, -1)),
        (operators.crf_sample, (2, torch.tensor(3), -1)),
    ):
        torch.library.opcheck(function.default, (*chains, *more), test_utils=checks)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda crf: CRF(0), "invalid number of tags: 0"),
        (lambda crf: CRF(3, labels=["O"]), "1 labels were given for 3 tags"),
        (lambda crf: CRF(3, constraints="bio"), "constraints='bio' needs labels"),
        (lambda crf: CRF(2, constraints=Constraints(LABELS)), "constraints speak of 3 labels; expected 2"),
        (lambda crf: crf(torch.zeros(2, 2, K), torch.full((2, 2), 3)), "sequence 0, position 0: a tag is out of range"),
        (lambda crf: crf(torch.full((2, 2, K), torch.nan), torch.zeros(2, 2, dtype=torch.long)), "a potential is nan"),
        (lambda crf: crf.decode(torch.zeros(2, 2, K, device="meta")), "runs on the CPU or a CUDA GPU"),
        (lambda crf: crf.kbest(torch.zeros(2, 2, K), 0), "k must be a positive integer"),
        (lambda crf: crf.sample(torch.zeros(2, 2, K), -1), "n must be an integer, not negative"),
        (lambda crf: crf.span_probabilities(torch.zeros(2, 2, K), []), "the layer has no labels"),
    ],
)
def test_what_does_not_go_together_is_refused(call: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call(layer())
