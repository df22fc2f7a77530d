#!/usr/bin/env python3
"""Rivals on the tasks with several outcomes, from common starts and with common noise.

    pip install -r internal/study/peers/outcomes/requirements.txt
    OMP_NUM_THREADS=1 nice -n 19 python internal/study/peers/outcomes/outcomes.py

Runs whole campaigns in the order of SCHEDULE and appends a line for each to courses.jsonl in this folder;
interrupted, it goes on where it was. README.md says what a line has, how the starts and the noise are made, and what
has been run. Nothing is tuned to any task. The arms:

  qLogNEHVI    BoTorch: a SingleTaskGP for each quantity with its default priors, the noise known where there is
               some, else inferred; the task's reference point; 128 samples, 10 restarts of 512 points, as in BoTorch's
               tutorials. A known quantity is a deterministic model.
  Sobol        goes on with the sequence of the start
  BayBE        its ParetoObjective with everything else by default; it has no constraints on outcomes
  Ax           its Client with everything by default, so that it infers a reference point; the noise as the standard
               error of each result
  qLogNParEGO  BoTorch, otherwise as qLogNEHVI
  qLogNEI      BoTorch, where one number that is computed of the quantities is sought: models of the quantities as in
               qLogNEHVI, the number of their samples
  qLogNEI-mono BoTorch, one SingleTaskGP of the computed numbers

Further commands: --starts writes starts.jsonl anew, --summary prints means of what courses.jsonl has, --decisions times
single suggestions, and --arms, --tasks and --seeds run campaigns out of the order.
"""

import argparse
import hashlib
import importlib.metadata
import json
import logging
import math
import os
import resource
import statistics
import sys
import time
import warnings

try:
    import torch
    from botorch.acquisition.multi_objective import logei
    from botorch.acquisition.multi_objective.logei import qLogNoisyExpectedHypervolumeImprovement
    from botorch.acquisition.multi_objective.objective import WeightedMCMultiOutputObjective
    from botorch.acquisition.logei import qLogNoisyExpectedImprovement
    from botorch.acquisition.multi_objective.parego import qLogNParEGO
    from botorch.acquisition.objective import GenericMCObjective
    from botorch.fit import fit_gpytorch_mll
    from botorch.models import ModelList, ModelListGP, SingleTaskGP
    from botorch.models.deterministic import GenericDeterministicModel
    from botorch.optim import optimize_acqf
    from botorch.sampling.get_sampler import get_sampler
    from botorch.test_functions import multi_objective as problems
    from botorch.utils.multi_objective.hypervolume import Hypervolume
    from gpytorch.mlls import ExactMarginalLogLikelihood
    from torch.quasirandom import SobolEngine
except ImportError as missing:
    sys.exit(f"outcomes.py: BoTorch is not installed ({missing}).\n"
             "Install it with: pip install -r internal/study/peers/outcomes/requirements.txt")

# BoTorch would compile a C++ kernel at first use, for minutes on a busy machine. It finds the same points with it, in
# 5 to 25 % less time a suggestion.
logei._load_attempted = True

HERE = os.path.dirname(os.path.abspath(__file__))
RESTARTS, RAW, SAMPLES = 10, 512, 128
DIGITS = 10  # of a point's coordinates after the point, and significant ones of every other number


class Electrolyte:
    """Conductivity, viscosity and price of LiPF6 in EC, DMC and EMC, as internal/study/tasks has them."""

    bounds = torch.tensor([[0.2, 0.3, 0.0], [2.1, 0.52, 1.0]], dtype=torch.double)
    maximized = [True, False, False]
    ref_point = [6.0, 8.0, 5.0]
    max_hv = 93.622415217617

    @staticmethod
    def price(x):
        m, w, r = x.unbind(-1)
        return (30 * 0.15191 * m + 1.5 * w + (1 - w) * (r + 2 * (1 - r))) / (1 + 0.15191 * m)

    def evaluate_true(self, x):
        m, w, r = x.unbind(-1)
        e, d = w - 0.4, r - 0.5
        kmax = 11.66399 - 0.67469 * e + 3.40934 * d - 27.24876 * e**2 - 5.13445 * e * d + 1.36066 * d**2
        mmax = 1.01424 - 0.43794 * e + 0.13766 * d
        u = m - mmax
        conductivity = kmax * (m / mmax)**0.92615 * torch.exp(-0.14833 * u**2 - 0.92615 / mmax * u)
        solvent = w * math.log(2.2) + (1 - w) * (r * math.log(0.59) + (1 - r) * math.log(0.65))
        viscosity = torch.exp(solvent + 0.95 * m + 0.12 * m**2)
        return torch.stack([conductivity, viscosity, self.price(x)], dim=-1)


