"""How figures look: a colour, a line and a marker for each method, the same in all of them.

Colours are those of Okabe and Ito (2008), which the colour-blind tell apart; line and marker tell in grey.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

__all__ = ["SEQUENCE", "STYLES", "new_figure", "plot", "save_figure", "shared_legend"]

_ORANGE, _SKY, _GREEN, _YELLOW = "#E69F00", "#56B4E9", "#009E73", "#B8A800"
_BLUE, _VERMILION, _PURPLE, _BLACK, _GREY = "#0072B2", "#D55E00", "#CC79A7", "#000000", "#777777"


def _style(color: str, linestyle: str, marker: str) -> dict[str, Any]:
    return {"color": color, "linestyle": linestyle, "marker": marker}


STYLES: dict[str, dict[str, Any]] = {
    # methods on cliques
    "IDAL": _style(_VERMILION, "-", "o"),
    "GDMM": _style(_BLUE, "--", "s"),
    "SoftSDCA": _style(_GREEN, "-.", "^"),
    "SoftBCFW": _style(_PURPLE, ":", "v"),
    # methods on the dual
    "SDCA": _style(_VERMILION, "--", "o"),
    "SDCA-GAP": _style(_VERMILION, "-", "o"),
    "OEG": _style(_BLUE, "--", "s"),
    "OEG-GAP": _style(_BLUE, "-", "s"),
    "OEG-GAP, accelerated": _style(_SKY, "-.", "s"),
    # averaged and variance-reduced gradients
    "SAG": _style(_GREEN, ":", "^"),
    "SAG-NUS": _style(_GREEN, "--", "^"),
    "SAG-NUS*": _style(_GREEN, "-", "^"),
    "SAGA-NUS*": _style(_YELLOW, "-", "<"),
    "SVRG": _style(_YELLOW, "--", ">"),
    # batch methods
    "L-BFGS": _style(_BLACK, "-", "D"),
    "Hybrid": _style(_BLACK, "--", "d"),
    # stochastic gradients
    "SG": _style(_PURPLE, "-", "v"),
    "ASG": _style(_PURPLE, "--", "v"),
    "Pegasos": _style(_ORANGE, "-", "P"),
    "AdaGrad": _style(_ORANGE, "--", "X"),
    "SMD": _style(_SKY, "-", "*"),
    "perceptron": _style(_GREY, ":", "p"),
    # rules of sampling
    "uniform": _style(_VERMILION, "--", "o"),
    "gap": _style(_VERMILION, "-", "o"),
    "importance": _style(_BLUE, "-.", "s"),
    "gap × importance": _style(_GREEN, ":", "^"),
    "max": _style(_BLACK, "-", "D"),
}
# For a parameter in place of a method.
SEQUENCE = [
    _style(_BLACK, ":", "D"),
    _style(_BLUE, "-.", "s"),
    _style(_GREEN, "--", "^"),
    _style(_VERMILION, "-", "o"),
    _style(_PURPLE, (0, (5, 1, 1, 1)), "v"),  # type: ignore[arg-type]
    _style(_ORANGE, (0, (1, 1)), "P"),  # type: ignore[arg-type]
]


def new_figure(panels: int = 1, rows: int = 1) -> tuple[Any, list[Any]]:
    """A figure with panels side by side, in one or more rows, as wide as a page of print allows."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    mpl.rcParams.update({"font.size": 8, "axes.grid": True, "grid.alpha": 0.25, "lines.linewidth": 1.2})
    mpl.rcParams.update({"lines.markersize": 3, "axes.spines.top": False, "axes.spines.right": False})
    columns = -(-panels // rows)
    size = (3.4 * columns, 2.8 * rows)
    figure, axes = plt.subplots(rows, columns, figsize=size, layout="constrained", squeeze=False)
    flat = list(axes.ravel())
    for unused in flat[panels:]:
        unused.set_visible(False)
    return figure, flat[:panels]


def plot(axes: Any, x: Any, y: Any, style: dict[str, Any], label: str, log: bool = True) -> None:
    """A curve with at most a dozen markers."""
    every = max(1, len(x) // 12)
    (axes.semilogy if log else axes.plot)(x, y, label=label, markevery=every, **style)


def shared_legend(figure: Any, title: str | None = None) -> None:
    """One legend below all panels, each label once; none where panels have legends of their own."""
    if any(axes.get_legend() is not None for axes in figure.axes):
        return
    entries: dict[str, Any] = {}
    for axes in figure.axes:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            entries.setdefault(label, handle)
    if entries:
        single = len(figure.axes) == 1
        columns = min(len(entries), 2 if single else 5 if figure.get_figwidth() < 10 else 8)
        figure.legend(
            entries.values(),
            entries.keys(),
            loc="outside lower center",
            ncols=columns,
            fontsize=7,
            title=title,
            title_fontsize=7,
            frameon=False,
            handlelength=3.5,
        )


def save_figure(figure: Any, path: Path) -> None:
    """Write it, with labels at powers of ten alone on logarithmic axes."""
    import matplotlib.pyplot as plt
    from matplotlib.ticker import NullFormatter
    from PIL import Image

    for axes in figure.axes:
        axes.set_visible(axes.has_data())  # unless nothing is known of it yet
        for axis in (axes.xaxis, axes.yaxis):
            if axis.get_scale() == "log":
                axis.set_minor_formatter(NullFormatter())
    figure.savefig(path, dpi=160, metadata={"Software": None})
    plt.close(figure)
    # a palette makes the file three times smaller, and nobody sees it
    with Image.open(path) as drawn:
        small = drawn.convert("RGB").quantize(128)
    small.save(path, optimize=True)
    print(f"wrote {path}")
