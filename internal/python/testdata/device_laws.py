"""What holds of a Device beyond what `instrument check` sees; device_test.go runs it."""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

# Without the rest of the package, which takes a quarter of a second to import, some fifty times.
HEAD = f"""
import os, pathlib, sys, time, types
sys.modules["campaignd"] = types.ModuleType("campaignd")
sys.modules["campaignd"].__path__ = [{str(pathlib.Path(__file__).parents[1] / "campaignd")!r}]
from campaignd.device import *
"""

# A device in a file: a run is a line of it, `ID`, and has ended where there is the file `done`.
FILED = """
def runs():
    return pathlib.Path("runs").read_text().split() if os.path.exists("runs") else []
def submit(c):
    print(c.id, file=open("runs", "a"))
    return "run-" + c.id.replace("/", "-")
def find(c):
    return "run-" + c.id.replace("/", "-") if c.id in runs() else None
def poll(handle):
    assert handle.startswith("run-")
    return {"objective": {"name": "y", "value": 7}} if os.path.exists("done") else Sign(text="at work")
device = dict(submit=submit, find=find, poll=poll)
"""

TAIL = "\nd = Device(**device); d.every = 0.02; d.run('ledger')\n"


class Life:
    """One life of a program."""

    def __init__(self, test, folder, source, settings=None):
        with open(folder / "stderr", "a") as stderr:
            self.program = subprocess.Popen(
                [sys.executable, "-c", HEAD + source + TAIL], cwd=folder, text=True,
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr,
            )  # fmt: skip
        test.addCleanup(self.kill)
        self.number, self.signs, self.replies = 0, [], {}
        self.hello = self.ask("handshake", protocol=1, settings=settings or {})
        self.described = self.ask("describe")

    def send(self, op, **fields):
        self.number += 1
        self.program.stdin.write(json.dumps({"id": self.number, "op": op, **fields}) + "\n")
        self.program.stdin.flush()
        return self.number

    def reply(self, number):
        while number not in self.replies:
            line = json.loads(self.program.stdout.readline() or '{"id": "the program has ended"}')
            if line.get("id") == "the program has ended":
                raise AssertionError("the program has ended")
            if "sign" in line:
                self.signs.append(line)
            else:
                self.replies[line["id"]] = line
        return self.replies[number]

    def ask(self, op, **fields):
        return self.reply(self.send(op, **fields))

    def about(self, op, id="c/e1", x=1, **more):
        return self.ask(op, command={"id": id, "parameters": {"x": x}, **more})

    def outcome(self, id="c/e1", x=1, **more):
        return self.about("await", id, x, **more)["outcome"]

    def end(self):
        self.program.stdin.close()
        return self.program.wait(20)

    def kill(self):
        self.program.kill()
        self.program.wait()
        for stream in (self.program.stdin, self.program.stdout):
            if not stream.closed:
                try:
                    stream.close()
                except BrokenPipeError:
                    pass


