"""Closes a loop: campaignd suggests, this script measures.

campaignd serve lab &
python3 loop.py
"""

from __future__ import annotations

from campaignd import Client, Experiment

FILE = """
name: loop
parameters: [{name: x, min: 0, max: 1}, {name: salt, values: [1, 2, 3]}]
objective: {name: flow, unit: mL/s, goal: maximize}
budget: {experiments: 12}
instrument: manual
policy: lognei
"""


def measure(experiment: Experiment) -> float:
    """Your instrument stands here."""
    x, salt = float(experiment.parameters["x"]), float(experiment.parameters["salt"])
    return 3 - (x - 0.7) ** 2 - 0.1 * (salt - 2) ** 2


if __name__ == "__main__":
    campaign = Client().begin(FILE)
    while (experiment := campaign.ask()) is not None:
        campaign.tell(experiment, measure(experiment))
    status = campaign.status()
    print("best by the model:", status["best_by_model"])
    print("best measured:", status["best_measured"])
