#!/usr/bin/env python3
"""BoTorch's EUBO where examples/studies/eubo.yaml has ours: Hartmann's functions by comparisons alone.

    pip install -r internal/study/peers/botorch/requirements.txt
    python internal/study/peers/botorch/eubo.py --noise 1 --seeds 46001-46024

PairwiseGP with Normalize, fitted by its Laplace likelihood, and qExpectedUtilityOfBestOption from 8 restarts of 256
samples, as in BoTorch's tutorial: 8 comparisons of Sobol pairs and 60 further ones, each side seen with normal noise.
Prints the regret of the compared composition with the greatest posterior mean, a line for each campaign, and their mean ±
standard error.
"""

import argparse
import math
import statistics
import sys
import warnings

try:
    import torch
    from botorch.acquisition.preference import qExpectedUtilityOfBestOption
    from botorch.fit import fit_gpytorch_mll
    from botorch.models.pairwise_gp import PairwiseGP, PairwiseLaplaceMarginalLogLikelihood
    from botorch.models.transforms import Normalize
    from botorch.optim import optimize_acqf
    from botorch.test_functions import Hartmann
except ImportError as missing:
    sys.exit(f"eubo.py: BoTorch is not installed ({missing}).\n"
             "Install it with: pip install -r internal/study/peers/botorch/requirements.txt")

INITIAL, FURTHER = 8, 60
RESTARTS, SAMPLES = 8, 256


def campaign(dim, noise, seed):
    """Returns the regret of what is named best at the end."""
    torch.manual_seed(seed)
    task = Hartmann(dim=dim, negate=True, dtype=torch.double)
    bounds = torch.stack([torch.zeros(dim), torch.ones(dim)]).double()
    x = torch.quasirandom.SobolEngine(dim, scramble=True, seed=seed).draw(2 * INITIAL).double()
    said = []

    def compare(i, j):
        seen = task(x[[i, j]]) + noise * torch.randn(2, dtype=torch.double)
        said.append([i, j] if seen[0] >= seen[1] else [j, i])

    def fit():
        model = PairwiseGP(x, torch.tensor(said), input_transform=Normalize(d=dim))
        fit_gpytorch_mll(PairwiseLaplaceMarginalLogLikelihood(model.likelihood, model))
        return model

    for k in range(INITIAL):
        compare(2 * k, 2 * k + 1)
    for _ in range(FURTHER):
        acquisition = qExpectedUtilityOfBestOption(pref_model=fit())
        pair, _ = optimize_acqf(acquisition, bounds, q=2, num_restarts=RESTARTS, raw_samples=SAMPLES)
        x = torch.cat([x, pair])
        compare(len(x) - 2, len(x) - 1)
    model = fit()
    with torch.no_grad():
        best = x[model.posterior(x).mean.squeeze(-1).argmax()]
    return task.optimal_value - task(best).item()


def main():
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("--noise", type=float, required=True, help="standard deviation of each side")
    args.add_argument("--seeds", required=True, help="first-last")
    args.add_argument("--dims", default="3,6", help="of Hartmann's functions")
    args = args.parse_args()
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    first, last = map(int, args.seeds.split("-"))
    for dim in map(int, args.dims.split(",")):
        regrets = []
        for seed in range(first, last + 1):
            regrets.append(campaign(dim, args.noise, seed))
            print(f"hartmann{dim}, seed {seed}: {regrets[-1]:.4g}", flush=True)
        error = statistics.stdev(regrets) / math.sqrt(len(regrets)) if len(regrets) > 1 else math.nan
        print(f"hartmann{dim}: {statistics.mean(regrets):.3g} ± {error:.2g} over {len(regrets)} seeds", flush=True)


if __name__ == "__main__":
    main()
