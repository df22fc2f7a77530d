"""Closes a loop: campaignd suggests, this script measures.

pip install campaignd     # or PYTHONPATH=internal/python, in a copy of the source
campaignd serve lab &
python3 loop.py
"""

from __future__ import annotations

from campaignd import Client, Discrete, Experiment, Maximize, Number


def measure(experiment: Experiment) -> float:
    """Your instrument stands here."""
    x, salt = float(experiment.parameters["x"]), float(experiment.parameters["salt"])
    return 3 - (x - 0.7) ** 2 - 0.1 * (salt - 2) ** 2


if __name__ == "__main__":
    campaign = Client().begin(
        name="loop",
        parameters=[Number("x", 0, 1), Discrete("salt", [1, 2, 3])],
        objective=Maximize("flow", unit="mL/s"),
        budget={"experiments": 12},
        instrument="manual",
    )
    while (experiment := campaign.ask()) is not None:
        campaign.tell(experiment, measure(experiment))
    print(campaign.best())
