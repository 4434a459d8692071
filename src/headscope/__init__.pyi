"""The public names: the one list of them. They load what they need when they are first used."""

from . import compare as compare
from . import contribution as contribution
from . import corpora as corpora
from . import errors as errors
from . import probes as probes
from .analyses.align.heads import alignment_heads as alignment_heads
from .analyses.align.run import align as align
from .analyses.attribute.run import attribute as attribute
from .analyses.combine.run import combine_heads as combine_heads
from .analyses.coref.run import coreference as coreference
from .analyses.distance.run import distance as distance
from .analyses.links.run import links as links
from .analyses.measure.run import measure as measure
from .analyses.merge import merge as merge
from .analyses.negation.run import negation as negation
from .analyses.patching.run import patching as patching
from .analyses.probes.run import probe as probe
from .analyses.retrieval.run import retrieval as retrieval
from .analyses.roles.run import roles as roles
from .analyses.sentences.run import sentences as sentences
from .analyses.streaming.duo import save_duo_attention as save_duo_attention
from .analyses.streaming.run import streaming as streaming
from .analyses.syntax.run import syntax as syntax
from .analyses.tables import figure as figure
from .analyses.tables import table as table
from .analyses.writes.run import writes as writes
from .attention.edit import ablate as ablate
from .attention.edit import edit as edit
from .attention.generate import generate as generate
from .attention.load import load as load
from .attention.one import capture as capture
from .attention.one import gradients as gradients
from .attention.whatif import WhatIf as WhatIf
from .errors import HeadscopeError as HeadscopeError
from .grid import Frames as Frames
from .grid import Grid as Grid
from .heads import Head as Head
from .link import Link as Link
from .link import Span as Span
from .live.explore import explore as explore
from .live.view import head_view as head_view
from .live.view import model_view as model_view
from .live.view import neuron_view as neuron_view
from .live.view import view as view
from .maps import AttentionMaps as AttentionMaps
from .maps import wrap as wrap
from .measures.measure import pair_measure as pair_measure
from .measures.measure import row_measure as row_measure
from .reports.run import report as report
from .senses import Picture as Picture
from .senses import Sound as Sound
from .store import open_maps as open_maps
from .tokens import Tokens as Tokens

__version__: str
__all__: list[str]
