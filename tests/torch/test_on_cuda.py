"""On a GPU the layer gives what it gives on the CPU: values, gradients, probabilities, labels."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="PyTorch, of the extra dualfield[torch], is not installed")

from dualfield.torch import CRF  # noqa: E402

needs_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="PyTorch sees no CUDA GPU here")
pytestmark = [pytest.mark.gpu, needs_gpu]

# Labels, sequences, longest sequence.
SHAPES = [(2, 5, 1), (2, 7, 50), (9, 64, 50), (22, 33, 78), (25, 8, 384), (49, 20, 60), (64, 9, 33), (100, 12, 40),
          (161, 5, 30), (256, 6, 400)]  # fmt: skip


def case(n_labels: int, count: int, columns: int, dtype: Any, scale: float = 1.0, **options: Any) -> tuple[Any, ...]:
    """Two equal layers, on the CPU and the GPU, and a ragged batch."""
    torch.manual_seed(n_labels + count)
    here = CRF(n_labels, batch_first=True, **options).to(dtype)
    for parameter in here.parameters():
        torch.nn.init.normal_(parameter, std=scale)
    there = CRF(n_labels, batch_first=True, **options).to(dtype).cuda()
    there.load_state_dict(here.state_dict())
    emissions = scale * torch.randn(count, columns, n_labels, dtype=dtype)
    lengths = torch.randint(1, columns + 1, (count,))
    lengths[0] = columns
    return here, there, emissions, torch.randint(n_labels, (count, columns)), torch.arange(columns) < lengths[:, None]


def gradients(crf: Any, emissions: Any, *arguments: Any, of: str = "forward") -> tuple[Any, list[Any]]:
    given = emissions.clone().requires_grad_()
    values = crf(given, *arguments, reduction="none") if of == "forward" else crf.log_partition(given, *arguments)
    weights = torch.linspace(0.5, 1.5, len(values), dtype=values.dtype, device=values.device)
    return values, list(torch.autograd.grad((values * weights).sum(), [given, *crf.parameters()]))


def assert_same(found: Any, expected: Any, tolerance: float) -> None:
    found, expected = found.detach().cpu().double(), expected.detach().double()
    scale = max(1.0, float(expected.abs().max()))
    torch.testing.assert_close(found / scale, expected / scale, atol=tolerance, rtol=0)


@pytest.mark.parametrize(("labels", "count", "columns"), SHAPES)
@pytest.mark.parametrize(
    ("dtype", "of_values", "of_gradients"), [(torch.float32, 1e-6, 1e-5), (torch.float64,) + (1e-11,) * 2]
)
@pytest.mark.parametrize("of", ["forward", "log_partition"])
def test_values_and_gradients_are_those_of_the_cpu(
    labels: int, count: int, columns: int, dtype: Any, of_values: float, of_gradients: float, of: str
) -> None:
    here, there, emissions, tags, mask = case(labels, count, columns, dtype)
    arguments = (tags, mask) if of == "forward" else (mask,)
    value, slopes = gradients(here.double(), emissions.double(), *arguments, of=of)
    found, found_slopes = gradients(there, emissions.cuda(), *(each.cuda() for each in arguments), of=of)
    assert found.dtype == dtype
    assert_same(found, value, of_values)
    for one, other in zip(found_slopes, slopes, strict=True):
        assert_same(one, other, of_gradients)


@pytest.mark.parametrize(("labels", "count", "columns"), SHAPES)
def test_labels_and_probabilities_are_those_of_the_cpu(labels: int, count: int, columns: int) -> None:
    here, there, emissions, _, mask = case(labels, count, columns, torch.float32)
    assert there.decode(emissions.cuda(), mask.cuda()) == here.decode(emissions, mask)
    assert_same(there.marginals(emissions.cuda(), mask.cuda()), here.marginals(emissions, mask), 1e-5)
    assert_same(there.entropy(emissions.cuda(), mask.cuda()), here.entropy(emissions, mask), 1e-6)
    with torch.no_grad():
        assert_same(there.log_partition(emissions.cuda(), mask.cuda()), here.log_partition(emissions, mask), 1e-6)


@pytest.mark.parametrize("scale", [30.0, 300.0])
@pytest.mark.parametrize("labels", [5, 49, 100])
def test_wide_ranges_are_computed_in_logarithms(labels: int, scale: float) -> None:
    here, there, emissions, tags, mask = case(labels, 7, 60, torch.float32, scale)
    value, slopes = gradients(here.double(), emissions.double(), tags, mask)
    found, found_slopes = gradients(there, emissions.cuda(), tags.cuda(), mask.cuda())
    assert_same(found, value, 1e-6)
    for one, other in zip(found_slopes, slopes, strict=True):
        assert_same(one, other, 1e-4 * scale / 30)  # inputs of this size are rounded to 1e-5 in float32


def test_masks_of_any_shape_time_first_and_partial_labels() -> None:
    here, there, emissions, tags, mask = case(9, 12, 31, torch.float64, any_mask=True)
    mask = torch.rand(mask.shape) < 0.6
    mask[3] = False
    value, slopes = gradients(here, emissions, tags, mask)
    found, found_slopes = gradients(there, emissions.cuda(), tags.cuda(), mask.cuda())
    for one, other in zip([found, *found_slopes], [value, *slopes], strict=True):
        assert_same(one, other, 1e-11)
    allowed = torch.rand(emissions.shape) < 0.5
    allowed[:, :, 0] = True
    value, slopes = gradients(here, emissions, allowed, mask)
    found, found_slopes = gradients(there, emissions.cuda(), allowed.cuda(), mask.cuda())
    for one, other in zip([found, *found_slopes], [value, *slopes], strict=True):
        assert_same(one, other, 1e-11)
    for crf in (here, there):
        crf.batch_first = False
    turned = emissions.transpose(0, 1)
    assert there.decode(turned.cuda(), mask.t().cuda()) == here.decode(turned, mask.t())


def test_constraints_hold() -> None:
    labels = ["B-X", "I-X", "B-Y", "I-Y", "O"]
    here, there, emissions, _, mask = case(5, 9, 20, torch.float32, labels=labels, constraints="bio")
    assert_same(there.marginals(emissions.cuda(), mask.cuda()), here.marginals(emissions, mask), 1e-5)
    assert there.decode(emissions.cuda(), mask.cuda()) == here.decode(emissions, mask)
    spans = [(0, 0, 2, "X"), (1, 0, 1, "Y")]
    assert_same(there.span_probabilities(emissions.cuda(), spans, mask.cuda()),
                here.span_probabilities(emissions, spans, mask), 1e-6)  # fmt: skip


def test_lists_and_samples_go_through_the_cpu() -> None:
    here, there, emissions, _, mask = case(7, 4, 9, torch.float32)
    tags, scores = there.kbest(emissions.cuda(), 3, mask.cuda())
    assert tags.is_cuda
    assert torch.equal(tags.cpu(), here.kbest(emissions, 3, mask)[0])
    assert_same(scores, here.kbest(emissions, 3, mask)[1], 1e-5)
    assert there.sample(emissions.cuda(), 5, mask.cuda()).is_cuda


def test_wrong_masks_and_tags_are_refused() -> None:
    _, there, emissions, tags, mask = case(7, 4, 9, torch.float32)
    mask[:] = True
    mask[2, 4] = False
    with pytest.raises(ValueError, match="mask of sequence 2 has a gap"):
        there(emissions.cuda(), tags.cuda(), mask.cuda())
    mask[2, 0] = False
    with pytest.raises(ValueError, match="first timestep must all be on"):
        there.decode(emissions.cuda(), mask.cuda())
    tags[1, 3] = 7
    with pytest.raises(ValueError, match="sequence 1 has a tag that is out of range"):
        there(emissions.cuda(), tags.cuda())
    with pytest.raises(ValueError, match="at most 256"):
        CRF(257).cuda().decode(torch.zeros(2, 3, 257).cuda())
    with pytest.raises(ValueError, match=r"emissions are on cuda:0; move tags and mask there"):
        there(emissions.cuda(), tags)


def test_what_is_impossible_is_minus_infinity() -> None:
    there = CRF(3, batch_first=True).cuda()
    emissions = torch.zeros(2, 4, 3).cuda()
    emissions[1, 2] = -float("inf")
    values = there.log_partition(emissions)
    assert torch.isfinite(values[0])
    assert values[1] == -float("inf")


def test_a_stream_of_its_own_and_autocast_are_followed() -> None:
    here, there, emissions, tags, mask = case(9, 16, 40, torch.float32)
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream), torch.autocast("cuda", dtype=torch.bfloat16):
        scores = emissions.cuda() @ torch.eye(9, device="cuda")
        value = there(scores, tags.cuda(), mask.cuda())
    stream.synchronize()
    assert scores.dtype == torch.bfloat16
    assert value.dtype == torch.float32
    assert_same(value, here(scores.cpu().float(), tags, mask), 1e-5)


def test_compiled_graphs_stay_whole() -> None:
    here, there, emissions, tags, mask = case(5, 4, 12, torch.float32)
    compiled = torch.compile(there, fullgraph=True, backend="aot_eager")
    given = emissions.cuda().requires_grad_()
    value = compiled(given, tags.cuda(), mask.cuda())
    value.backward()
    assert_same(value, here(emissions, tags, mask), 1e-6)
    assert torch.isfinite(given.grad).all()