class Task:
    """A problem with noise and a budget. Points are in the unit cube, results in the problem's own units."""

    def __init__(self, problem, initial, further, seeds, sd=None, relative=None, known=None, reference=None, best=None,
                 whole=None, slack=None):
        """sd has a standard deviation for each quantity, relative a share of its value instead of it; known has the
        function of a quantity, by its index, that is not measured. reference and best replace the problem's. whole is
        a number, computed of the quantities, that is sought in place of the front, the greater the better; then best is
        its greatest value, and its greatest value so far is called the hypervolume. slack is at least 0
        where the quantities keep what is required with it; elsewhere the whole counts as 0."""
        self.problem, self.initial, self.experiments, self.seeds = problem, initial, initial + further, seeds
        self.lower, self.upper = problem.bounds
        self.dim = len(self.lower)
        self.reference = reference or [float(r) for r in problem.ref_point]
        self.best = best or problem.max_hv
        self.objectives = len(self.reference)
        self.constraints = getattr(problem, "num_constraints", 0)
        self.quantities = self.objectives + self.constraints
        maximized = getattr(problem, "maximized", [False] * self.objectives)
        # Quantities times sign are to be great; a slack is feasible from 0 on.
        self.sign = torch.tensor([1.0 if m else -1.0 for m in maximized] + [1.0] * self.constraints, dtype=torch.double)
        self.sd, self.relative, self.known = sd, relative or {}, known or {}
        self.whole, self.slack = whole, slack

    def at(self, unit):
        return self.lower + unit * (self.upper - self.lower)

    def values(self, unit):
        """The noiseless quantities at each row of unit: the objectives, then the constraints' slacks."""
        x = self.at(unit)
        y = self.problem.evaluate_true(x)
        if self.constraints:
            y = torch.cat([y, self.problem.evaluate_slack_true(x)], dim=-1)
        return y

    def spread(self, value, k):
        return self.relative[k] * abs(value) if k in self.relative else self.sd[k]

    def measured(self, name, seed, n, values):
        """What experiment n, counted from 1, reports where the truth is values."""
        if self.sd is None:
            return list(values)
        return [v + self.spread(v, k) * deviate(name, seed, n, k + 1) for k, v in enumerate(values)]

    def noise(self, measured, k):
        """The standard deviation of each result of a quantity as an optimizer is given it; None where there is none."""
        if self.sd is None or (k not in self.relative and not self.sd[k]):
            return None
        return [self.spread(row[k], k) for row in measured]

    def hypervolume(self, values):
        """The hypervolume of the feasible ones among the noiseless values; or the greatest value of the whole."""
        if self.whole:
            whole = self.whole(values)
            return max(0.0, (torch.where(self.slack(values) >= 0, whole, 0.0) if self.slack else whole).max().item())
        values = values[(values[:, self.objectives:] >= 0).all(dim=-1)] * self.sign
        reference = torch.tensor(self.reference, dtype=torch.double) * self.sign[:self.objectives]
        return Hypervolume(ref_point=reference).compute(front(values[:, :self.objectives], reference))


def front(y, reference):
    """Those of the rows beyond the reference that no other dominates, each once."""
    y = torch.unique(y[(y > reference).all(dim=-1)], dim=0)
    worse = (y.unsqueeze(0) >= y.unsqueeze(1)).all(dim=-1).sum(dim=1) > 1  # each is at least as good as itself
    return y[~worse]


