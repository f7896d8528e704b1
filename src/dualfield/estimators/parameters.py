"""The part of scikit-learn's contract that lives in the parameters of ``__init__``, without scikit-learn.

``clone``, ``GridSearchCV``, pipelines and the display in notebooks find what they ask an estimator for: ``get_params``,
``set_params``, tags, requests of metadata, HTML. scikit-learn itself is imported only when it asks.
"""

from __future__ import annotations

import inspect
from typing import Any, Self

__all__ = ["Parameters"]


class Parameters:
    """An estimator whose parameters are those of its ``__init__``, kept under their own names."""

    @classmethod
    def _defaults(cls) -> dict[str, Any]:
        """The parameters in the order of ``__init__``, with their defaults."""
        parameters = inspect.signature(cls).parameters.values()
        return {parameter.name: parameter.default for parameter in parameters}

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters by name; with ``deep``, those of a parameter that is an estimator too, as ``name__inner``."""
        found: dict[str, Any] = {}
        for name in sorted(self._defaults()):
            value = found[name] = getattr(self, name)
            if deep and hasattr(value, "get_params") and not isinstance(value, type):
                found |= {f"{name}__{inner}": item for inner, item in value.get_params().items()}
        return found

    def set_params(self, **params: Any) -> Self:
        """Change parameters, and those of a parameter that is an estimator as ``name__inner``."""
        inner: dict[str, dict[str, Any]] = {}
        for key, value in params.items():
            name, _, rest = key.partition("__")
            if name not in self._defaults():
                listed = sorted(self._defaults())
                raise ValueError(f"Invalid parameter {name!r} for estimator {self}. Valid parameters are: {listed}.")
            if rest:
                inner.setdefault(name, {})[rest] = value
            else:
                setattr(self, name, value)
        for name, changes in inner.items():
            getattr(self, name).set_params(**changes)
        return self

    def __repr__(self) -> str:
        changed = [
            f"{name}={getattr(self, name)!r}"
            for name, default in self._defaults().items()
            if hasattr(self, name) and not _same(getattr(self, name), default)
        ]
        return f"{type(self).__name__}({', '.join(changed)})"

    def _repr_html_(self) -> str:
        from sklearn.utils import estimator_html_repr

        html: str = estimator_html_repr(self)
        return html

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        try:
            return {"text/plain": repr(self), "text/html": self._repr_html_()}
        except ImportError:
            return {"text/plain": repr(self)}

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import Tags, TargetTags

        return Tags(estimator_type=None, target_tags=TargetTags(required=False))

    # --- requests of metadata: whether a pipeline or a search passes sample_weight on ---

    def get_metadata_routing(self) -> Any:
        """What ``fit`` and ``score`` ask a pipeline or a search to pass on, for scikit-learn's metadata routing."""
        from sklearn.utils.metadata_routing import MetadataRequest

        kept = getattr(self, "_metadata_request", None)
        if kept is not None:
            return kept
        requests = MetadataRequest(owner=self)
        for method in ("fit", "score"):
            if "sample_weight" in inspect.signature(getattr(self, method)).parameters:
                getattr(requests, method).add_request(param="sample_weight", alias=None)
        return requests

    def set_fit_request(self, *, sample_weight: bool | str | None) -> Self:
        """Whether a pipeline or a search is to pass ``sample_weight`` on to ``fit``."""
        return self._request("fit", sample_weight)

    def set_score_request(self, *, sample_weight: bool | str | None) -> Self:
        """Whether a pipeline or a search is to pass ``sample_weight`` on to ``score``."""
        return self._request("score", sample_weight)

    def _request(self, method: str, sample_weight: bool | str | None) -> Self:
        requests = self.get_metadata_routing()
        getattr(requests, method).add_request(param="sample_weight", alias=sample_weight)
        self._metadata_request = requests
        return self


def _same(value: Any, default: Any) -> bool:
    """Whether a parameter has its default; arrays among them compare by identity."""
    if value is default:
        return True
    return type(value) is type(default) and isinstance(value, bool | int | float | str) and value == default
