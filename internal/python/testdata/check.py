"""What python_test.go runs: the client against a server that is restarted under it."""

import csv
import io
import sys
import threading
import time

sys.path.insert(0, sys.argv[2])
from campaignd import Client, Problem

client = Client(sys.argv[1], patience=30)

BENCH = """
name: bench
parameters: [{name: x, min: 0, max: 1}, {name: salt, categories: [LiPF6, LiFSI]}]
objective: {name: flow, unit: mL/s, goal: maximize}
initial: {experiments: 2}
budget: {experiments: 3}
instrument: manual
experts: [{name: ada, terminal: {}}]
policy: {trust: coexbo}
"""


def tell_test(what):
    """Says where this script is, and goes on when the test says so."""
    print(what, flush=True)
    sys.stdin.readline()


def refused(code, call):
    try:
        call()
    except Problem as problem:
        assert problem.code == code, problem
        return problem
    raise AssertionError("it was not refused")


# Faults come as data.
faults = refused("invalid", lambda: client.begin("name: b\nbudget: {experiments: 0}\n")).faults
assert all(f.line and f.message for f in faults) and any(
    f.field == "budget.experiments" for f in faults
), faults

# A mapping with the file's keys is a file, and a table is any with a method that writes CSV.
other = client.begin(
    {
        "name": "mapping",
        "parameters": [{"name": "x", "min": 0, "max": 1}],
        "objective": {"name": "flow", "unit": "mL/s", "goal": "maximize"},
        "budget": {"experiments": 3},
        "instrument": "manual",
    },
    run=False,
)


class Frame:
    def to_csv(self, index):
        assert index is False
        return "x,flow\n0.5,2\n"


other.import_csv(Frame())
assert [e["flow"] for e in other.experiments()] == [2], other.experiments()
try:
    other.import_csv([[0.5, 2]])
    raise AssertionError("a list was taken for a table")
except TypeError as error:
    assert "DataFrame" in str(error), error

# What would have been otherwise, of several quantities: another bound, and another file.
SIMULATED = {
    "name": "simulated",
    "parameters": [
        {"name": "lipf6", "min": 0.2, "max": 2.1, "unit": "mol/kg"},
        {"name": "ec", "min": 0.3, "max": 0.52, "unit": "kg/kg"},
        {"name": "dmc", "min": 0, "max": 1},
    ],
    "quantities": [
        {"name": "conductivity", "unit": "mS/cm"},
        {"name": "viscosity", "unit": "mPa·s"},
    ],
    "objective": {
        "tradeoff": [{"maximize": "conductivity", "worst": 6}, {"minimize": "viscosity"}]
    },
    "constraints_on_outcomes": ["viscosity <= 5"],
    "initial": {"experiments": 3},
    "budget": {"experiments": 5},
    "instrument": {"simulated": {"task": "electrolyte", "noise": 0.14}},
}
simulated = client.begin(SIMULATED)
while simulated.status()["status"] != "completed":
    time.sleep(0.05)
for otherwise in (
    {"require": ["viscosity <= 4"], "worst": {"conductivity": 8}},
    {"definition": {**SIMULATED, "constraints_on_outcomes": ["viscosity <= 4"]}},
):
    imagined = simulated.what_if("d1", experiments=1, **otherwise)
    assert [j["by"] for j in imagined["judged"]] == ["today", "imagined"] and imagined["caveats"], (
        imagined
    )
assert (
    refused("not_possible", lambda: simulated.what_if("d1", maximize="colour")).faults[0].field
    == "objective"
)

# Several quantities, of which one is missing, and a formula of them.
several = client.begin(
    {
        "name": "several",
        "parameters": [{"name": "x", "min": 0, "max": 1}],
        "quantities": [{"name": "flow", "unit": "mL/s"}, {"name": "loss", "unit": "mL/s"}],
        "objective": {"maximize": "flow / (flow + loss)"},
        "budget": {"experiments": 3},
        "instrument": "manual",
    },
    run=False,
)
several.tell(parameters={"x": 0.5}, quantities={"flow": 3, "loss": 1})
several.tell(parameters={"x": 0.6}, quantities={"flow": 2}, missing={"loss": "the balance was off"})
try:  # a value in the place of the reason is named as what it is, before anything is sent
    several.correct("e2", 9)
