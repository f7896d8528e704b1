"""What a part of a photo looks like by the directions of its edges, in the spirit of Kumar and Hebert (2003).

Buildings have long straight edges that meet at right angles; leaves and clouds have edges of every direction. So
each site, a block of 16 × 16 pixels, is described by a histogram ``E_δ`` of gradient orientations ``δ`` (modulo 180
degrees), weighted by gradient magnitude. Let ``v₀`` be its mean over bins and ``[·]₊`` the part above 0:

* ``v₀`` is the mean gradient magnitude, and ``v_p = (Σ_δ [E_δ − v₀]₊^(p+1) / Σ_δ [E_δ − v₀]₊)^(1/p)`` says how far
  peaks rise above it: 0 for a flat histogram. These are the heaved central-shift moments of the paper; the root
  makes all of them magnitudes, and ``log(1 + v)`` keeps their squares from having long tails.
* ``|cos 2δ₁|`` is 1 where the highest peak follows an axis of the photo, ``|sin(δ₁ − δ₂)|`` is 1 where the two highest
  peaks are at a right angle, and ``|cos 2(δ₁ − δ₁′)|`` is 1 where two scales agree up to a right angle. They are 0
  where there is no such peak.

All of them stay the same when rows and columns of a photo are swapped, up to the swap of their sites. A scale is the
side of the window, about the centre of the block, that the histogram is taken over; windows end where the photo ends.

Kumar, S. and Hebert, M. (2003). Man-made structure detection in natural images using a causal multiscale random field.
CVPR.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.ndimage import gaussian_filter, gaussian_filter1d

__all__ = ["BLOCK", "SCALES", "multi_scale_features", "orientation_histograms", "quadratic_features", "site_features"]

Floats = npt.NDArray[np.float64]

BLOCK = 16
SCALES = (16, 32, 64)
# Five degrees a bin; an axis of the photo is the middle of a bin, so that swapping rows and columns permutes bins.
BINS = 36
ANGLES = np.arange(BINS) * np.pi / BINS
# Windows of all scales are unions of cells, as the centre of a block is a corner of four of them.
CELL = BLOCK // 2
# Standard deviations: of the Gaussian whose derivative gives gradients, in pixels; of the one over histograms, in bins.
GRADIENT_BLUR, HISTOGRAM_BLUR = 0.7, 1.0
# The weights of red, green and blue in brightness (ITU-R BT.601).
LUMA = np.array([0.299, 0.587, 0.114])


def orientation_histograms(photo: npt.NDArray[Any]) -> Floats:
    """Smoothed histograms of gradient orientations about the blocks of a photo, at three scales.

    Parameters
    ----------
    photo : array of shape (16 height, 16 width) or (16 height, 16 width, 3)
        Grey levels or colours, from 0 to 255.

    Returns
    -------
    histograms : array of shape (height, width, 3, 36)
        ``E_δ`` in grey levels per pixel, for scales of 16, 32 and 64 pixels and ``δ`` = 0, 5, ..., 175 degrees from the
        direction of the rows. The mean over ``δ`` is the mean gradient magnitude in the window.

    Raises
    ------
    ValueError
        If the photo does not consist of whole blocks.

    Examples
    --------
    Grey levels that grow by 2 a column have gradients along the rows only:

    >>> histograms = orientation_histograms(np.tile(2.0 * np.arange(64), (64, 1)))
    >>> histograms.shape, int(histograms[1, 1, 0].argmax()), round(float(histograms[1, 1, 0].mean()), 1)
    ((4, 4, 3, 36), 0, 2.0)
    """
    if (
        photo.ndim not in (2, 3)
        or photo.shape[2:] not in ((), (3,))
        or 0 in photo.shape
        or any(pixels % BLOCK for pixels in photo.shape[:2])
    ):
        raise ValueError(
            f"the photo has shape {photo.shape}; expected rows and columns in multiples of {BLOCK}, of grey levels or "
            "three colours."
        )
    grey = np.asarray(photo @ LUMA if photo.ndim == 3 else photo, dtype=np.float64)
    down = gaussian_filter(grey, GRADIENT_BLUR, order=(1, 0), mode="nearest")
    right = gaussian_filter(grey, GRADIENT_BLUR, order=(0, 1), mode="nearest")
    bins = np.rint(np.arctan2(down, right) * (BINS / np.pi)).astype(np.int64) % BINS

    n_rows, n_columns = grey.shape[0] // CELL, grey.shape[1] // CELL
    cells = (np.arange(grey.shape[0]) // CELL * n_columns)[:, None] + np.arange(grey.shape[1]) // CELL
    weights = BINS * np.hypot(down, right).ravel()
    sums = np.bincount((cells * BINS + bins).ravel(), weights, n_rows * n_columns * BINS)
    by_cell = np.asarray(sums, dtype=np.float64).reshape(n_rows, n_columns, BINS)

    areas = np.full((n_rows, n_columns, 1), float(CELL**2))
    histograms = [_window_sums(by_cell, scale) / _window_sums(areas, scale) for scale in SCALES]
    return np.asarray(gaussian_filter1d(np.stack(histograms, axis=2), HISTOGRAM_BLUR, axis=-1, mode="wrap"))


def site_features(histograms: Floats) -> Floats:
    """Five features of each site at the smallest scale: three moments and two orientations.

    Parameters
    ----------
    histograms : array of shape (height, width, 3, 36)
        As of :func:`orientation_histograms`.

    Returns
    -------
    features : array of shape (height, width, 5)
        ``log(1 + v₀), log(1 + v₁), log(1 + v₂), |cos 2δ₁|, |sin(δ₁ − δ₂)|``.

    Examples
    --------
    >>> steps = np.kron(np.arange(8) % 2, np.full(8, 100.0))
    >>> site_features(orientation_histograms(np.tile(steps, (64, 1))))[1, 1].round(2).tolist()
    [2.6, 4.81, 4.87, 1.0, 0.0]
    """
    smallest = histograms[:, :, 0]
    first, second = _peaks(smallest)
    return np.concatenate([_moments(smallest), _orientations(first, second)], axis=-1)


def multi_scale_features(histograms: Floats) -> Floats:
    """Fourteen features of each site: four at each of three scales, and whether neighbouring scales agree.

    Parameters
    ----------
    histograms : array of shape (height, width, 3, 36)
        As of :func:`orientation_histograms`.

    Returns
    -------
    features : array of shape (height, width, 14)
        For each scale ``log(1 + v₀), log(1 + v₂), |cos 2δ₁|, |sin(δ₁ − δ₂)|``; then ``|cos 2(δ₁ − δ₁′)|`` of scales 16
        and 32, and of 32 and 64.

    Examples
    --------
    >>> steps = np.kron(np.arange(8) % 2, np.full(8, 100.0))
    >>> multi_scale_features(orientation_histograms(np.tile(steps, (64, 1))))[1, 1, -2:].tolist()
    [1.0, 1.0]
    """
    first, second = _peaks(histograms)
    by_scale = np.concatenate([_moments(histograms)[..., [0, 2]], _orientations(first, second)], axis=-1)
    agreement = _or_zero(np.abs(np.cos(2 * (first[..., 1:] - first[..., :-1]))))
    return np.concatenate([by_scale.reshape(*by_scale.shape[:2], -1), agreement], axis=-1)


def quadratic_features(features: Floats) -> Floats:
    """A constant, the features, and all products of two of them: ``[1, x_a, x_a x_b for a ≤ b]``.

    Parameters
    ----------
    features : array of shape (..., d)

    Returns
    -------
    expanded : array of shape (..., 1 + d + d (d + 1) / 2)

    Examples
    --------
    >>> quadratic_features(np.array([2.0, 3.0])).tolist()
    [1.0, 2.0, 3.0, 4.0, 6.0, 9.0]
    """
    first, second = np.triu_indices(features.shape[-1])
    one = np.ones((*features.shape[:-1], 1))
    return np.concatenate([one, features, features[..., first] * features[..., second]], axis=-1)


def _window_sums(cells: Floats, scale: int) -> Floats:
    """Sums over the cells of a window about the centre of every block."""
    n_cells = scale // CELL
    beyond = (n_cells - 2) // 2
    padded = np.pad(cells, [(beyond, beyond), (beyond, beyond), (0, 0)])
    # every block is two cells wide, so every second window is about the centre of one
    rows = np.lib.stride_tricks.sliding_window_view(padded, n_cells, axis=0)[::2].sum(axis=-1)
    sums: Floats = np.lib.stride_tricks.sliding_window_view(rows, n_cells, axis=1)[:, ::2].sum(axis=-1)
    return sums


def _moments(histograms: Floats) -> Floats:
    """``log(1 + v_p)`` for p = 0, 1, 2."""
    mean = histograms.mean(axis=-1)
    above = np.maximum(histograms - mean[..., None], 0.0)
    total = above.sum(axis=-1)
    total[total == 0] = 1.0
    moments = [mean, (above**2).sum(axis=-1) / total, np.sqrt((above**3).sum(axis=-1) / total)]
    return np.log1p(np.stack(moments, axis=-1))


def _peaks(histograms: Floats) -> tuple[Floats, Floats]:
    """Angles of the highest and second highest peak; NaN where there is none."""
    is_peak = (histograms >= np.roll(histograms, 1, axis=-1)) & (histograms > np.roll(histograms, -1, axis=-1))
    heights = np.where(is_peak, histograms, -np.inf)
    angles = []
    for _ in range(2):
        highest = heights.argmax(axis=-1, keepdims=True)
        exists = np.take_along_axis(heights, highest, axis=-1) > 0
        angles.append(np.where(exists, ANGLES[highest], np.nan)[..., 0])
        np.put_along_axis(heights, highest, -np.inf, axis=-1)
    return angles[0], angles[1]


def _orientations(first: Floats, second: Floats) -> Floats:
    return _or_zero(np.stack([np.abs(np.cos(2 * first)), np.abs(np.sin(first - second))], axis=-1))


def _or_zero(features: Floats) -> Floats:
    return np.nan_to_num(features, nan=0.0)
