"""Files of sequences in, labels out: formats, streams, and how a model reads a file.

A format is a :class:`~dualfield.tagging.format.Format` and a line in the table of ``dualfield.tagging.formats``.
"""