except TypeError as wrong:
    assert "the reason is a text" in str(wrong) and 'correct(\'e2\', "why", value=9)' in str(wrong), wrong
else:
    raise AssertionError("a number is taken for a reason")
several.correct("e2", "read from the log", quantities=[{"name": "loss", "value": 2}])
assert [(r["flow"], r["loss"], r["flow/(flow + loss)"]) for r in several.experiments()] == [
    (3, 1, 0.75),
    (2, 2, 0.5),
]
assert refused("not_possible", lambda: several.tell(parameters={"x": 0.1}, value=1)).detail

bench = client.begin(BENCH)
assert refused("conflict", lambda: client.begin(BENCH)).remedies, "no remedy"
assert refused("no_campaign", lambda: client.campaign("nobody").status()).status == 404

# The loop, with the server restarted while ask waits for somebody's answer.
first = bench.ask()
assert set(first.parameters) == {"x", "salt"} and first == bench.ask(), first
assert (
    bench.tell(first, 1.5, sd=0.1, further={"pH": 7})[0]["type"] == "campaignd.experiment.measured"
)
assert refused("conflict", lambda: bench.tell(first, 1.6)).subject == first.id
# Files are kept with the experiment, and come back as they were.
kept = bench.attach(__file__, first, comment="this script")[0]["data"]
assert bench.attach(b"1,2\n", name="a.csv", quantity="flow")[0]["type"] == "campaignd.file.attached"
bench.attach("https://data.example.org/run7.h5?raw=1", first.id)
assert [f["name"] for f in bench.files(first)] == ["check.py", "run7.h5"], bench.files()
with open(__file__, "rb") as f:
    assert bench.read_file(kept["file"]) == f.read()
bench.withdraw("f2", "of another cell")
assert [f["id"] for f in bench.files()] == ["f1", "f3"], bench.files()
assert refused("invalid", lambda: bench.attach(b"", name="a.csv")).status == 400

second = bench.ask()
bench.tell(second, failed="the cell leaked")
try:
    bench.ask(wait=0)
    raise AssertionError("nobody was waited for")
except TimeoutError as error:
    assert "ada" in str(error), error

followed = []


def follow():
    for event in bench.events(follow=True):
        followed.append(event)
        if event["type"] == "campaignd.campaign.completed":
            return


follower = threading.Thread(target=follow, daemon=True)
follower.start()
asked = threading.Thread(
    target=lambda: tell_test("ASKING")
)  # the test restarts the server now, and answers
asked.start()
third = bench.ask()
assert third is not None
asked.join()
tell_test("DOWN")  # the server is away for a moment, and comes back
bench.tell(third, 2.5)
assert bench.ask() is None
follower.join(30)

# What was followed across the restarts is the log, each event once.
log = list(bench.events())
assert followed == log and len(log) > 10, (len(followed), len(log))
assert list(bench.events(after=3)) == log[3:]

rows = bench.experiments()
assert [(r["experiment"], r["status"], r["flow"], r["further_pH"]) for r in rows][:2] == [
    ("e1", "measured", 1.5, 7),
    ("e2", "failed", None, None),
], rows
assert all(not isinstance(cell, (dict, list)) for row in rows for cell in row.values()), (
    "a row is not flat"
)
assert [r["experiment"] for r in csv.DictReader(io.StringIO(bench.export()))] == [
    r["experiment"] for r in rows
]
assert {q["status"] for q in bench.questions()} == {"answered"} and bench.questions(
    status="asked"
) == []
assert bench.acts() == [] == bench.acts(third, batch="b1"), "acts of a campaign without a procedure"
assert bench.explain(third.id)["decision"]["decision"].startswith("d")
assert bench.predict([{"x": 0.5, "salt": "LiFSI"}])[0], "no prediction"
assert bench.status()["status"] == "completed" and {c["campaign"] for c in client.campaigns()} == {
    "bench",
    "mapping",
    "several",
    "simulated",
}
assert bench.definition() == BENCH and "<html" in bench.report()
assert bench.import_csv("x,salt,flow\n0.25,LiPF6,3\n", preview=True)["rows"][0]["value"] == 3
print("DONE", flush=True)
