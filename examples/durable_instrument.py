#!/usr/bin/env python3
"""An instrument for campaignd: put your device into describe and measure, and keep the rest.

The rest is what keeps a pump from moving twice: a command is in the ledger, on disk, before it is
acted on, and so is its outcome before anybody hears of it. docs/process-instrument.md has the protocol.
"""
import fcntl, json, os, sys

def describe():  # say "simulated": False as soon as something moves
    return {"name": "example/python", "identity": "a formula", "capacity": 1, "simulated": True,
            "parameters": [{"name": "lipf6", "unit": "mol/kg", "min": 0, "max": 2.5}, {"name": "dmc", "min": 0, "max": 1}]}

def measure(p):  # the only place that acts; an exception makes the experiment failed
    value = 12 - 6 * (p["lipf6"] - 1.1) ** 2 - 4 * (p["dmc"] - 0.6) ** 2
    return {"actual": p, "objective": {"name": "conductivity", "value": value, "unit": "mS/cm"}}

ledger = open(sys.argv[1] if len(sys.argv) > 1 else "instrument.ledger", "a+")

def read(wait):  # all that was begun, with its outcome; alone: no earlier instance is still at work
    try: alone = fcntl.flock(ledger, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB)) is None
    except BlockingIOError: alone = False
    ledger.seek(0)
    text = ledger.read()
    text = text[:text.rfind("\n") + 1]  # a line without its end was cut off by a power failure
    if alone: ledger.truncate(len(text))
    return dict(json.loads(line) for line in text.splitlines()), alone

def keep(command, outcome):  # on disk when it returns
    ledger.write(json.dumps([command, outcome], allow_nan=False) + "\n"); ledger.flush(); os.fsync(ledger.fileno())

def perform(c):
    try: keep(c["id"], {"status": "measured", "measurement": measure(c["parameters"])})
    except Exception as e: keep(c["id"], {"status": "failed", "cause": repr(e)})

for line in sys.stdin:  # ends when campaignd does
    q = json.loads(line); op, c = q["op"], q.get("command", {}); id = c.get("id"); a = {"ok": True}; new = False
    if op == "handshake": a = {"protocol": 1, "recover": True, "finishes": True}
    if op == "describe": a = {"description": describe()}
    if op == "start":
        new = id not in read(wait=True)[0]
        if new: keep(id, None)
    if op == "recover":
        known, alone = read(wait=False)
        if id not in known: known, alone = read(wait=True)
        a = {"fate": "not started" if id not in known else "finished" if known[id] else "unknown" if alone else "running"}
    if op == "await":
        known = read(wait=True)[0]
        a = {"outcome": known[id] or {"status": "unknown", "cause": "it ended half-way"}} if id in known else {"error": "never started"}
    try: print(json.dumps({"id": q["id"], **a}), flush=True)
    except BrokenPipeError: pass  # campaignd is gone; it will ask again
    if new: perform(c)
