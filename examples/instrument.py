#!/usr/bin/env python3
"""The shortest instrument for campaignd: put your device into reach() and measure().

It performs a command once, but forgets when it ends: what was under way at a crash is left to a person.
durable_instrument.py remembers, and campaignd goes on by itself. docs/process-instrument.md has the protocol.
"""
import json, os, sys

def reach():  # an exception here: the device is off or not ready, nothing has moved, campaignd asks again later
    pass

def acted(c):  # a line for each act, which `campaignd instrument check --acts` counts; better the device writes it
    if "CAMPAIGND_ACTS" in os.environ: print(c["id"], file=open(os.environ["CAMPAIGND_ACTS"], "a"))

class Failed(Exception):  # raise it where you know that the experiment took place and gave nothing usable
    def __init__(self, cause, quantities=()):  # what was measured all the same: [{"name": …, "value": …, "unit": …}]
        super().__init__(cause); self.given = {"measurement": {"quantities": quantities}} if quantities else {}

def measure(p):  # the only place that acts; any other exception is unknown: nobody can tell what moved, a person looks
    return 12 - 6 * (p["lipf6"] - 1.1) ** 2 - 4 * (p["dmc"] - 0.6) ** 2

def perform(c):
    try: reach()
    except Exception as e: return {"status": "deferred", "cause": "the device cannot be reached: " + repr(e)}
    acted(c)
    try: quantity = {"name": "conductivity", "value": measure(c["parameters"]), "unit": "mS/cm"}
    except Failed as e: return {"status": "failed", "cause": str(e), **e.given}
    except Exception as e: return {"status": "unknown", "cause": repr(e)}
    return {"status": "measured", "measurement": {"objective": quantity}}

outcomes = {}  # by command
for line in sys.stdin:  # ends when campaignd does
    q = json.loads(line)
    op, c, answer = q["op"], q.get("command", {}), {"ok": True}
    new = op == "start" and c["id"] not in outcomes
    if op == "handshake":
        answer = {"protocol": 1, "voids": True}
    elif op == "describe":  # say "simulated": False as soon as something moves
        answer = {"description": {"name": "example/python", "capacity": 1, "simulated": True}}
    elif op == "await":
        answer = {"outcome": outcomes[c["id"]]} if c["id"] in outcomes else {"error": "never started"}
    elif op == "cancel":  # a start of it that comes later does not begin it any more
        outcomes.setdefault(c["id"], {"status": "cancelled", "cause": "called off before it was started"})
    print(json.dumps({"id": q["id"], **answer}), flush=True)
    if new:
        outcomes[c["id"]] = perform(c)
