#!/usr/bin/env python3
"""A cycler with simulated cells: the device behind battery.yaml. It goes on by itself, whoever listens.

    pip install pybamm
    python3 battery_cycler.py CELLS [--acts FILE]

Each folder CELLS/NAME is a cell on test: request.json is what it was handed over with, progress.json how far it is,
result.json how it ended. The cycler begins a folder once in its life; what was under way when it was killed has ended.
"""

import argparse
import csv
import json
import os
import sys
import time
from pathlib import Path

import pybamm  # once: each cell is a fork of this process


def write(path, content, anew=False):
    """Whole or not at all. A result is never replaced."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    draft.write_text(json.dumps(content))
    if anew:
        draft.replace(path)
        return
    try:
        os.link(draft, path)
    except FileExistsError:
        pass
    draft.unlink()


class Ended(Exception):
    """The cell is taken off: it was stopped, or the cycler is gone."""


class Progress(pybamm.callbacks.Callback):
    def __init__(self, cell, cycler):
        self.cell, self.cycler, self.cycle = cell, cycler, 0

    def on_step_end(self, logs):
        if os.getppid() != self.cycler:
            os._exit(1)
        if (self.cell / "stop").exists():
            raise Ended(f"it was stopped in cycle {self.cycle + 1}")

    def on_cycle_end(self, logs):
        self.cycle, cycles = logs["cycle number"]
        days = float(logs["experiment time"]) / 86400
        write(self.cell / "progress.json", {"cycle": self.cycle, "cycles": cycles, "days": days}, anew=True)


def test(cell, request, cycler):
    """A cell is charged and discharged; what it gives a day, and what that costs it."""
    rate, cutoff = request["parameters"]["charge_rate"], request["parameters"]["cutoff"]
    cycle = (
        "Discharge at 1C until 3.0 V",
        f"Charge at {rate:.6g}C until {cutoff:.6g} V",
        f"Hold at {cutoff:.6g} V until C/10",
    )
    simulation = pybamm.Simulation(
        pybamm.lithium_ion.SPM({"SEI": "solvent-diffusion limited"}),
        parameter_values=pybamm.ParameterValues("Mohtat2020"),
        experiment=pybamm.Experiment([cycle] * request["cycles"]),
    )
    try:
        solution = simulation.solve(callbacks=Progress(cell, cycler), initial_soc=1)
    except Ended as e:
        return {"state": "stopped", "cause": str(e)}
    except pybamm.SolverError as e:
        return {"state": "failed", "cause": str(e)}
    summary = solution.summary_variables
    days = float(solution["Time [s]"].entries[-1]) / 86400
    with open(cell / "cycles.csv", "w", newline="") as f:
        table = csv.writer(f)
        table.writerow(["cycle", "capacity_A.h", "lost_to_SEI_A.h"])
        table.writerows(zip(
            range(1, request["cycles"] + 1), summary["Capacity [A.h]"], summary["Loss of capacity to negative SEI [A.h]"],
        ))  # fmt: skip
    return {
        "state": "done",
        "days": days,
        "throughput": float(solution["Throughput capacity [A.h]"].entries[-1]) / 2,
        "lost": float(summary["Loss of capacity to negative SEI [A.h]"][-1]),
    }


def main():
    options = argparse.ArgumentParser()
    options.add_argument("cells", type=Path)
    options.add_argument("--acts")
    options = options.parse_args()
    options.cells.mkdir(exist_ok=True)

    def record(line):
        if options.acts:
            with open(options.acts, "a") as f:
                f.write(line + "\n")

    def end(cell, result):
        if not (cell / "result.json").exists():
            record(json.loads((cell / "request.json").read_text())["id"] + " end")
        write(cell / "result.json", result)

    for begun in options.cells.glob("*/begun"):  # in an earlier life
        end(begun.parent, {"state": "interrupted", "cause": "the cycler was switched off"})
    print("ready", flush=True)
    cycler = os.getpid()
    while True:
        for file in options.cells.glob("[!.]*/request.json"):
            cell = file.parent
            try:
                (cell / "begun").touch(exist_ok=False)
            except FileExistsError:
                continue
            request = json.loads(file.read_text())
            record(request["id"] + " begin " + json.dumps(request["parameters"]))
            if os.fork() == 0:
                try:
                    end(cell, test(cell, request, cycler))
                finally:
                    sys.stderr.flush()
                    os._exit(0)
        while True:  # those that have ended
            try:
                if os.waitpid(-1, os.WNOHANG)[0] == 0:
                    break
            except ChildProcessError:
                break
        time.sleep(0.05)


if __name__ == "__main__":
    main()