def deviate(task, seed, n, k):
    """The standard normal deviate of quantity k of experiment n: the quantile of a uniform number by SHA-256."""
    bits = int.from_bytes(hashlib.sha256(f"{task} {seed} {n} {k}".encode()).digest()[:8], "big") >> 11
    return statistics.NormalDist().inv_cdf((bits + 0.5) / 2**53)


def fluidity(y, least=0.0):
    """A conductivity that counts less where the electrolyte is viscous. What is below least counts as least."""
    return y[..., 0] / y[..., 1].clamp_min(least).sqrt()


def desirable(y, least=0.0):
    """Conductivity from 6 to 14 mS/cm weighs twice, viscosity from 5 to 1 mPa·s and price from 5 to 2 EUR/kg once."""
    ends = ((6, 14), (5, 1), (5, 2))
    share = [((y[..., k] - start) / (end - start)).clamp(least, 1) for k, (start, end) in enumerate(ends)]
    return (share[0]**2 * share[1] * share[2])**0.25


def whole(function, best, slack=None):
    """A task that seeks one number of the electrolyte's noisy quantities."""
    return Task(Electrolyte(), 8, 25, 60, sd=[0.14, 0.0, 0.0], relative={1: 0.02}, known={2: Electrolyte.price},
                whole=function, best=best, slack=slack)


# The order of the tasks, which was chosen before anything was run. The names are those of internal/study/tasks, with -noisy
# where the noise is not of the problem's own.
TASKS = {
    "branin-currin": Task(problems.BraninCurrin(), 10, 30, 30),
    "dtlz2-2": Task(problems.DTLZ2(dim=6, num_objectives=2), 14, 50, 30),
    "electrolyte": Task(Electrolyte(), 8, 30, 60, sd=[0.14, 0.0, 0.0], relative={1: 0.02}, known={2: Electrolyte.price}),
    # 1 % of each quantity's range.
    "vehicle-safety": Task(problems.VehicleSafety(), 12, 40, 30, sd=[0.4285, 0.0557, 0.00225]),
    "penicillin": Task(problems.Penicillin(), 16, 60, 20),
    "c2-dtlz2": Task(problems.C2DTLZ2(dim=4, num_objectives=2), 10, 30, 30),
    "constrained-branin-currin": Task(problems.ConstrainedBraninCurrin(), 10, 30, 30),
    "branin-currin-noisy": Task(problems.BraninCurrin(), 10, 30, 30, sd=[15.19, 0.63]),
    "dtlz2-2-noisy": Task(problems.DTLZ2(dim=6, num_objectives=2), 14, 50, 30, sd=[0.05] * 2),
    # BoTorch's reference point, (11, 11), hides every difference.
    "zdt1": Task(problems.ZDT1(dim=6), 14, 50, 20, reference=[1.1, 1.1], best=0.8766666666666667),
    "zdt3": Task(problems.ZDT3(dim=6), 14, 50, 20, reference=[1.1, 1.1], best=1.331762908657020),
    "dtlz2-3": Task(problems.DTLZ2(dim=6, num_objectives=3), 14, 50, 30),
    "dtlz2-3-noisy": Task(problems.DTLZ2(dim=6, num_objectives=3), 14, 50, 30, sd=[0.05] * 3),
    "car-side-impact": Task(problems.CarSideImpact(), 16, 50, 20),
    "dtlz2-4": Task(problems.DTLZ2(dim=6, num_objectives=4), 14, 50, 30),
    "dtlz2-4-noisy": Task(problems.DTLZ2(dim=6, num_objectives=4), 14, 50, 30, sd=[0.05] * 4),
    "electrolyte-formula": whole(fluidity, 9.117632289240005),
    "electrolyte-desirability": whole(desirable, 0.6564024138040215),
    "electrolyte-thin": whole(lambda y, least=0: y[..., 0], 7.537269406235588, lambda y: 1.2 - y[..., 1]),
    "electrolyte-conducting": whole(lambda y, least=0: 5 - y[..., 1], 3.0182613294337566, lambda y: y[..., 0] - 12.8),
}


