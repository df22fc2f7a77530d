#!/usr/bin/env python3
"""Cells on a cycler for days, as an instrument of campaignd: here PyBaMM's cells, in battery_cycler.py. docs/bridges.md

The two meet in a folder. A cell is handed over by a rename, under a name made of the command's ID, so that it is handed
over whole, and once; and it is found again by that name after a crash of either side. This program needs the standard
library and campaignd alone.
"""

import json
import os
import shutil
import urllib.parse
from pathlib import Path

from campaignd.device import Deferred, Device, Failed, Infeasible, Outcome, Sign, Unknown


class Cycler(Device):
    every = 0.2

    @property
    def cells(self):
        return Path(self.settings.get("cells", "cells"))

    def describe(self):
        if not self.cells.is_dir():
            raise Deferred(f"there is no folder {self.cells}: the cycler does not run")
        return {
            "name": "pybamm/cycler", "identity": f"the cells in {self.cells}", "capacity": 2, "simulated": True,
            "parameters": [
                {"name": "charge_rate", "unit": "1/h", "min": 0.05, "max": 4},
                {"name": "cutoff", "unit": "V", "min": 3.7, "max": 4.3},
            ],
            "outputs": [{"name": "throughput", "unit": "A.h/d"}],
        }  # fmt: skip

    def acted(self, command):
        pass  # the cycler writes the record of acts

    def submit(self, command):
        cell = self.cells / urllib.parse.quote(command.id, safe="")
        draft = cell.with_name("." + cell.name)
        shutil.rmtree(draft, ignore_errors=True)
        draft.mkdir()
        request = {"id": command.id, "parameters": command.parameters, "cycles": self.settings.get("cycles", 30)}
        with open(draft / "request.json", "w") as f:
            json.dump(request, f)
            f.flush()
            os.fsync(f.fileno())
        draft.rename(cell)  # an error where there is one already
        return cell.name

    def find(self, command):
        """None is true: who would have renamed it is dead."""
        cell = self.cells / (command.handle or urllib.parse.quote(command.id, safe=""))
        return cell.name if cell.is_dir() else None

    def read(self, handle, name):
        try:
            return json.loads((self.cells / handle / name).read_text())
        except FileNotFoundError:
            return None

    def poll(self, handle):
        cell = self.cells / handle
        result = self.read(handle, "result.json")
        if result is None:
            if not self.cells.is_dir():
                raise OSError(f"there is no {self.cells}: is the drive there?")
            if not cell.is_dir():
                raise Unknown(f"the cycler has no {cell}")
            progress = self.read(handle, "progress.json")
            if progress is None:
                return Sign(text="in the queue, or in its first cycle")
            cycle, cycles = progress["cycle"], progress["cycles"]
            return Sign(fraction=cycle / cycles, text=f"cycle {cycle} of {cycles}, day {progress['days']:.1f}")
        if result["state"] == "interrupted":
            # Nothing was used up. Of a cell on a bench say Failed, or Unknown where somebody has to look.
            raise Deferred(result["cause"])
        if result["state"] == "stopped":
            raise Failed(result["cause"])
        if result["state"] != "done":
            raise Infeasible(result["cause"])
        return Outcome(
            "measured",
            {
                "objective": {"name": "throughput", "value": result["throughput"] / result["days"], "unit": "A.h/d"},
                "further": [
                    {"name": "days", "value": result["days"], "unit": "d"},
                    {"name": "lost to SEI", "value": result["lost"], "unit": "A.h"},
                ],
            },
            files=[{"path": str(cell / "cycles.csv"), "comment": "capacity and loss of each cycle"}],
        )

    def stop(self, handle):
        (self.cells / handle / "stop").touch()


if __name__ == "__main__":
    Cycler().run()
