#!/usr/bin/env python3
"""An instrument for campaignd: put your device into describe, reach and measure, and keep the rest.

The rest is what keeps a pump from moving twice: a command is in the ledger, on disk, before it is
acted on, and so is its outcome before anybody hears of it. docs/process-instrument.md has the protocol.
"""
import fcntl, json, os, sys

def describe():  # say "simulated": False as soon as something moves
    return {"name": "example/python", "identity": "a formula", "capacity": 1, "simulated": True,
            "parameters": [{"name": "lipf6", "unit": "mol/kg", "min": 0, "max": 2.5}, {"name": "dmc", "min": 0, "max": 1}]}

def reach():  # an exception here: the device is off or not ready, nothing has moved, campaignd asks again later
    pass

def acted(c):  # a line for each act, which `campaignd instrument check --acts` counts; better the device writes it
    if "CAMPAIGND_ACTS" in os.environ: print(c["id"], file=open(os.environ["CAMPAIGND_ACTS"], "a"))

def tell(**sign):  # how far it is, whenever you like: tell(fraction=0.4, text="cycle 12 of 30", handle="f3b2", next_by="10m")
    try: print(json.dumps({"command": doing, "sign": sign}), flush=True)
    except BrokenPipeError: pass  # campaignd is gone; the device goes on

class Failed(Exception):  # raise it where you know that the experiment took place and gave nothing usable
    def __init__(self, cause, quantities=()):  # what was measured all the same: [{"name": …, "value": …, "unit": …}]
        super().__init__(cause); self.given = {"measurement": {"quantities": quantities}} if quantities else {}

def measure(p):  # the only place that acts; any other exception is unknown: nobody can tell what moved, a person looks
    tell(fraction=0.5, text="mixed")
    value = 12 - 6 * (p["lipf6"] - 1.1) ** 2 - 4 * (p["dmc"] - 0.6) ** 2
    return {"actual": p, "objective": {"name": "conductivity", "value": value, "unit": "mS/cm"}}

path = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else "instrument.ledger")
# What a ledger does not know has not begun: say so where its disk keeps what was synced, it is the only one of the device,
# and nobody deletes it or puts an older copy back. Of one that begins now nobody can say it.
durable = {"ledger": "durable"} if os.path.exists(path) else {}
if not durable: print("a new ledger begins:", path, "- what was done before is not known here", file=sys.stderr)
ledger = open(path, "a+")
folder = os.open(os.path.dirname(path), os.O_RDONLY); os.fsync(folder); os.close(folder)  # its name is on disk, too

def read(wait):  # all that was begun: its parameters and its outcome; alone: no earlier instance is still at work
    try: alone = fcntl.flock(ledger, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB)) is None
    except BlockingIOError: alone = False
    ledger.seek(0)
    text = ledger.read()
    text = text[:text.rfind("\n") + 1]  # a line without its end was cut off by a power failure
    if alone: ledger.truncate(len(text.encode()))
    known = {}
    for command, entry in map(json.loads, text.splitlines()):
        x = known.setdefault(command, {"parameters": None, "outcome": None})
        x.update({"outcome": entry} if entry and "status" in entry else entry or {})
    return known, alone

def keep(command, *entries):  # on disk when it returns, all of them or none if it is killed
    ledger.write("".join(json.dumps([command, e], allow_nan=False) + "\n" for e in entries)); ledger.flush(); os.fsync(ledger.fileno())

def perform(c):
    global doing; doing = c["id"]
    try:
        reach()
        acted(c)
        try: outcome = {"status": "measured", "measurement": measure(c["parameters"])}
        except Failed as e: outcome = {"status": "failed", "cause": str(e), **e.given}
        except Exception as e: outcome = {"status": "unknown", "cause": repr(e)}
    except Exception as e: outcome = {"status": "deferred", "cause": "the device cannot be reached: " + repr(e)}
    try: keep(c["id"], outcome)
    except ValueError as e: keep(c["id"], {"status": "failed", "cause": "it measured no number: %r: %s" % (outcome, e)})

for line in sys.stdin:  # ends when campaignd does
    q = json.loads(line); op, c = q["op"], q.get("command", {}); id = c.get("id"); a = {"ok": True}; new = False
    if op == "handshake": a = {"protocol": 1, "recover": True, "finishes": True, "voids": True, "signs": True, **durable}
    if op == "describe": a = {"description": describe()}
    if op in ("start", "cancel", "await", "recover"):
        known, alone = read(wait=op != "recover")
        if op == "recover" and id not in known: known, alone = read(wait=True)
        x = known.get(id)
        # One ID is one experiment for ever: an old copy of the campaign's store asks for another under the same.
        other = x and x["parameters"] not in (None, c["parameters"]) and "the ledger has %s with other parameters: %s" % (id, x["parameters"])
    if op == "start" and other: a = {"error": other}
    if op == "start" and not x:
        keep(id, {"parameters": c["parameters"]}); new = True
    if op == "cancel" and not x:  # void: a start of it that comes later, or lies in a pipe, finds it ended
        keep(id, {"parameters": c["parameters"]}, {"status": "cancelled", "cause": "called off before it was started"})
    if op == "recover":
        # What has a handle has begun, whatever became of the ledger: ask your device for it here, if it can tell.
        a = {"fate": ("unknown" if c.get("handle") else "not started") if not x else "unknown" if other else "finished" if x["outcome"] else "unknown" if alone else "running"}
    if op == "await":
        a = {"outcome": {"status": "unknown", "cause": other} if other else x["outcome"] or {"status": "unknown", "cause": "it ended half-way"}} if x else {"error": "never started"}
    try: print(json.dumps({"id": q["id"], **a}), flush=True)
    except BrokenPipeError: pass  # campaignd is gone; it will ask again
    if new: perform(c)