# An arm's ask takes the points so far and what was measured there, and returns a point, the processor seconds of the fit
# and those of the search; an arm that cannot separate the two says 0 and all.


class BoTorch:

    packages = ["gpytorch"]

    def __init__(self, task, acquisition):
        self.task, self.acquisition = task, acquisition

    def models(self, x, measured):
        for k in range(self.task.quantities):
            if k in self.task.known:
                yield GenericDeterministicModel(lambda u, f=self.task.known[k]: f(self.task.at(u)).unsqueeze(-1))
                continue
            y = torch.tensor([[row[k]] for row in measured], dtype=torch.double)
            noise = self.task.noise(measured, k)
            variance = None if noise is None else torch.tensor(noise, dtype=torch.double).square().unsqueeze(-1)
            model = SingleTaskGP(x, y, train_Yvar=variance)
            fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
            yield model

    def ask(self, points, measured):
        task, began = self.task, time.process_time()
        x = torch.tensor(points, dtype=torch.double)
        models = list(self.models(x, measured))
        model = ModelList(*models) if task.known else ModelListGP(*models)
        fitted = time.process_time()
        sign = task.sign[:task.objectives]
        objective = WeightedMCMultiOutputObjective(weights=sign, outcomes=list(range(task.objectives)))
        constraints = [lambda samples, k=k: -samples[..., k] for k in range(task.objectives, task.quantities)] or None
        common = {"model": model, "X_baseline": x, "objective": objective, "constraints": constraints,
                  "sampler": get_sampler(model.posterior(x[:1]), torch.Size([SAMPLES])), "prune_baseline": True}
        if self.acquisition == "qLogNEHVI":
            reference = torch.tensor(task.reference, dtype=torch.double) * sign
            acquisition = qLogNoisyExpectedHypervolumeImprovement(ref_point=reference, **common)
        else:
            acquisition = qLogNParEGO(**common)
        return searched(acquisition, task.dim), fitted - began, time.process_time() - fitted


class Whole(BoTorch):
    """Seeks the number that is computed of the quantities, by their models or, mono, by a model of its values."""

    def __init__(self, task, mono):
        self.task, self.mono = task, mono

    def ask(self, points, measured):
        task, began = self.task, time.process_time()
        x, objective = torch.tensor(points, dtype=torch.double), None
        if self.mono:
            y = task.whole(torch.tensor(measured, dtype=torch.double)).unsqueeze(-1)
            model = SingleTaskGP(x, y)
            fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
        else:
            model = ModelList(*self.models(x, measured))
            objective = GenericMCObjective(lambda samples, X=None: task.whole(samples, 1e-6))  # roots have no slope at 0
        fitted = time.process_time()
        constraints = [lambda samples: -task.slack(samples)] if task.slack else None
        acquisition = qLogNoisyExpectedImprovement(
            model, x, objective=objective, constraints=constraints, sampler=get_sampler(model.posterior(x[:1]), torch.Size([SAMPLES])),
            prune_baseline=True)
        return searched(acquisition, task.dim), fitted - began, time.process_time() - fitted


def searched(acquisition, dim):
    """Where an acquisition function is greatest in the unit cube, with the effort of BoTorch's tutorials."""
    best, _ = optimize_acqf(
        acquisition, torch.tensor([[0.0] * dim, [1.0] * dim], dtype=torch.double), q=1,
        num_restarts=RESTARTS, raw_samples=RAW, options={"batch_limit": 5, "maxiter": 200})
    return best[0].tolist()


class Sobol:
    packages = []

    def __init__(self, task, seed):
        self.points = sobol(task.dim, seed, task.experiments)

    def ask(self, points, measured):
        return self.points[len(points)], 0.0, 0.0


