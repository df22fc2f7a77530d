"""BayBE as a method, with everything by default: its campaign is made anew of what campaignd's log says. See
docs/process-method.md.

    pip install baybe==0.15.0
    campaignd run examples/methods/baybe.yaml

Numbers, lists of values and categories (one-hot, or by their descriptors where there are any) are its parameters,
linear constraints its constraints. What is under way is its pending experiments. In a space with constraints on
discrete values, and with a list of candidates, it says that it does not know them.
"""

import json
import sys
import warnings

import baybe
import pandas as pd
from baybe.constraints import ContinuousLinearConstraint
from baybe.objectives import SingleTargetObjective
from baybe.parameters import (
    CategoricalParameter,
    CustomDiscreteParameter,
    NumericalContinuousParameter,
    NumericalDiscreteParameter,
)
from baybe.searchspace import SearchSpace
from baybe.targets import NumericalTarget
from baybe.utils.random import set_random_seed

OPERATORS = {"equals": "=", "at_most": "<=", "at_least": ">="}


def parameter(p):
    if p.get("categories"):
        if p["categories"][0].get("descriptors"):
            about = pd.DataFrame({c["name"]: c["descriptors"] for c in p["categories"]}).T
            return CustomDiscreteParameter(p["name"], about)
        return CategoricalParameter(p["name"], [c["name"] for c in p["categories"]])
    if p.get("values"):
        return NumericalDiscreteParameter(p["name"], sorted(p["values"]))
    return NumericalContinuousParameter(p["name"], (p["min"], p["max"]))


def space(view):
    continuous = {p["name"] for p in view["parameters"] if "min" in p}
    if view.get("candidates"):
        raise ValueError("a list of candidates is not supported here")
    constraints = []
    for c in view.get("constraints", []):
        if not set(c["terms"]) <= continuous:
            raise ValueError("a constraint on a discrete parameter is not supported here")
        key = next(k for k in OPERATORS if k in c)
        constraints.append(ContinuousLinearConstraint(
            list(c["terms"]), OPERATORS[key], list(c["terms"].values()), c[key]))
    return SearchSpace.from_product([parameter(p) for p in view["parameters"]], constraints)


def propose(view, seed):
    set_random_seed(seed)
    names, objective = [p["name"] for p in view["parameters"]], view["objective"]
    target = NumericalTarget(objective["name"], minimize=objective["goal"] == "minimize")
    campaign = baybe.Campaign(space(view), SingleTargetObjective(target))
    results = [x for x in view["experiments"] if "value" in x]
    if results:
        campaign.add_measurements(pd.DataFrame(
            [{**{n: r["made"][n] for n in names}, objective["name"]: r["value"]} for r in results]))
    pending = pd.DataFrame([{n: e["parameters"][n] for n in names} for e in view["under_way"]])
    row = campaign.recommend(1, pending_experiments=pending if len(pending) and results else None).iloc[0]
    point = {n: row[n] if isinstance(row[n], str) else float(row[n]) for n in names}
    return {"parameters": point, "reason": f"its default on {len(results)} results"}


def main():
    warnings.filterwarnings("ignore")
    out, sys.stdout = sys.stdout, sys.stderr  # what libraries print is no answer
    for line in sys.stdin:
        ask = json.loads(line)
        reply = {"id": ask["id"]}
        try:
            if ask["op"] == "handshake":
                reply |= {"protocol": 1, "name": "baybe", "version": baybe.__version__,
                          "settings_schema": {"type": "object", "additionalProperties": False}}
            elif ask["op"] == "propose":
                reply["proposal"] = propose(ask["view"], ask["seed"])
            else:
                reply["error"] = "it proposes, and nothing else"
        except Exception as trouble:  # whatever a library says: the campaign goes on by itself
            reply["error"] = f"{type(trouble).__name__}: {trouble}"
        print(json.dumps(reply, allow_nan=False), file=out, flush=True)


if __name__ == "__main__":
    main()
