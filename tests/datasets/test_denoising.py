"""Noisy images are repeatable, balanced, as noisy as asked for, and as hard for single pixels as theory says."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import trapezoid
from scipy.io import savemat
from scipy.ndimage import label, uniform_filter
from scipy.stats import norm
from sklearn.linear_model import LogisticRegression

from dualfield.datasets import Images, load_denoise_x, make_denoising
from dualfield.datasets.denoising import SHAPES
from dualfield.features import grid_edges


@pytest.fixture(scope="module")
def images() -> Images:
    return make_denoising()


def bayes_error(noise: float, share: float) -> float:
    """Smallest error of a rule on single pixels: the mass of the smaller of both densities, by quadrature."""
    s = np.linspace(-8 * noise, 1 + 8 * noise, 200_001)
    smaller = np.minimum((1 - share) * norm.pdf(s, 0, noise), share * norm.pdf(s, 1, noise))
    return float(trapezoid(smaller, s))


def test_features_are_the_papers(images: Images) -> None:
    assert (len(images.X_train), len(images.X_test)) == (40, 10)
    assert images.edge_features_train is not None
    assert images.pictures_train is not None
    edges = grid_edges(64, 64)
    for X, y, edge_features, picture in zip(
        images.X_train, images.y_train, images.edge_features_train, images.pictures_train, strict=True
    ):
        assert (X.shape, X.dtype, y.shape, y.dtype) == ((64, 64, 2), np.float64, (64, 64), np.int64)
        assert (X[..., 0] == 1).all()
        assert np.array_equal(X[..., 1], picture)
        s = picture.ravel()
        assert np.array_equal(edge_features[:, 0], np.ones(len(edges)))
        assert np.array_equal(edge_features[:, 1], np.abs(s[edges[:, 0]] - s[edges[:, 1]]))


@given(st.integers(0, 2**40), st.integers(0, 3), st.integers(0, 2))
@settings(max_examples=15)
def test_a_seed_fixes_the_images_and_more_of_them_begin_alike(seed: int, n_train: int, n_test: int) -> None:
    few = make_denoising(n_train, n_test, size=16, random_state=seed)
    many = make_denoising(n_train + 2, n_test + 1, size=16, random_state=seed)
    assert (len(few.X_train), len(few.X_test)) == (n_train, n_test)
    for ours, theirs in ((few.X_train, many.X_train), (few.X_test, many.X_test), (few.y_train, many.y_train)):
        assert all(np.array_equal(a, b) for a, b in zip(ours, theirs, strict=False))


def test_no_two_images_are_alike(images: Images) -> None:
    pictures = [*images.y_train, *images.y_test, *make_denoising(5, 0, random_state=1).y_train]
    assert len({picture.tobytes() for picture in pictures}) == len(pictures)


@given(st.integers(0, 2**40), st.integers(16, 80))
@settings(max_examples=25)
def test_both_labels_are_well_represented_in_every_image(seed: int, size: int) -> None:
    (y,) = make_denoising(1, 0, size=size, random_state=seed).y_train
    assert set(np.unique(y)) == {0, 1}
    assert 0.25 <= y.mean() <= 0.6


def test_shapes_are_shapes_and_not_specks(images: Images) -> None:
    for y in images.y_train:
        _, n_pieces = label(y)
        assert 1 <= n_pieces <= 12
        # most pixels look like their neighbours: shapes have insides
        assert (np.abs(uniform_filter(y.astype(float), 3) - y) < 0.5).mean() > 0.95


@pytest.mark.parametrize("shape", SHAPES)
def test_every_kind_of_shape_is_drawn_with_foreground_and_background(shape: object) -> None:
    centres = (np.arange(64) + 0.5) / 64
    generator = np.random.default_rng(0)
    shares = [shape(centres[:, None], centres[None, :], generator).mean() for _ in range(200)]  # type: ignore[operator]
    assert 0.003 < min(shares) < max(shares) < 0.5
    assert np.std(shares) > 0.01


def test_noise_is_normal_of_the_deviation_asked_for() -> None:
    for noise in (0.3, 0.5, 1.5):
        images = make_denoising(10, 10, noise=noise)
        for X, y in ((images.X_train, images.y_train), (images.X_test, images.y_test)):
            residual = np.concatenate([(x[..., 1] - labels).ravel() for x, labels in zip(X, y, strict=True)]) / noise
            n = len(residual)
            assert abs(residual.mean()) < 5 / np.sqrt(n)
            assert abs(residual.var() - 1) < 5 * np.sqrt(2 / n)
            assert abs((residual**4).mean() - 3) < 5 * np.sqrt(96 / n)
            assert abs(np.mean(residual[1:] * residual[:-1])) < 5 / np.sqrt(n)


def test_other_noise_lies_over_the_same_shapes() -> None:
    low, high = make_denoising(2, 1, noise=0.0), make_denoising(2, 1, noise=2.0)
    for quiet, loud, labels in zip(low.X_train, high.X_train, low.y_train, strict=True):
        assert np.array_equal(quiet[..., 1], labels)
        assert (np.abs(loud[..., 1] - labels) > 2).mean() > 0.2
    assert all(np.array_equal(a, b) for a, b in zip(low.y_train, high.y_train, strict=True))


def test_single_pixels_err_as_often_as_theory_says(images: Images) -> None:
    s, y = (np.concatenate([a.ravel() for a in arrays]) for arrays in (images.pictures_train or [], images.y_train))
    error = 1 - LogisticRegression(C=1e6).fit(s[:, None], y).score(s[:, None], y)
    assert error == pytest.approx(bayes_error(0.5, y.mean()), abs=0.003)
    assert 0.1 < error < 0.2


def test_the_figures_of_the_docstrings_hold() -> None:
    assert bayes_error(0.5, 0.5) == pytest.approx(norm.cdf(-1), abs=1e-6)
    assert f"{100 * bayes_error(0.5, 0.5):.1f} %" in (make_denoising.__doc__ or "")
    assert f"{100 * bayes_error(0.5, 0.4):.1f} %" in (make_denoising.__doc__ or "")
    assert f"{100 * bayes_error(0.5, 0.751):.1f} %" in (load_denoise_x.__doc__ or "")


def test_neighbours_help(images: Images) -> None:
    pictures, labels = images.pictures_test or [], images.y_test
    alone = np.mean([(s > 0.5) != y for s, y in zip(pictures, labels, strict=True)])
    together = np.mean([(uniform_filter(s, 3) > 0.5) != y for s, y in zip(pictures, labels, strict=True)])
    assert together < alone / 2


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_train": -1}, "n_train is -1; expected at least 0"),
        ({"n_test": -2}, "n_test is -2; expected at least 0"),
        ({"size": 15}, "size is 15; expected at least 16 pixels"),
        ({"noise": -0.1}, "noise is -0.1; expected a finite standard deviation"),
        ({"noise": float("nan")}, "noise is nan; expected a finite"),
        ({"random_state": -3}, "random_state is -3; expected at least 0"),
    ],
)
def test_parameters_out_of_range_are_refused(parameters: dict[str, float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make_denoising(**parameters)  # type: ignore[arg-type]


# ---- the letter X ----------------------------------------------------------------------------------------


def test_the_letter_is_under_every_noise(data_folder: Path) -> None:
    images = load_denoise_x(data_folder / "denoise_x", n_train=3, n_test=2)
    assert (len(images.X_train), len(images.X_test)) == (3, 2)
    labels = [*images.y_train, *images.y_test]
    assert all(np.array_equal(labels[0], other) for other in labels)
    assert (labels[0].shape, labels[0].sum()) == ((32, 32), 769)
    assert len({X.tobytes() for X in (*images.X_train, *images.X_test)}) == 5
    residual = np.stack(images.pictures_train or []) - labels[0]
    assert residual.std() == pytest.approx(0.5, rel=0.1)
    assert "same labels" in images.note


def test_the_letter_is_the_picture_in_the_other_file(data_folder: Path) -> None:
    image = pytest.importorskip("PIL.Image")
    with image.open(data_folder / "denoise_x" / "Ximg.PNG") as stored:
        picture = np.asarray(stored.convert("L"))
    (labels,) = load_denoise_x(data_folder / "denoise_x", n_train=1, n_test=0).y_train
    assert np.array_equal(picture > 127, labels == 1)


def test_the_letter_is_missing(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"nowhere of the letter X does not exist; .* holds Ximg\.mat"):
        load_denoise_x(tmp_path / "nowhere", 1, 1)
    with pytest.raises(FileNotFoundError, match=r"has no file Ximg\.mat"):
        load_denoise_x(tmp_path, 1, 1)
    (tmp_path / "Ximg.mat").write_bytes(b"not a matrix " * 20)
    with pytest.raises(ValueError, match=r"Ximg\.mat is not a MATLAB file"):
        load_denoise_x(tmp_path, 1, 1)
    with pytest.raises(FileNotFoundError, match="is not a folder"):
        load_denoise_x(tmp_path / "Ximg.mat", 1, 1)


@pytest.mark.parametrize("content", [{"Y": np.eye(3)}, {"X": 2 * np.eye(3)}, {"X": np.zeros((2, 2, 2))}])
def test_another_matrix_is_refused(tmp_path: Path, content: dict[str, np.ndarray]) -> None:
    savemat(tmp_path / "Ximg.mat", content)
    with pytest.raises(ValueError, match="no matrix X of zeros and ones"):
        load_denoise_x(tmp_path, 1, 1)