class Ax:
    packages = ["ax-platform"]

    def __init__(self, task, seed):
        from ax.api.client import Client
        from ax.api.configs import RangeParameterConfig
        self.task = task
        self.names = [f"x{i + 1}" for i in range(task.dim)]
        self.quantities = [f"y{k + 1}" for k in range(task.quantities)]
        self.client = Client(random_seed=seed)
        self.client.configure_experiment([
            RangeParameterConfig(name=name, bounds=(0.0, 1.0), parameter_type="float") for name in self.names])
        self.client.configure_optimization(
            objective=", ".join(("" if task.sign[k] > 0 else "-") + self.quantities[k] for k in range(task.objectives)),
            outcome_constraints=[f"{q} >= 0" for q in self.quantities[task.objectives:]] or None)
        self.client.configure_generation_strategy(
            initialization_budget=task.initial, initialize_with_center=False, initialization_random_seed=seed)
        self.reported, self.trial = 0, None

    def ask(self, points, measured):
        began = time.process_time()
        while self.reported < len(points):
            n, parameters = self.reported, dict(zip(self.names, points[self.reported]))
            trial = self.client.attach_trial(parameters) if self.trial is None else self.trial
            result = {}
            for k, q in enumerate(self.quantities):
                noise = self.task.noise(measured[n:n + 1], k)
                known = k in self.task.known or self.task.sd is not None and noise is None
                result[q] = (measured[n][k], noise[0] if noise else 0.0) if noise or known else measured[n][k]
            self.client.complete_trial(trial, raw_data=result)
            self.reported, self.trial = n + 1, None
        (self.trial, parameters), = self.client.get_next_trials(max_trials=1).items()
        return [parameters[name] for name in self.names], 0.0, time.process_time() - began


class BayBE:
    packages = ["baybe"]

    def __init__(self, task, seed):
        from baybe import Campaign
        from baybe.objectives import ParetoObjective
        from baybe.parameters import NumericalContinuousParameter
        from baybe.searchspace import SearchSpace
        from baybe.targets import NumericalTarget
        from baybe.utils.random import set_random_seed
        import pandas
        set_random_seed(seed)
        self.frame = pandas.DataFrame
        self.names = [f"x{i + 1}" for i in range(task.dim)]
        self.quantities = [f"y{k + 1}" for k in range(task.objectives)]
        targets = [NumericalTarget(q, minimize=bool(task.sign[k] < 0)) for k, q in enumerate(self.quantities)]
        space = SearchSpace.from_product([NumericalContinuousParameter(name, (0.0, 1.0)) for name in self.names])
        self.campaign = Campaign(space, ParetoObjective(targets))
        self.reported = 0

    def ask(self, points, measured):
        began = time.process_time()
        rows = [p + list(m) for p, m in zip(points[self.reported:], measured[self.reported:])]
        self.campaign.add_measurements(self.frame(rows, columns=self.names + self.quantities))
        self.reported = len(points)
        point = self.campaign.recommend(1)[self.names].iloc[0].tolist()
        return point, 0.0, time.process_time() - began


ARMS = {
    "qLogNEHVI": lambda task, seed: BoTorch(task, "qLogNEHVI"),
    "Sobol": Sobol,
    "BayBE": BayBE,
    "Ax": Ax,
    "qLogNParEGO": lambda task, seed: BoTorch(task, "qLogNParEGO"),
    "qLogNEI": lambda task, seed: Whole(task, mono=False),
    "qLogNEI-mono": lambda task, seed: Whole(task, mono=True),
}


def runs(arm, task):
    """Whether an arm can seek what a task seeks."""
    if task.whole:
        return arm in ("Sobol", "qLogNEI") or arm == "qLogNEI-mono" and not task.slack
    return not arm.startswith("qLogNEI") and not (arm == "BayBE" and task.constraints)


# What is run, from the top: arms, tasks and seeds up to one. The first rounds are short, so that a run that is cut off
# has a little of everything; the last is the whole.
FIRST = ["qLogNEHVI", "qLogNEI", "Sobol"]
OTHERS = ["BayBE", "Ax", "qLogNParEGO"]
SCHEDULE = [
    (FIRST, ["branin-currin", "dtlz2-2", "electrolyte"], 6),
    (OTHERS, ["branin-currin"], 6),
    (FIRST, ["vehicle-safety", "c2-dtlz2"], 6),
    (OTHERS, ["electrolyte", "dtlz2-2"], 6),
    (list(ARMS), list(TASKS), 6),
    (list(ARMS), list(TASKS), 60),
]


