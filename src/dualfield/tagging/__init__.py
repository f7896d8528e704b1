"""Files of sequences in, labels out: formats, streams, and how a model reads a file.

``FORMATS`` is the table of formats, by the names that ``--format`` takes; a program may add a :class:`Format`.
:class:`SequenceTagger` labels one sequence at a time, for services; :func:`tag_text` labels raw text.
"""

from typing import TYPE_CHECKING

from dualfield._deferred import deferred, written_imports

if TYPE_CHECKING:
    from dualfield.tagging.content import AttributeFile as AttributeFile
    from dualfield.tagging.content import TokenFile as TokenFile
    from dualfield.tagging.format import Format as Format
    from dualfield.tagging.formats import FORMATS as FORMATS
    from dualfield.tagging.raw_text import TaggedToken as TaggedToken
    from dualfield.tagging.raw_text import TextEntity as TextEntity
    from dualfield.tagging.raw_text import entities_in_text as entities_in_text
    from dualfield.tagging.raw_text import tag_text as tag_text
    from dualfield.tagging.sequence_tagger import SequenceTagger as SequenceTagger

__all__, __getattr__, __dir__ = deferred(__name__, written_imports())
