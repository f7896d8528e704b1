"""Trained models: their weights and what these belong to, the questions they answer, and their files."""

from typing import TYPE_CHECKING

from dualfield._deferred import deferred, written_imports

if TYPE_CHECKING:
    from dualfield.models.bigram_layout import BigramLayout as BigramLayout
    from dualfield.models.chain_layout import ChainLayout as ChainLayout
    from dualfield.models.chain_model import ChainModel as ChainModel
    from dualfield.models.crfpp_model import read_crfpp_model as read_crfpp_model
    from dualfield.models.crfpp_model import write_crfpp_model as write_crfpp_model
    from dualfield.models.crfsuite_model import read_crfsuite_model as read_crfsuite_model
    from dualfield.models.crfsuite_writer import write_crfsuite_model as write_crfsuite_model
    from dualfield.models.graph_layout import GraphLayout as GraphLayout
    from dualfield.models.pickled_crf import read_pickled_crf as read_pickled_crf
    from dualfield.models.spec import ChainSpec as ChainSpec
    from dualfield.models.wapiti_model import read_wapiti_model as read_wapiti_model
    from dualfield.models.wapiti_model import write_wapiti_model as write_wapiti_model

__all__, __getattr__, __dir__ = deferred(__name__, written_imports())
