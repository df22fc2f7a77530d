"""campaignd from Python: campaigns of a server, with nothing but the standard library.

    import campaignd
    from campaignd import Categorical, Maximize, Number

    lab = campaignd.local("lab")                      # or campaignd.Client("https://lab.example.org")
    campaign = lab.begin(
        name="salts",
        parameters=[Number("x", 0, 1), Categorical("salt", ["LiPF6", "LiFSI"])],
        objective=Maximize("flow", unit="mL/s"),
        budget={"experiments": 12},
        instrument="manual",
    )
    while (experiment := campaign.ask()) is not None:
        campaign.tell(experiment, measure(experiment.parameters))

What the server refuses is a Problem, with a code and what can be done about it. DataFrames want the
extra `pandas`, charts the extra `plots`. docs/notebook.md is the guide.
"""

from __future__ import annotations

from .aio import AsyncCampaign, AsyncClient
from .campaign import Batch, Campaign, Experiment, Told
from .client import Client
from .definition import (
    Categorical,
    Desirability,
    Discrete,
    Maximize,
    Minimize,
    Number,
    Tradeoff,
)
from .extras import ExtraNeeded
from .frames import TableRefused
from .local import Local, NotServed, local
from .results import Audit, Best, Bests, Diagnosis, Explanation, Imagined
from .schema import Category, Definition, Desire, Expert, Quantity
from .transport import Fault, Problem, Remedy

__all__ = [
    "AsyncCampaign",
    "AsyncClient",
    "Audit",
    "Batch",
    "Best",
    "Bests",
    "Campaign",
    "Categorical",
    "Category",
    "Client",
    "Definition",
    "Desirability",
    "Desire",
    "Diagnosis",
    "Discrete",
    "Experiment",
    "Expert",
    "Explanation",
    "ExtraNeeded",
    "Fault",
    "Imagined",
    "Local",
    "Maximize",
    "Minimize",
    "NotServed",
    "Number",
    "Problem",
    "Quantity",
    "Remedy",
    "TableRefused",
    "Told",
    "Tradeoff",
    "local",
]