def rounded(points):
    return [[round(v, DIGITS) + 0.0 for v in row] for row in points.tolist()]


def significant(value):
    return float(f"{value:.{DIGITS}g}")


def sobol(dim, seed, n):
    """The first n points of the scrambled Sobol sequence of a seed."""
    return rounded(SobolEngine(dim, scramble=True, seed=seed).draw(n))


def starts():
    """The starts by dimension and seed."""
    with open(os.path.join(HERE, "starts.jsonl"), encoding="utf-8") as file:
        lines = [json.loads(line) for line in file]
    return {(line["dimension"], line["seed"]): line["points"] for line in lines}


def write_starts():
    """Writes for each dimension as many points and seeds as its tasks need."""
    with open(os.path.join(HERE, "starts.jsonl"), "w", encoding="utf-8") as file:
        for dim in sorted({task.dim for task in TASKS.values()}):
            tasks = [task for task in TASKS.values() if task.dim == dim]
            for seed in range(1, max(task.seeds for task in tasks) + 1):
                points = sobol(dim, seed, max(task.initial for task in tasks))
                print(json.dumps({"dimension": dim, "seed": seed, "points": points}, separators=(",", ":")), file=file)


def campaign(name, arm, seed, start):
    """Runs a campaign, and returns it as a line of courses.jsonl."""
    task = TASKS[name]
    torch.manual_seed(seed)
    optimizer = ARMS[arm](task, seed)
    points, truth, measured, fits, searches = [], [], [], [], []
    for n in range(1, task.experiments + 1):
        if n <= task.initial:
            point = start[n - 1]
        else:
            point, fit, search = optimizer.ask(points, measured)
            point = [min(max(round(float(v), DIGITS), 0.0), 1.0) for v in point]
            fits.append(fit)
            searches.append(search)
        points.append(point)
        truth.append(task.values(torch.tensor([point]))[0].tolist())
        measured.append(task.measured(name, seed, n, truth[-1]))
    volumes = [task.hypervolume(torch.tensor(truth[:n])) for n in range(task.initial, task.experiments + 1)]
    line = {
        "task": name, "arm": arm, "seed": seed, "initial": task.initial, "reference": task.reference,
        "points": points, "values": [[significant(v) for v in row] for row in truth],
    }
    if task.sd is not None:
        line["measured"] = [[significant(v) for v in row] for row in measured]
    line["hypervolume"] = [significant(v) for v in volumes]
    line["log10_difference"] = round(math.log10(task.best - volumes[-1]), 6)
    if any(fits):
        line["fit_s"] = [round(s, 3) for s in fits]
    if any(searches):
        line["search_s"] = [round(s, 3) for s in searches]
    packages = ["botorch", "torch"] + optimizer.packages
    line["versions"] = {package: importlib.metadata.version(package) for package in packages}
    return line


def courses(path):
    """The whole lines of a file; whatever follows the last one was cut off."""
    if not os.path.exists(path):
        return []
    with open(path, "rb") as file:
        return [json.loads(line) for line in file if line.endswith(b"\n")]


def without_rest(path):
    """Removes what follows the last whole line of a file."""
    if os.path.exists(path):
        with open(path, "rb+") as file:
            file.truncate(file.read().rfind(b"\n") + 1)


def planned(arms, tasks, seeds):
    """The campaigns of the schedule, each once; or those of the arms, tasks and seeds given instead."""
    first, schedule = 1, SCHEDULE
    if arms or tasks or seeds:
        first, last = map(int, (seeds or "1-60").split("-"))
        schedule = [(arms.split(",") if arms else list(ARMS), tasks.split(",") if tasks else list(TASKS), last)]
    return list(dict.fromkeys(
        (name, arm, seed)
        for of, names, last in schedule for name in names for arm in of
        if runs(arm, TASKS[name])
        for seed in range(first, min(last, TASKS[name].seeds) + 1)))


