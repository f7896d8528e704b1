"""Orientation features see strength and direction of edges, as worked out by hand or pixel by pixel."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.ndimage import convolve1d, correlate1d

from dualfield.features.graphs.orientations import (
    SCALES,
    multi_scale_features,
    orientation_histograms,
    quadratic_features,
    site_features,
)

AXIS, RIGHT_ANGLE = 3, 4  # columns of site_features


def waves(degrees: float, size: int = 64, period: float = 8.0) -> np.ndarray:
    """Stripes whose gradients have the given angle to the rows."""
    angle = np.deg2rad(degrees)
    rows, columns = np.mgrid[:size, :size]
    return 128 + 100 * np.sin(2 * np.pi * (np.cos(angle) * columns + np.sin(angle) * rows) / period)


def gradients(grey: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Down and right, by sampled Gaussians of standard deviation 0.7 and their derivatives."""
    offsets = np.arange(-3, 4)
    gaussian = np.exp(-(offsets**2) / (2 * 0.49))
    gaussian /= gaussian.sum()
    slope = offsets / 0.49 * gaussian
    down = correlate1d(convolve1d(grey, gaussian, axis=1, mode="nearest"), slope, axis=0, mode="nearest")
    right = correlate1d(convolve1d(grey, gaussian, axis=0, mode="nearest"), slope, axis=1, mode="nearest")
    return down, right


@given(st.integers(0, 2**32 - 1), st.integers(1, 3), st.integers(1, 4))
@settings(max_examples=10)
def test_histograms_are_sums_over_the_pixels_of_a_window(seed: int, height: int, width: int) -> None:
    grey = np.random.default_rng(seed).uniform(0, 255, (16 * height, 16 * width))
    down, right = gradients(grey)
    magnitude = np.hypot(down, right)
    bins = np.rint(np.rad2deg(np.arctan2(down, right)) / 5).astype(int) % 36
    smoothing = np.exp(-(np.arange(-4, 5) ** 2) / 2)
    smoothing /= smoothing.sum()
    histograms = orientation_histograms(grey)
    assert histograms.shape == (height, width, 3, 36)
    for row, column, number in np.ndindex(height, width, 3):
        half = SCALES[number] // 2
        window = tuple(slice(max(16 * at + 8 - half, 0), 16 * at + 8 + half) for at in (row, column))
        plain = 36 * np.bincount(bins[window].ravel(), magnitude[window].ravel(), 36) / bins[window].size
        smooth = sum(weight * np.roll(plain, shift) for weight, shift in zip(smoothing, range(-4, 5), strict=True))
        np.testing.assert_allclose(histograms[row, column, number], smooth, rtol=1e-6, atol=1e-9)


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=10)
def test_the_mean_of_a_histogram_is_the_mean_magnitude(seed: int) -> None:
    grey = np.random.default_rng(seed).uniform(0, 255, (32, 48))
    magnitude = np.hypot(*gradients(grey)).reshape(2, 16, 3, 16).mean(axis=(1, 3))
    histograms = orientation_histograms(grey)
    np.testing.assert_allclose(histograms[:, :, 0].mean(axis=-1), magnitude, rtol=1e-9)
    np.testing.assert_allclose(site_features(histograms)[:, :, 0], np.log1p(magnitude), rtol=1e-9)


@pytest.mark.parametrize("degrees", [0, 20, 45, 90, 135, 170])
def test_stripes_peak_at_their_own_angle_on_every_scale(degrees: int) -> None:
    histograms = orientation_histograms(waves(degrees))
    assert (histograms[1:-1, 1:-1].argmax(axis=-1) == degrees // 5).all()
    features = site_features(histograms)[1:-1, 1:-1]
    np.testing.assert_allclose(features[..., AXIS], abs(np.cos(2 * np.deg2rad(degrees))), atol=1e-12)
    agreement = multi_scale_features(histograms)[1:-1, 1:-1, 12:]
    np.testing.assert_allclose(agreement, 1.0, atol=1e-12)


@pytest.mark.parametrize("degrees", [0, 15, 30])
def test_crossing_stripes_are_at_a_right_angle(degrees: int) -> None:
    rows, columns = np.mgrid[:64, :64] // 8
    # checks of both kinds of stripes, two of each in every block, so that both peaks are seen
    crossing = np.where((rows + columns) % 2, waves(degrees), 0.8 * waves(degrees + 90))
    np.testing.assert_allclose(site_features(orientation_histograms(crossing))[1:-1, 1:-1, RIGHT_ANGLE], 1.0, atol=0.02)


def test_peaks_raise_the_moments_more_than_equal_strength_in_all_directions() -> None:
    striped = orientation_histograms(waves(0))
    moments = site_features(striped)[1, 1, :3]
    assert moments[0] < moments[1] < moments[2]
    # the same magnitudes spread over all directions have no moments but the mean
    flat = np.broadcast_to(striped.mean(axis=-1, keepdims=True), striped.shape)
    np.testing.assert_allclose(site_features(flat)[1, 1], [moments[0], 0, 0, 0, 0], atol=1e-6)


def test_a_blank_photo_has_no_features() -> None:
    blank = orientation_histograms(np.full((64, 64), 200, dtype=np.uint8))
    assert not site_features(blank).any()
    assert not multi_scale_features(blank).any()


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=10)
def test_swapping_rows_and_columns_only_swaps_sites(seed: int) -> None:
    photo = np.random.default_rng(seed).uniform(0, 255, (48, 80, 3))
    upright, swapped = orientation_histograms(photo), orientation_histograms(photo.swapaxes(0, 1))
    for features in (site_features, multi_scale_features):
        np.testing.assert_allclose(features(swapped), features(upright).swapaxes(0, 1), atol=1e-9)


def test_shapes_are_those_of_the_papers() -> None:
    histograms = orientation_histograms(np.zeros((256, 384, 3), dtype=np.uint8))
    assert site_features(histograms).shape == (16, 24, 5)
    assert multi_scale_features(histograms).shape == (16, 24, 14)
    assert quadratic_features(site_features(histograms)).shape == (16, 24, 21)


@given(st.lists(st.floats(-9, 9), max_size=6))
def test_the_quadratic_expansion_spans_every_quadratic_form(values: list[float]) -> None:
    features = np.array(values)
    expanded = quadratic_features(features)
    d = len(features)
    assert len(expanded) == 1 + d + d * (d + 1) // 2
    generator = np.random.default_rng(0)
    constant, linear, form = generator.normal(), generator.normal(size=d), generator.normal(size=(d, d))
    products = (form + form.T - np.diag(np.diag(form)))[np.triu_indices(d)]
    weights = np.concatenate([[constant], linear, products])
    assert expanded @ weights == pytest.approx(constant + linear @ features + features @ form @ features, abs=1e-9)


@pytest.mark.parametrize("shape", [(16, 17), (0, 16), (32,), (16, 16, 4), (15, 16, 3)])
def test_a_photo_of_broken_blocks_is_refused(shape: tuple[Any, ...]) -> None:
    with pytest.raises(ValueError, match=r"the photo has shape .*; expected rows and columns in multiples of 16"):
        orientation_histograms(np.zeros(shape))
