"""BoTorch as a method: its models, its acquisition functions, its searches, with nothing tuned. See docs/process-method.md.

    pip install botorch==0.18.1
    campaignd run examples/methods/botorch.yaml

Models are SingleTaskGP on the unit cube with standardized results, noise known where the campaign says that it is, else
inferred; MixedSingleTaskGP where there are categories. `settings: {acquisition: …}` is

  logei     LogExpectedImprovement; the best so far is the greatest posterior mean where measurements are noisy, else the
            best measurement
  qlognei   qLogNoisyExpectedImprovement with the results so far as the baseline (the default), and what is under way as
            pending

searched from 8 restarts of 256 samples; where a value or a category is to be chosen, by
optimize_acqf_mixed_alternating. Of a list the compositions that were not tried yet are compared, all of them.
Before there are two results, any composition is as good as another.

With `settings: {seed: N}` the generator is seeded once, as a script would, and an audit does not have it answer again.
"""

import json
import sys
import warnings

import botorch
import torch
from botorch.acquisition import LogExpectedImprovement
from botorch.acquisition.logei import qLogNoisyExpectedImprovement
from botorch.fit import fit_gpytorch_mll
from botorch.models import MixedSingleTaskGP, SingleTaskGP
from botorch.optim import optimize_acqf, optimize_acqf_discrete, optimize_acqf_mixed_alternating
from botorch.utils.sampling import get_polytope_samples
from gpytorch.mlls import ExactMarginalLogLikelihood

RESTARTS, SAMPLES = 8, 256
POLYTOPE = {"n_burnin": 1000, "n_thinning": 16}
SCHEMA = {
    "type": "object",
    "properties": {"acquisition": {"enum": ["logei", "qlognei"]}, "seed": {"type": "integer", "minimum": 0}},
    "additionalProperties": False,
}


class Space:
    """The unit cube of a campaign: a number is its share of the range, a category its index."""

    def __init__(self, task):
        self.parameters = task["parameters"]
        self.values, self.categories, upper = {}, {}, []
        for i, p in enumerate(self.parameters):
            if p.get("categories"):
                self.categories[i] = [float(k) for k in range(len(p["categories"]))]
                upper.append(len(p["categories"]) - 1.0)
                continue
            if p.get("values"):
                p["min"], p["max"] = min(p["values"]), max(p["values"])
                self.values[i] = [self.share(p, v) for v in sorted(p["values"])]
            upper.append(1.0)
        self.bounds = torch.tensor([[0.0] * len(upper), upper], dtype=torch.double)
        self.rows = {tuple(self.encode(point)): point for point in task.get("candidates", [])}
        self.equalities = []
        for c in task.get("constraints", []):
            if "equals" not in c:
                raise ValueError("a constraint that is no equality is not supported here")
            terms = [(i, p, c["terms"][p["name"]]) for i, p in enumerate(self.parameters) if p["name"] in c["terms"]]
            self.equalities.append((
                torch.tensor([i for i, _, _ in terms]),
                torch.tensor([k * (p["max"] - p["min"]) for _, p, k in terms], dtype=torch.double),
                c["equals"] - sum(k * p["min"] for _, p, k in terms)))

    @staticmethod
    def share(p, value):
        return (value - p["min"]) / (p["max"] - p["min"])

    def encode(self, point):
        x = []
        for p in self.parameters:
            value = point[p["name"]]
            x.append(float([c["name"] for c in p["categories"]].index(value)) if p.get("categories")
                     else self.share(p, value))
        return x

    def decode(self, x):
        if self.rows:
            return self.rows[tuple(x)]
        point = {}
        for i, p in enumerate(self.parameters):
            if p.get("categories"):
                point[p["name"]] = p["categories"][round(x[i])]["name"]
            elif p.get("values"):
                point[p["name"]] = min(p["values"], key=lambda v: abs(self.share(p, v) - x[i]))
            else:
                point[p["name"]] = min(max(p["min"] + x[i] * (p["max"] - p["min"]), p["min"]), p["max"])
        return point

    def anywhere(self):
        if self.rows:
            return list(self.rows.values())[int(torch.randint(len(self.rows), (1,)))]
        x = self.bounds[0] + torch.rand(self.bounds.shape[1], dtype=torch.double) * (self.bounds[1] - self.bounds[0])
        if self.equalities:
            seed = int(torch.randint(2**31, (1,)))
            x = get_polytope_samples(1, self.bounds, equality_constraints=self.equalities, seed=seed)[0]
        return self.decode(x.tolist())

    def model(self, x, y, noise):
        variance = None if not noise else torch.full_like(y, noise**2)
        if self.categories:
            model = MixedSingleTaskGP(x, y, cat_dims=list(self.categories), train_Yvar=variance)
        else:
            model = SingleTaskGP(x, y, train_Yvar=variance)
        fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
        return model

    def posterior(self, points, values, objective):
        """The model of what was measured, with what it expects there; values are maximized."""
        sign = 1.0 if objective["goal"] == "maximize" else -1.0
        x = torch.tensor([self.encode(p) for p in points], dtype=torch.double)
        y = torch.tensor([[sign * v] for v in values], dtype=torch.double)
        model = self.model(x, y, objective.get("noise"))
        with torch.no_grad():
            mean = model.posterior(x).mean.squeeze(-1)
        return x, y, model, mean

    @staticmethod
    def acquisition(kind, x, y, model, mean, noise):
        if kind == "logei":
            return LogExpectedImprovement(model, best_f=mean.max() if noise else y.max())
        return qLogNoisyExpectedImprovement(model, X_baseline=x)

    def search(self, acquisition, measured):
        if self.rows:
            left = torch.tensor([row for row in self.rows if list(row) not in measured], dtype=torch.double)
            best, value = optimize_acqf_discrete(acquisition, q=1, choices=left)
        elif self.values or self.categories:
            best, value = optimize_acqf_mixed_alternating(
                acquisition, self.bounds, discrete_dims=self.values, cat_dims=self.categories,
                raw_samples=SAMPLES, num_restarts=RESTARTS)
        else:
            best, value = optimize_acqf(
                acquisition, self.bounds, q=1, num_restarts=RESTARTS, raw_samples=SAMPLES,
                equality_constraints=self.equalities or None, options=POLYTOPE if self.equalities else None)
        self.value = float(value)
        return best[0].tolist()


