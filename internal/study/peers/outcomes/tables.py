#!/usr/bin/env python3
"""BoTorch on the published tables with several quantities, whose rows are the only compositions.

    go -C internal/study/papers run ./outcomes/fronts -problems -seeds 10 $PWD/examples/studies/fronts/*.yaml |
        OMP_NUM_THREADS=1 nice -n 19 python -W ignore internal/study/peers/outcomes/tables.py

Appends a line for each campaign to tables.jsonl in this folder: which rows were measured, in order; interrupted, it goes
on where it was. The arm is qLogNEHVI as in BoTorch's tutorials: a SingleTaskGP for each quantity with its default priors,
numbers scaled to the unit cube, a category as one number for each of its values (one-hot), the reference point inferred
by BoTorch's rule, 128 samples, and the greatest value over all rows that have not been measured.
"""

import json
import logging
import os
import sys
import time
import warnings

import torch
from botorch.acquisition.multi_objective import logei
from botorch.acquisition.multi_objective.logei import qLogNoisyExpectedHypervolumeImprovement
from botorch.fit import fit_gpytorch_mll
from botorch.models import ModelListGP, SingleTaskGP
from botorch.sampling.get_sampler import get_sampler
from botorch.utils.multi_objective.hypervolume import infer_reference_point
from botorch.utils.multi_objective.pareto import is_non_dominated
from gpytorch.mlls import ExactMarginalLogLikelihood

logei._load_attempted = True  # no C++ kernel: the same points, and no compiler

OUT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "tables.jsonl")
AT_ONCE = 256  # rows whose acquisition is computed together


def encoded(problem):
    """The rows in the unit cube."""
    columns = []
    for parameter in problem["parameters"]:
        values = [row[parameter["name"]] for row in problem["rows"]]
        if parameter.get("categories"):
            columns += [[float(v == category) for v in values] for category in parameter["categories"]]
        else:
            least, greatest = min(values), max(values)
            columns.append([(v - least) / (greatest - least) for v in values])
    return torch.tensor(columns).T.contiguous()


def suggest(x, y, measured):
    """The row to measure next."""
    at = torch.tensor(measured)
    models = []
    for k in range(y.shape[1]):
        model = SingleTaskGP(x[at], y[at, k:k + 1])
        fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
        models.append(model)
    model = ModelListGP(*models)
    acquisition = qLogNoisyExpectedHypervolumeImprovement(
        model, ref_point=infer_reference_point(y[at][is_non_dominated(y[at])]), X_baseline=x[at],
        sampler=get_sampler(model.posterior(x[:1]), torch.Size([128])), prune_baseline=True)
    with torch.no_grad():
        values = torch.cat([acquisition(rows.unsqueeze(1)) for rows in x.split(AT_ONCE)])
    values[at] = -torch.inf
    return int(values.argmax())


def main():
    warnings.filterwarnings("ignore")
    logging.disable(logging.WARNING)
    torch.set_num_threads(1)
    torch.set_default_dtype(torch.double)
    done = set()
    if os.path.exists(OUT):
        with open(OUT, encoding="utf-8") as file:
            done = {(line["table"], line["seed"]) for line in map(json.loads, file)}
    for problem in map(json.loads, sys.stdin):
        x, y = encoded(problem), torch.tensor(problem["scores"])
        for seed, rows in enumerate(problem["starts"], 1):
            if (problem["table"], seed) in done:
                continue
            began = time.process_time()
            torch.manual_seed(seed)
            while len(rows) < problem["experiments"]:
                rows.append(suggest(x, y, rows))
            line = {"table": problem["table"], "arm": "qLogNEHVI", "seed": seed, "rows": rows}
            with open(OUT, "a", encoding="utf-8") as file:
                file.write(json.dumps(line, separators=(",", ":")) + "\n")
            print(f"{problem['table']}, seed {seed}: {time.process_time() - began:.0f} s of CPU", flush=True)


if __name__ == "__main__":
    main()
