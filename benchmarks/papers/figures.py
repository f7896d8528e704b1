"""How figures look: a colour and a line for each method, the same in all of them (colours of Okabe and Ito, 2008)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

__all__ = ["STYLES", "new_figure", "save_figure"]

STYLES: dict[str, dict[str, Any]] = {
    "IDAL": {"color": "#D55E00", "linestyle": "-", "marker": "o"},
    "GDMM": {"color": "#0072B2", "linestyle": "--", "marker": "s"},
    "SoftSDCA": {"color": "#009E73", "linestyle": "-.", "marker": "^"},
    "SoftBCFW": {"color": "#CC79A7", "linestyle": ":", "marker": "v"},
    "L-BFGS": {"color": "#000000", "linestyle": "-", "marker": "D"},
}


def new_figure(panels: int = 1) -> tuple[Any, list[Any]]:
    """A figure with panels side by side, as wide as a page of print allows."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    mpl.rcParams.update({"font.size": 8, "axes.grid": True, "grid.alpha": 0.25, "lines.linewidth": 1.2})
    mpl.rcParams.update({"lines.markersize": 3, "axes.spines.top": False, "axes.spines.right": False})
    figure, axes = plt.subplots(1, panels, figsize=(3.4 * panels, 2.8), layout="constrained", squeeze=False)
    return figure, list(axes[0])


def save_figure(figure: Any, path: Path) -> None:
    """Write it, with labels at powers of ten alone on logarithmic axes."""
    from matplotlib.ticker import NullFormatter

    for axes in figure.axes:
        for axis in (axes.xaxis, axes.yaxis):
            if axis.get_scale() == "log":
                axis.set_minor_formatter(NullFormatter())
    figure.savefig(path, dpi=160, metadata={"Software": None})
    print(f"wrote {path}")
