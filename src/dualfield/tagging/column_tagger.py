"""From a model file to the tagger of column files, in the core: without NumPy, since starting is half of the work."""

from __future__ import annotations

from dualfield import _core
from dualfield.models.chain_contents import ChainContents
from dualfield.models.recipe import FileLayout, Recipe

__all__ = ["column_tagger"]


def column_tagger(contents: ChainContents, recipe: Recipe, layout: FileLayout, strict: bool) -> _core.ColumnTagger:
    """The tagger of a model, for files of this layout.

    Refuses a model with bigrams: for that there is :class:`~dualfield.tagging.model_tagger.ModelTagger`.
    """
    if contents.n_columns:
        raise ValueError(f"{contents.file.path!r} has dense columns, which the tagger of the core does not know.")
    if contents.bigrams is not None:
        raise ValueError(f"{contents.file.path!r} has bigrams, which the tagger of the core does not know.")
    options = {**recipe.reading(layout), "tolerant": not strict}
    bias, begin, end = contents.switches
    return _core.ColumnTagger(
        recipe.compiled,
        recipe.seen,
        names=contents.names,
        hash_bits=recipe.hash_bits or 0,
        weights=contents.file.numbers("weights"),
        transitions=contents.file.numbers("transitions"),
        bias=bias,
        begin=begin,
        end=end,
        pairs=contents.rows,
        masks=contents.masks,
        labels=[str(label) for label in contents.file.labels],
        label_column=recipe.written_column(layout),
        **options,
    )