class Devices(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        signal.signal(signal.SIGALRM, self.hangs)
        signal.alarm(100)
        self.addCleanup(signal.alarm, 0)

    def hangs(self, *_):
        raise AssertionError("it hangs")

    def live(self, source, settings=None):
        return Life(self, self.folder, source, settings)

    def runs(self):
        runs = self.folder / "runs"
        return runs.read_text().split() if runs.exists() else []

    def stderr(self):
        return (self.folder / "stderr").read_text()

    def waits(self, what, until):
        deadline = time.monotonic() + 30
        while not until():
            self.assertLess(time.monotonic(), deadline, what)
            time.sleep(0.01)

    def test_an_exception_says_how_it_ended_and_any_other_is_unknown(self):
        life = None
        for raised, status in {
            "Failed('why', [{'name': 'z', 'value': 3}])": "failed", "Infeasible('why')": "infeasible",
            "Deferred('why')": "deferred", "Cancelled('why')": "cancelled", "Unknown('why')": "unknown",
            "OSError('why')": "unknown", "SystemExit('why')": "unknown", "Deferred(OSError('why'))": "deferred",
        }.items():  # fmt: skip
            with self.subTest(raised):
                life = life or self.live("def measure(p): raise eval(p['x'])\ndevice = dict(measure=measure)")
                life.about("start", status + raised, raised)
                outcome = life.outcome(status + raised, raised)
                self.assertEqual(outcome["status"], status)
                self.assertIn("why", outcome["cause"])
                self.assertEqual(bool(outcome.get("measurement")), "z" in raised)

    def test_a_device_that_is_not_ready_has_not_acted(self):
        life = self.live(
            "def reach(): raise OSError('no route')\n"
            "def measure(p): open('runs', 'w')\ndevice = dict(measure=measure, reach=reach)"
        )
        life.about("start")
        self.assertEqual(life.outcome()["status"], "deferred")
        self.assertFalse((self.folder / "runs").exists())

    def test_a_device_that_is_off_is_described_later(self):
        life = self.live("def describe(): raise Deferred('off')\ndevice = dict(measure=print, describe=describe)")
        self.assertEqual(life.described, {"id": 2, "later": "off"})

    def test_what_a_result_holds_is_json_or_a_failure(self):
        for value, status in {"float('nan')": "failed", "object()": "failed", "sys.stderr": "failed", "Number()": "measured"}.items():
            with self.subTest(value):
                shutil.rmtree(self.folder / "ledger", ignore_errors=True)
                life = self.live(
                    "class Number:\n    def tolist(self): return 7.0\n"
                    f"def measure(p): return {{'objective': {{'name': 'y', 'value': {value}}}}}\n"
                    "device = dict(measure=measure)"
                )
                life.about("start")
                self.assertEqual(life.outcome()["status"], status)
                life.end()
                self.assertEqual(self.live("device = dict(measure=print)").outcome()["status"], status)

    def test_a_name_of_the_run_comes_with_the_start_and_its_signs_follow(self):
        life = self.live(FILED)
        self.assertEqual(life.about("start")["handle"], "run-c-e1")
        (self.folder / "done").touch()
        self.assertEqual(life.outcome()["status"], "measured")
        self.assertEqual(life.signs[0]["sign"], {"handle": "run-c-e1"})
        self.assertEqual(life.about("start")["handle"], "run-c-e1")
        self.assertEqual(self.runs(), ["c/e1"])

    def test_a_run_is_found_again_after_a_kill(self):
        for gone, handle in ((False, None), (True, None), (True, "run-c-e1")):
            with self.subTest(gone=gone, handle=handle):
                for name in ("ledger", "runs", "done"):
                    path = self.folder / name
                    shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
                life = self.live(FILED)
                life.about("start")
                life.kill()
                if gone:
                    shutil.rmtree(self.folder / "ledger")
                life = self.live(FILED)
                given = {"handle": handle} if handle else {}
                self.assertEqual(life.about("recover", **given)["fate"], "running")
                (self.folder / "done").touch()
                self.assertEqual(life.outcome(**given)["status"], "measured")
                self.assertEqual(self.runs(), ["c/e1"])
                life.end()

    def test_what_has_a_handle_has_begun(self):
        source = FILED.replace("find=find, ", "")  # it cannot be asked by our ID
        life = self.live(FILED.replace("if c.id in runs() else None", "if 0 else None"))
        self.assertEqual(life.about("recover", "c/e2")["fate"], "not started")
        self.assertEqual(life.about("recover", handle="run-c-e1")["fate"], "running")
        self.assertEqual(life.outcome(handle="run-c-e1")["status"], "unknown")
        life.end()
        (self.folder / "done").touch()
        life = self.live(source)
        self.assertEqual(life.outcome("c/e3", handle="run-c-e3")["status"], "measured")
        life.end()
        life = self.live("device = dict(measure=print)")
        self.assertEqual(life.about("recover", "c/e4", handle="run-c-e4")["fate"], "unknown")

    def test_a_submit_that_was_cut_short_is_asked_about_and_never_repeated(self):
        lost = FILED.replace('    return "run-" + c.id.replace("/", "-")\ndef find', "    raise OSError('cut')\ndef find")
        life = self.live(lost)
        life.about("start")
        (self.folder / "done").touch()
        self.assertEqual(life.outcome()["status"], "measured")
        life.end()
        never = lost.replace('    print(c.id, file=open("runs", "a"))\n', "")
        life = self.live(never)
        life.about("start", "c/e2")
        outcome = life.outcome("c/e2")
        self.assertEqual(outcome["status"], "deferred")
        self.assertIn("cut", outcome["cause"])
        life.end()
        life = self.live(lost.replace("find=find, ", ""))
        life.about("start", "c/e3")
        outcome = life.outcome("c/e3")
        self.assertEqual(outcome["status"], "unknown")
        self.assertIn("cut", outcome["cause"])
        self.assertEqual(self.runs(), ["c/e1", "c/e3"])

    def test_a_device_that_cannot_be_asked_is_asked_again(self):
        broken = FILED.replace("    assert handle", "    if not os.path.exists('cable'): raise OSError('no cable')\n    assert handle")
        life = self.live(broken)
        life.about("start")
        waiting = life.send("await", command={"id": "c/e1", "parameters": {"x": 1}})
        self.waits("it is asked", lambda: "no cable" in self.stderr())
        (self.folder / "done").touch()
        (self.folder / "cable").touch()
        self.assertEqual(life.reply(waiting)["outcome"]["status"], "measured")

    def test_it_is_followed_to_its_end_though_nobody_listens(self):
        life = self.live(FILED)
        life.about("start")
        life.program.stdout.close()
        life.program.stdin.close()
        time.sleep(0.2)
        self.assertIsNone(life.program.poll())
        (self.folder / "done").touch()
        self.assertEqual(life.program.wait(20), 0)
        (self.folder / "runs").unlink()
        self.assertEqual(self.live(FILED).outcome()["status"], "measured")

    def test_a_later_run_of_the_program_takes_over(self):
        earlier = self.live(FILED)
        earlier.about("start")
        earlier.program.send_signal(signal.SIGTERM)
        later = self.live(FILED)
        self.assertEqual(earlier.program.wait(20), 0)
        self.assertEqual(later.about("recover")["fate"], "running")
        (self.folder / "done").touch()
        self.assertEqual(later.outcome()["status"], "measured")
        self.assertTrue(later.signs)
        self.assertEqual(self.runs(), ["c/e1"])

    def test_what_an_earlier_run_finishes_is_waited_for(self):
        source = (
            "def measure(p):\n"
            "    print(1, file=open('runs', 'a'))\n"
            "    while not os.path.exists('done'): time.sleep(0.01)\n"
            "    return {'objective': {'name': 'y', 'value': 7}}\n"
            "device = dict(measure=measure)"
        )
        earlier = self.live(source)
        earlier.about("start")
        earlier.program.stdin.close()
        later = self.live(source)
        self.assertEqual(later.about("recover")["fate"], "running")
        waiting = later.send("await", command={"id": "c/e1", "parameters": {"x": 1}})
        self.assertEqual(later.about("recover", "c/e2")["fate"], "not started")  # it is still answered
        (self.folder / "done").touch()
        self.assertEqual(later.reply(waiting)["outcome"]["status"], "measured")
        self.assertEqual(self.runs(), ["1"])

    def test_what_waits_its_turn_never_gets_it_once_it_is_called_off(self):
        life = self.live(FILED)
        life.about("start")
        life.about("start", "c/e2")
        self.assertEqual(life.about("cancel", "c/e2")["ok"], True)
        self.assertEqual(life.outcome("c/e2")["status"], "cancelled")
        cancel = life.about("cancel")
        self.assertTrue(cancel["cannot"])  # it has begun, and has no stop
        self.assertEqual(self.runs(), ["c/e1"])

    def test_a_sign_that_cannot_be_told_costs_no_result(self):
        life = self.live(FILED.replace("Sign(text='at work')", "0").replace('Sign(text="at work")', "Sign(0.5, 'at work', 'soon')"))
        life.about("start")
        waiting = life.send("await", command={"id": "c/e1", "parameters": {"x": 1}})
        self.waits("it is said", lambda: "cannot be told" in self.stderr())
        (self.folder / "done").touch()
        self.assertEqual(life.reply(waiting)["outcome"]["status"], "measured")
        self.assertIn({"fraction": 0.5, "text": "at work"}, [s["sign"] for s in life.signs])

    def test_a_device_says_why_it_does_not_begin(self):
        life = self.live(FILED.replace("def submit(c):\n", "def submit(c):\n    raise Infeasible('too thick')\n"))
        life.about("start")
        self.assertEqual(life.outcome()["status"], "infeasible")

    def test_what_is_called_off_before_it_begins_does_not(self):
        source = (
            "def reach():\n    open('reached', 'w')\n    while not os.path.exists('ready'): time.sleep(0.01)\n"
            "def measure(p): open('runs', 'w')\ndevice = dict(measure=measure, reach=reach)"
        )
        life = self.live(source)
        life.about("start")
        self.waits("it is reached", (self.folder / "reached").exists)
        life.about("cancel")
        (self.folder / "ready").touch()
        self.assertEqual(life.outcome()["status"], "cancelled")
        self.assertFalse((self.folder / "runs").exists())

    def test_what_waits_its_turn_at_the_end_is_deferred(self):
        earlier = self.live(FILED)
        earlier.about("start")
        earlier.about("start", "c/e2")
        earlier.program.stdin.close()
        later = self.live(FILED)
        self.assertEqual(later.outcome("c/e2")["status"], "deferred")
        self.assertEqual(later.about("recover")["fate"], "running")
        self.assertEqual(self.runs(), ["c/e1"])

    def test_a_child_that_lives_on_holds_nothing_up(self):
        source = (
            "def measure(p):\n"
            "    child = os.fork()\n"
            "    if child == 0: [os.close(fd) for fd in (1, 2)]; time.sleep(600); os._exit(0)\n"
            "    print(child, file=open('child.new', 'w')); os.rename('child.new', 'child')\n"
            "    time.sleep(60)\n"
            "device = dict(measure=measure)"
        )
        earlier = self.live(source)
        earlier.about("start")
        self.waits("it forks", (self.folder / "child").exists)
        earlier.kill()
        self.addCleanup(os.kill, int((self.folder / "child").read_text()), signal.SIGKILL)
        later = self.live(source)
        self.assertEqual(later.about("recover")["fate"], "unknown")
        self.assertEqual(later.about("recover", "c/e2")["fate"], "not started")

    def test_it_is_brought_to_its_safe_state_while_it_measures(self):
        life = self.live(
            "import time\n"
            "def measure(p):\n"
            "    while not os.path.exists('closed'): time.sleep(0.01)\n"
            "    raise Failed('the valve was closed')\n"
            "def safe(reason):\n"
            "    if not os.path.exists('greased'): raise OSError('the valve sticks')\n"
            "    open('closed', 'w').write(reason)\n"
            "device = dict(measure=measure, safe=safe)"
        )
        self.assertIs(life.hello["safe"], True)
        life.about("start")
        self.assertEqual(life.ask("safe", reason="a leak")["error"], "OSError: the valve sticks")
        (self.folder / "greased").touch()
        self.assertEqual(life.ask("safe", reason="a leak")["ok"], True)
        self.assertEqual((self.folder / "closed").read_text(), "a leak")
        self.assertEqual(life.outcome()["cause"], "the valve was closed")
        life.end()
        none = self.live(FILED)
        self.assertIs(none.hello["safe"], False)
        self.assertIn("no operation", none.ask("safe")["error"])

    def test_a_device_may_have_an_init_of_its_own(self):
        life = self.live(
            "class Own(Device):\n    def __init__(self): self.x = 7\n"
            "    def measure(self, p): self.sign(0.1); return {'objective': {'name': 'y', 'value': self.x}}\n"
            "Own().run('ledger'); sys.exit()"
        )
        life.about("start")
        self.assertEqual(life.outcome()["measurement"]["objective"]["value"], 7)

    def test_a_line_that_was_cut_off_does_not_count(self):
        life = self.live(FILED)
        (self.folder / "done").touch()
        life.about("start")
        life.outcome()
        life.end()
        entry = self.folder / "ledger" / "c%2Fe1.jsonl"
        whole = entry.read_bytes()
        ends = [i for i, byte in enumerate(whole) if byte == ord("\n")]
        for size in (ends[0] - 1, ends[0] + 3, ends[1], len(whole) - 1):
            entry.write_bytes(whole[:size])
            life = self.live(FILED)
            fate = life.about("recover")["fate"]  # of one whose first line is cut off the device is asked
            self.assertEqual(fate, "running")
            self.assertEqual(life.outcome()["status"], "measured")
            life.end()
            self.assertEqual(self.runs(), ["c/e1"])
        entry.write_bytes(b'{"id": "c/e9"}\n')
        self.assertIn("damaged", self.live(FILED).about("recover")["error"])

    def test_only_an_older_ledger_is_declared_durable(self):
        declared = {"ledger": "durable"}
        self.assertNotIn("ledger", self.live(FILED, declared).hello)
        self.assertIn("a new ledger begins", self.stderr())
        self.assertEqual(self.live(FILED, declared).hello["ledger"], "durable")
        self.assertNotIn("ledger", self.live(FILED).hello)

    def test_files_come_with_every_outcome(self):
        for end in ("Outcome('measured', {'objective': {'name': 'y', 'value': 1}}, files=['a.csv'])",
                    "(_ for _ in ()).throw(Failed('a leak', files=['a.csv']))"):  # fmt: skip
            shutil.rmtree(self.folder / "ledger", ignore_errors=True)
            life = self.live(f"def measure(p): return {end}\ndevice = dict(measure=measure)")
            life.about("start")
            self.assertEqual(life.outcome()["files"], ["a.csv"])
            life.end()

    def test_a_device_is_written_one_way_or_the_other(self):
        for source in ("device = {}", "device = dict(measure=print, submit=print)", "device = dict(submit=print)"):
            with self.assertRaisesRegex(AssertionError, "ended"):
                self.live(source)
        self.assertIn("write measure, or submit and poll", self.stderr())
        with self.assertRaisesRegex(AssertionError, "ended"):
            self.live("device = dict(mesure=print)")
        self.assertIn("a device has no mesure", self.stderr())


if __name__ == "__main__":
    os.environ["PYTHONPATH"] = str(pathlib.Path(__file__).parents[1])
    unittest.main()
