"""What is in a model, as dicts."""

from __future__ import annotations

from dualfield._tagger import Model

__all__ = ["ParsedDump", "parsed_dump"]


class ParsedDump:
    """The parameters of a CRFsuite model, as :meth:`Tagger.info` returns them.

    Attributes
    ----------
    transitions : dict
        Weights by ``(from_label, to_label)``.
    state_features : dict
        Weights by ``(attribute, label)``.
    header : dict
        The header of the file, as strings.
    labels, attributes : dict
        Numbers, as strings, by name.
    """

    def __init__(self) -> None:
        self.header: dict[str, str] = {}
        self.labels: dict[str, str] = {}
        self.attributes: dict[str, str] = {}
        self.transitions: dict[tuple[str, str], float] = {}
        self.state_features: dict[tuple[str, str], float] = {}

    def __repr__(self) -> str:
        return (
            f"<ParsedDump of {len(self.labels)} labels, {len(self.attributes)} attributes, {len(self.transitions)} "
            f"transitions, {len(self.state_features)} state features>"
        )


def parsed_dump(model: Model) -> ParsedDump:
    """The parameters of a model; weights have the six decimals that CRFsuite's dump has."""
    found = ParsedDump()
    found.header = model.header()
    found.labels = {label: str(number) for number, label in enumerate(model.labels)}
    found.attributes = {name: str(number) for number, name in enumerate(model.attribute_names())}
    found.transitions = {pair: float(f"{weight:f}") for pair, weight in model.transition_weights().items()}
    found.state_features = {pair: float(f"{weight:f}") for pair, weight in model.state_weights().items()}
    return found
