"""The sections of a report: each is a small dataclass that says what travels to the page.

The page draws a section with the function of ``frontend/src/report/sections.ts`` that its `kind` names.
"""

from headscope.views.sections.base import Section
from headscope.views.sections.cards import Card, Cards, Shown
from headscope.views.sections.clusters import Clusters
from headscope.views.sections.compare import Compare
from headscope.views.sections.coref import Coref
from headscope.views.sections.figures import Classes, Failed, Heads, Layers, Measures, Methods, Unmeasured
from headscope.views.sections.groups import Groups
from headscope.views.sections.probes import Probes
from headscope.views.sections.roles import Roles
from headscope.views.sections.syntax import Syntax

__all__ = [
    "Card",
    "Cards",
    "Classes",
    "Clusters",
    "Compare",
    "Coref",
    "Failed",
    "Groups",
    "Heads",
    "Layers",
    "Measures",
    "Methods",
    "Probes",
    "Roles",
    "Section",
    "Shown",
    "Syntax",
    "Unmeasured",
]