def propose(view, kind):
    space, objective = Space(view), view["objective"]
    results = [x for x in view["experiments"] if "value" in x]
    if len(results) < 2:
        return {"parameters": space.anywhere(), "reason": f"anywhere, with {len(results)} results"}
    x, y, model, mean = space.posterior([r["made"] for r in results], [r["value"] for r in results], objective)
    acquisition = space.acquisition(kind, x, y, model, mean, objective.get("noise"))
    pending = [space.encode(e["parameters"]) for e in view["under_way"]]
    if pending and kind == "qlognei":
        acquisition.set_X_pending(torch.tensor(pending, dtype=torch.double))
    taken = x.tolist() + pending
    if space.rows:  # what failed was tried, too
        taken += [space.encode(e["parameters"]) for e in view["experiments"]]
    best = space.search(acquisition, taken)
    return {"parameters": space.decode(best), "numbers": {"acquisition": space.value},
            "reason": f"{kind} on {len(results)} results"}


def main():
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    settings = {}
    for line in sys.stdin:
        ask = json.loads(line)
        reply = {"id": ask["id"]}
        try:
            if ask["op"] == "handshake":
                settings = ask["settings"]
                if "seed" in settings:
                    torch.manual_seed(settings["seed"])
                reply |= {"protocol": 1, "name": "botorch", "version": botorch.__version__,
                          "deterministic": "seed" not in settings, "settings_schema": SCHEMA}
            elif ask["op"] == "propose":
                if "seed" not in settings:
                    torch.manual_seed(ask["seed"])
                reply["proposal"] = propose(ask["view"], settings.get("acquisition", "qlognei"))
            else:
                reply["error"] = "it proposes, and nothing else"
        except Exception as trouble:  # whatever a library says: the campaign goes on by itself
            reply["error"] = f"{type(trouble).__name__}: {trouble}"
        print(json.dumps(reply, allow_nan=False), flush=True)


if __name__ == "__main__":
    main()