def summary(lines):
    """Prints a table of the final log10 differences, mean ± standard error, and of what a suggestion takes."""
    print("| task | arm | campaigns | log₁₀ difference at the end | mean along the campaign | seconds a suggestion |")
    print("|---|---|---|---|---|---|")
    for name, task in TASKS.items():
        for arm in ARMS:
            of = [line for line in lines if (line["task"], line["arm"]) == (name, arm)]
            if not of:
                continue
            final = [line["log10_difference"] for line in of]
            along = [math.log10(task.best - volume) for line in of for volume in line["hypervolume"]]
            error = f" ± {statistics.stdev(final) / math.sqrt(len(final)):.3f}" if len(final) > 1 else ""
            fit, search = (sum(sum(line.get(s, [])) for line in of) / len(of) / (task.experiments - task.initial)
                           for s in ("fit_s", "search_s"))
            seconds = "–" if not search else f"{fit:.2f} + {search:.2f}" if fit else f"{search:.2f}"
            print(f"| {name} | {arm} | {len(of)} | {statistics.mean(final):.3f}{error} | "
                  f"{statistics.mean(along):.3f} | {seconds} |")


def half_near_the_front(n, m):
    """The points of BenchmarkTradeoff in internal/study/papers/outcomes."""
    points = []
    for i in range(n):
        x = [math.modf((i + 1) * math.sqrt(prime))[0] for prime in (2, 3, 5, 7, 11, 13)]
        points.append(x if i % 2 == 0 else x[:m - 1] + [0.5 + (v - 0.5) / 10 for v in x[m - 1:]])
    return points


def decisions():
    """Prints what a suggestion of qLogNEHVI takes on the measurements of BenchmarkTradeoff."""
    print("| n | m | fit, s | search, s | peak of memory, MB |")
    print("|---|---|---|---|---|")
    for n, m in ((50, 2), (100, 2), (100, 3), (200, 3), (100, 4)):
        task, points = TASKS[f"dtlz2-{m}"], half_near_the_front(n, m)
        torch.manual_seed(1)
        _, fit, search = ARMS["qLogNEHVI"](task, 1).ask(points, task.values(torch.tensor(points)).tolist())
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(f"| {n} | {m} | {fit:.2f} | {search:.1f} | {memory:.0f} |", flush=True)


def main():
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("--arms", help="these arms, with commas between them, in place of the schedule")
    args.add_argument("--tasks", help="these tasks, with commas between them, in place of the schedule")
    args.add_argument("--seeds", help="first-last, in place of the schedule")
    args.add_argument("--out", default=os.path.join(HERE, "courses.jsonl"), help="the file to append to")
    args.add_argument("--starts", action="store_true", help="write starts.jsonl anew, and end")
    args.add_argument("--decisions", action="store_true", help="time single suggestions, and end")
    args.add_argument("--summary", action="store_true", help="print means of what there is, and end")
    args = args.parse_args()
    warnings.filterwarnings("ignore")
    logging.disable(logging.WARNING)
    torch.set_num_threads(1)
    torch.set_default_dtype(torch.double)
    if args.starts:
        return write_starts()
    if args.decisions:
        return decisions()
    lines = courses(args.out)
    if args.summary:
        return summary(lines)
    without_rest(args.out)
    done = {(line["task"], line["arm"], line["seed"]) for line in lines}
    todo = [key for key in planned(args.arms, args.tasks, args.seeds) if key not in done]
    begin = starts()
    for i, (name, arm, seed) in enumerate(todo):
        began = time.process_time()
        task = TASKS[name]
        line = campaign(name, arm, seed, begin[task.dim, seed][:task.initial])
        # Opened for each line: git may put another file in its place in the meantime.
        with open(args.out, "a", encoding="utf-8") as file:
            file.write(json.dumps(line, separators=(",", ":")) + "\n")
            file.flush()
            os.fsync(file.fileno())
        print(f"{i + 1} of {len(todo)}: {name}, {arm}, seed {seed}: log10 difference "
              f"{line['log10_difference']:.3f} in {time.process_time() - began:.0f} s of CPU", flush=True)


if __name__ == "__main__":
    main()
