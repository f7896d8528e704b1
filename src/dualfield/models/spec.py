"""The options of a chain model: one list, which estimators, commands and files share.

A new option is a field of :class:`ChainSpec` with its default and the words of the command line, a parameter of
:class:`~dualfield.ChainCRF`, whose form scikit-learn prescribes, and the code that uses it. (A named tuple, not a
dataclass: tagging reads one from every model file, and importing :mod:`dataclasses` would take longer than that.)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

from dualfield.given_numbers import check_integer
from dualfield.labels.tags import SCHEMES, Scheme
from dualfield.parameters import check_l1, check_l2

if TYPE_CHECKING:
    from dualfield.labels import Constraints

__all__ = ["ChainSpec"]

Pairs = Literal["all", "observed"]


class ChainOptions(NamedTuple):
    """The options of a chain model, unchecked: name, type, words for the command line, default."""

    l2: Annotated[float, "Strength of the penalty."] = 1.0
    l1: Annotated[float, "Strength of the penalty that makes weights zero."] = 0.0
    constraints: Annotated[
        Constraints | Scheme | None, "Allow only labellings that this scheme of chunk labels has."
    ] = None
    state_features: Annotated[
        Pairs, "Which (attribute, label) pairs have a weight; those observed in training make smaller files."
    ] = "all"
    transitions: Annotated[Pairs, "Which (label, label) pairs have a weight."] = "all"
    bigram_features: Annotated[
        Pairs, "Which (bigram attribute, label, label) have a weight, where the template makes them."
    ] = "all"
    bias: Annotated[bool, "Whether labels have a weight at every position."] = True
    begin: Annotated[bool, "Whether labels have a weight at the first position."] = True
    end: Annotated[bool, "Whether labels have a weight at the last position."] = True
    min_count: Annotated[int, "Ignore attributes that occur less often."] = 1
    standardize: Annotated[bool, "Train on dense columns shifted and scaled to mean 0 and standard deviation 1."] = (
        False
    )


class ChainSpec(ChainOptions):
    """The penalties of a chain model, which weights it has, and which labellings it allows.

    It cannot be changed, and there is none that makes no sense.

    Parameters
    ----------
    l2, l1 : float
        Strengths of the penalties ``l2/2 ‖w‖²`` and ``l1 ‖w‖₁``, not both zero.
    constraints : Constraints, "bio", "iobes", "bilou", "bmes" or None
        Which first and last labels and which transitions are allowed.
    state_features, transitions, bigram_features : {"all", "observed"}
        Whether every (attribute, label), (label, label) and (bigram attribute, label, label) has a weight, or only
        those seen in training.
    bias, begin, end : bool
        Whether labels have a weight at every position, at the first, at the last.
    min_count : int
        Attributes that occur at fewer positions are ignored.
    standardize : bool
        Whether training sees dense columns shifted and scaled to mean 0 and standard deviation 1, for which there must
        be a bias. The penalty and the certificate are those of that problem; the weights are those of the columns as
        they are.

    Examples
    --------
    >>> ChainSpec(l2=2).but(transitions="observed").l2
    2.0
    >>> ChainSpec(transitions="some")
    Traceback (most recent call last):
    ValueError: transitions must be 'all' or 'observed'; got 'some'.
    """

    __slots__ = ()

    def __new__(cls, *values: Any, **named: Any) -> ChainSpec:
        """Refuse options that make no sense."""
        given = ChainOptions(*values, **named)
        for name in ("state_features", "transitions", "bigram_features"):
            if getattr(given, name) not in ("all", "observed"):
                raise ValueError(f"{name} must be 'all' or 'observed'; got {getattr(given, name)!r}.")
        rules = given.constraints
        if not (rules is None or (isinstance(rules, str) and rules in SCHEMES)):
            from dualfield.labels import Constraints  # which needs NumPy

            if not isinstance(rules, Constraints):
                schemes = ", ".join(map(repr, SCHEMES))
                raise ValueError(f"constraints must be None, {schemes} or a Constraints; got {rules!r}.")
        l1 = check_l1(given.l1)
        checked = given._replace(
            l1=l1,
            l2=check_l2(given.l2, l1),
            min_count=check_integer("min_count", given.min_count, 1, "a positive integer"),
            bias=bool(given.bias),
            begin=bool(given.begin),
            end=bool(given.end),
            standardize=bool(given.standardize),
        )
        if checked.standardize and not checked.bias:
            raise ValueError(
                "standardize=True shifts the columns, which needs a bias to make up for it; set bias=True."
            )
        return super().__new__(cls, *checked)

    @classmethod
    def of(cls, estimator: object) -> ChainSpec:
        """What the parameters of an estimator say."""
        return cls(**{name: getattr(estimator, name) for name in cls._fields})

    def but(self, **changes: Any) -> ChainSpec:
        """The same, but for these options."""
        return ChainSpec(**{**self._asdict(), **changes})
