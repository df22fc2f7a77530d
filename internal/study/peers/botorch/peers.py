#!/usr/bin/env python3
"""BoTorch on the tasks of a study, from the same starts and with the same noise.

    pip install -r internal/study/peers/botorch/requirements.txt
    python internal/study/peers/botorch/peers.py --study examples/studies/worth-asking.yaml --size full
    campaignd simulate examples/studies/worth-asking.yaml --size full

The first command beside the study's own campaigns appends to peers.jsonl in the study's folder, a line for
each campaign; interrupted, it goes on where it was. The second shows them among the ratios to each
task's baseline.

Models are BoTorch's own by default: SingleTaskGP on the unit cube with standardized results, noise known where
the study says that it is, else inferred; MixedSingleTaskGP where there are categories. Acquisition:

  BoTorch LogEI     the best so far is the greatest posterior mean where measurements are noisy, else the
                    best measurement
  BoTorch qLogNEI   q = 1, the results so far as the baseline
  BoTorch qLogNEI, four
                    four at once, one after the other chosen beside those that have no result yet

searched from 8 restarts of 256 samples; where a value or a category is to be chosen, by
optimize_acqf_mixed_alternating; in a mixture the samples are thinned less than by default, which would take half of
the time. On a table the rows that were not measured yet are compared, all of them. Nothing is tuned to any task.
"""

import argparse
import json
import os
import subprocess
import sys
import time
import warnings

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "..", "examples", "methods"))
try:
    import botorch
    import torch
    from botorch_method import Space  # the models and searches of the method of the same name
except ImportError as missing:
    sys.exit(f"peers.py: BoTorch is not installed ({missing}).\n"
             "Install it with: pip install -r internal/study/peers/botorch/requirements.txt")

ARMS = ["BoTorch LogEI", "BoTorch qLogNEI"]
BATCHES = {"BoTorch qLogNEI, four": 4}  # on demand, by --arms


class Starts:
    """The program internal/study/papers/starts, which knows the tasks and measures."""

    def __init__(self, command):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        about = self.read()
        self.tasks = {t["name"]: t for t in about["tasks"]}
        self.campaigns = []
        while (line := self.process.stdout.readline()).strip():
            self.campaigns.append(json.loads(line))

    def read(self):
        line = self.process.stdout.readline()
        if not line:
            sys.exit("peers.py: the starts ended early; what they said stands above")
        return json.loads(line)

    def measure(self, start, point, n):
        self.process.stdin.write(json.dumps({"start": start, "point": point, "experiment": n}) + "\n")
        self.process.stdin.flush()
        return self.read()


def campaign(starts, start, arm):
    """Runs a campaign from a start, and returns it as a line of the study's results."""
    task = starts.tasks[start["task"]]
    space, noise = Space(task), task["objective"].get("noise")
    sign = 1.0 if task["objective"]["goal"] == "maximize" else -1.0
    kind = "logei" if arm == "BoTorch LogEI" else "qlognei"
    torch.manual_seed(start["seed"])
    said, seconds = list(start["initial"]), [0.0] * len(start["initial"])
    course, total = [], 0.0

    def posterior():
        return space.posterior([s["point"] for s in said], [s["measured"] for s in said], task["objective"])

    recommended = [max(said[:i + 1], key=lambda s: sign * s["measured"])["regret"] for i in range(len(said))]
    while len(said) < task["experiments"]:
        began = time.perf_counter()
        x, y, model, mean = posterior()
        recommended[-1] = said[int(mean.argmax())]["regret"]
        acquisition = space.acquisition(kind, x, y, model, mean, noise)
        chosen = []
        for _ in range(min(BATCHES.get(arm, 1), task["experiments"] - len(said))):
            if chosen:
                acquisition.set_X_pending(torch.tensor(chosen, dtype=torch.double))
            chosen.append(space.search(acquisition, x.tolist() + chosen))
            seconds.append(time.perf_counter() - began)
            began = time.perf_counter()
        for point in map(space.decode, chosen):
            said.append(starts.measure(start["start"], point, len(said) + 1))
            said[-1]["point"] = point
            recommended.append(recommended[-1])
    _, _, _, mean = posterior()
    recommended[-1] = said[int(mean.argmax())]["regret"]
    best = None
    for i, s in enumerate(said):
        best = s if best is None or s["regret"] < best["regret"] else best
        total += s["regret"]
        course.append({"measured": s["measured"], "true": s["true"], "best": best["true"], "regret": best["regret"],
                       "cumulative": total, "recommended": recommended[i], "asked": 0})
    return {"key": f"{arm} {start['start']}", "task": start["task"], "arm": arm, "seed": start["seed"],
            "build": {"version": f"botorch {botorch.__version__}"}, "ended": "budget", "course": course, "seconds": seconds}


def whole_lines(path):
    """The results in a file, whose last line is removed where it was cut off."""
    if not os.path.exists(path):
        return []
    with open(path, "rb+") as file:
        data = file.read()
        file.truncate(data.rfind(b"\n") + 1)
    return [json.loads(line) for line in data[:data.rfind(b"\n") + 1].splitlines() if line]


def main():
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("--study", required=True, help="the study's file")
    args.add_argument("--size", default="-", help="one of its sizes")
    args.add_argument("--seeds", default="-", help="first-last, instead of the study's")
    args.add_argument("--out", help="the study's folder (default: as campaignd simulate has it)")
    args.add_argument("--tasks", help="these tasks alone, with commas between them")
    args.add_argument("--arms", default=";".join(ARMS), help="these arms alone, with semicolons between them")
    args.add_argument("--starts", default="go -C internal/study/papers run ./starts", help="the command of the starts")
    args = args.parse_args()
    arms = args.arms.split(";")
    if unknown := [arm for arm in arms if arm not in ARMS + list(BATCHES)]:
        sys.exit(f"peers.py: there is no arm {unknown[0]!r}; choose from {'; '.join(ARMS + list(BATCHES))}")
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    starts = Starts(args.starts.split() + [os.path.abspath(args.study), args.size, args.seeds])
    folder = args.out or args.study.removesuffix(".yaml") + ("" if args.size == "-" else "." + args.size) + ".study"
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, "peers.jsonl")
    done = {r["key"] for r in whole_lines(path)}
    todo = [(s, arm) for s in starts.campaigns for arm in arms
            if f"{arm} {s['start']}" not in done and (not args.tasks or s["task"] in args.tasks.split(","))]
    with open(path, "a", encoding="utf-8") as file:
        for i, (start, arm) in enumerate(todo):
            began = time.process_time()
            result = campaign(starts, start, arm)
            file.write(json.dumps(result, separators=(",", ":")) + "\n")
            file.flush()
            os.fsync(file.fileno())
            print(f"{i + 1} of {len(todo)}: {arm}, {start['task']}, seed {start['seed']}: "
                  f"regret {result['course'][-1]['regret']:.4g} in {time.process_time() - began:.0f} s of CPU", flush=True)


if __name__ == "__main__":
    main()
