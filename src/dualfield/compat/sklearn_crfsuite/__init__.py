"""What ``sklearn_crfsuite`` offers, trained by dualfield: change the import and keep the program.

``import sklearn_crfsuite`` becomes ``from dualfield.compat import sklearn_crfsuite``, and
``from sklearn_crfsuite import metrics`` becomes ``from dualfield.compat.sklearn_crfsuite import metrics``. What maps to
what is on the page docs/guides/coming-from-sklearn-crfsuite.md.
"""

from dualfield.compat.sklearn_crfsuite import metrics, scorers
from dualfield.compat.sklearn_crfsuite.estimator import CRF

__all__ = ["CRF", "metrics", "scorers"]
