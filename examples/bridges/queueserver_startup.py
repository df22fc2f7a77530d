"""The environment of queueserver_peer.py: simulated devices, a plan, and the documents of its runs as files."""

import json
import os

from bluesky import RunEngine
from bluesky import plan_stubs as bps
from bluesky.callbacks.json_writer import JSONLinesWriter
from event_model import RunRouter
from ophyd.sim import SynAxis, SynSignal

salt = SynAxis(name="salt")
conductivity = SynSignal(name="conductivity", func=lambda: 12.9 - 6 * (salt.position - 1.1) ** 2)
temperature = SynSignal(name="temperature", func=lambda: 25.0)


def record(name, doc):
    """Each run that the Run Engine opens or closes is a line: the record of acts."""
    if os.environ["ACTS"]:
        with open(os.environ["ACTS"], "a") as acts:
            if name == "start":
                record.id = doc.get("campaignd", "?")
                acts.write(f"{record.id} begin {json.dumps({'salt': doc['concentration']})}\n")
            elif name == "stop":
                acts.write(f"{record.id} end\n")


RE = RunEngine({})
# One file a run, whose name is the run's: campaignd's bridge reads them.
RE.subscribe(RunRouter([lambda name, doc: ([JSONLinesWriter(os.environ["DOCUMENTS"], f"{doc['uid']}.jsonl")], [])]))
RE.subscribe(record)


def measure(concentration: float, readings: int = 10):
    """Makes a solution, and reads its conductivity several times."""
    yield from bps.open_run({"plan_name": "measure", "concentration": concentration, "num_points": readings})
    yield from bps.mv(salt, concentration)
    fails = len(os.listdir(os.environ["DOCUMENTS"])) == int(os.environ["FAILS"])
    for _ in range(readings):
        yield from bps.trigger_and_read([conductivity, temperature])
        if fails:
            raise RuntimeError("a bubble")
        yield from bps.sleep(float(os.environ["TAKES"]) / readings)
    yield from bps.close_run()
