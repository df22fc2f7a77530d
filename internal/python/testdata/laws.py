"""What holds of the package with nothing but the standard library; python_test.go runs it."""

import asyncio
import http.server
import inspect
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import urllib.request

import campaignd
from campaignd import Categorical, Definition, Maximize, Minimize, Number, Problem, Tradeoff, schema

ROOT = pathlib.Path(__file__).parents[3]

BENCH = dict(
    name="bench",
    parameters=[Number("x", 0, 1), Number("acid", 0, 1), Categorical("salt", ["LiPF6", "LiFSI"])],
    objective=Maximize("flow", unit="mL/s"),
    initial={"experiments": 3},
    budget={"experiments": 6},
    instrument="manual",
)


def served(test, **keys):
    folder = tempfile.TemporaryDirectory()
    test.addCleanup(folder.cleanup)
    lab = campaignd.local(folder.name, **keys)
    test.addCleanup(lab.close)
    return lab


def waits(test, what, until):
    deadline = time.monotonic() + 60
    while not until():
        test.assertLess(time.monotonic(), deadline, what)
        time.sleep(0.02)


class Definitions(unittest.TestCase):
    def test_every_key_of_the_schema_has_a_field_with_its_words(self):
        whole = json.loads((ROOT / "schemas" / "campaign.json").read_text(encoding="utf-8"))
        classes = {c.__name__: c for c in vars(schema).values() if inspect.isclass(c)}

        def look(name, node):
            for each in (node, *node.get("anyOf", ())):
                for key, value in each.get("properties", {}).items():
                    of = classes[name]
                    fields = {
                        f.metadata.get("key", f.name) for f in of.__dataclass_fields__.values()
                    }
                    self.assertIn(key, fields, name)
                    source = " ".join(inspect.getsource(of).split())
                    self.assertIn(
                        " ".join(value.get("description", "").split()), source, f"{name}.{key}"
                    )

        for name, node in whole["$defs"].items():
            plain = "".join(p[:1].upper() + p[1:] for p in name.split("_")[-1].split("-"))
            look(plain.removesuffix("Def"), node)
        look("Definition", whole)

    def test_a_keyword_that_there_is_not_is_refused_with_the_one_that_was_meant(self):
        for call, meant in (
            (lambda: Definition(nam="b"), '"name"'),
            (lambda: schema.Quantity(name="q", form="a + b"), '"from_"'),
            (lambda: Number("x", 0, 1, unti="g"), "unti"),
        ):
            with self.assertRaisesRegex(TypeError, meant):
                call()

    def test_keywords_dataclasses_mappings_and_yaml_are_the_same_file(self):
        lab = served(self)
        yaml = """
name: bench
parameters: [{name: x, min: 0, max: 1}, {name: acid, min: 0, max: 1}, {name: salt, categories: [LiPF6, LiFSI]}]
objective: {name: flow, goal: maximize, unit: mL/s}
initial: {experiments: 3}
budget: {experiments: 6}
instrument: manual
"""
        said = [lab.validate(s) for s in (yaml, Definition(**BENCH), Definition(**BENCH).as_file())]
        said.append(lab.validate(**BENCH))
        for other in said[1:]:
            self.assertEqual(said[0], other)

    def test_a_fault_is_named_as_it_was_written(self):
        lab = served(self)
        with self.assertRaises(Problem) as refused:
            lab.begin(**BENCH | {"parameters": [Number("x", 0, 1), Number("salt", 3, 1)]})
        self.assertEqual(refused.exception.code, "invalid")
        self.assertIn('parameters[1] "salt": max: ', str(refused.exception))
        self.assertNotIn("line ", str(refused.exception))
        with self.assertRaises(Problem) as refused:
            lab.begin("name: b\nbudget: {experiments: 0}\n")
        self.assertIn("line 2: budget.experiments", str(refused.exception))
        self.assertEqual(lab.campaigns(), [])


class Campaigns(unittest.TestCase):
    def test_parameters_stand_in_the_order_of_the_file(self):
        lab = served(self)
        c = lab.begin(**BENCH)
        order = ["x", "acid", "salt"]
        self.assertEqual(list(c.ask().parameters), order)
        for value in range(6):
            c.tell(c.ask(), float(value))
        self.assertEqual(list(c.best().measured.parameters), order)
        self.assertEqual([k for k in c.experiments()[0] if k in order], order)
        self.assertIn("<th>x</th><th>acid</th><th>salt</th>", c.explain("e6")._repr_html_())

    def test_a_notebook_can_be_run_again_from_its_first_cell(self):
        lab = served(self)
        first = lab.begin(**BENCH, resume=True)
        asked = first.ask()
        first.tell(asked, 1.5)
        again = lab.begin(**BENCH, resume=True)
        self.assertNotEqual(again.ask().id, asked.id)
        self.assertEqual(again.best().measured.value, 1.5)
        with self.assertRaisesRegex(Problem, "was not begun from this"):
            lab.begin(**BENCH | {"budget": {"experiments": 7}}, resume=True)
        with self.assertRaises(Problem):
            lab.begin(**BENCH)

    def test_more_than_the_campaign_has_open_are_refused_and_not_fewer_given(self):
        c = served(self).begin(**BENCH, parallel=2)
        self.assertEqual([e.id for e in c.ask(2)], ["e1", "e2"])
        with self.assertRaisesRegex(ValueError, "parallel=3"):
            c.ask(3)

    def test_nothing_of_people_is_markup_in_a_notebook(self):
        lab = served(self)
        evil = "<script>alert(1)</script>"
        c = lab.begin(
            **BENCH
            | {
                "objective": Maximize("flow", unit=evil),
                "description": evil,
                "parameters": [Categorical("salt", [evil, "b"]), Number("x", 0, 1)],
            }
        )
        for value in (1, 2, 3, 4, 5):
            c.tell(c.ask(), value)
        c.pause(evil)
        shown = [
            x._repr_html_()
            for x in (
                c,
                c.explain("e5"),
                c.audit(),
                c.diagnose(),
                campaignd.Batch([campaignd.Experiment(evil, {evil: evil})]),
            )
        ]
        self.assertTrue(
            any(evil.replace("<", "&lt;").replace(">", "&gt;") in s for s in shown), shown
        )
        for text in shown:
            self.assertNotIn("<script", text)

    def test_what_is_under_way_can_be_stopped(self):
        c = served(self).begin(**BENCH)
        e = c.ask()
        called_off = c.cancel(e, "the wrong bottle")
        self.assertTrue(called_off)
        for event in called_off:
            self.assertEqual((event["subject"], event["data"]["reason"]), (e.id, "the wrong bottle"))
        with self.assertRaisesRegex(Problem, "give one of the two"):
            c.cancel(e.id, end_program=True, voided="power")
        with self.assertRaisesRegex(Problem, "only an experiment whose fate is unknown"):
            c.resolve(table="experiment,outcome\ne1,failed\n", reason="it fell")
        with self.assertRaisesRegex(TypeError, "resolve takes the text of a CSV file"):
            c.resolve(table=3)
        self.assertEqual(c.abort("smoke")[0]["type"], "campaignd.campaign.paused")
        self.assertEqual(c.status()["status"], "paused")
        self.assertEqual(c.stop("smoke", now=True)[0]["type"], "campaignd.campaign.stopped")

    def test_numbers_are_read_as_people_write_them(self):
        c = served(self).begin(**BENCH)
        c.tell(c.ask(), "9,4", sd="0.1")
        self.assertEqual(c.best().measured.value, 9.4)
        for text in ("1,234", "about 9", "nan"):
            with self.assertRaisesRegex(ValueError, "value: .* is not a number"):
                c.tell(c.ask(), text)

    def test_a_card_does_not_wait_for_a_server_that_is_away(self):
        client = campaignd.Client("http://127.0.0.1:9")
        self.assertIn("no server answers", client.campaign("bench")._repr_html_())

    def test_a_tradeoff_has_a_front_in_place_of_a_best(self):
        c = served(self).begin(
            **BENCH
            | {
                "quantities": [
                    {"name": "flow", "unit": "mL/s"},
                    {"name": "price", "from": "2*acid + 1"},
                ],
                "objective": Tradeoff(Maximize("flow"), Minimize("price")),
            }
        )
        while (e := c.ask()) is not None:
            c.tell(e, quantities={"flow": 1 + e.parameters["x"]})
        self.assertIsNone(c.best().measured)
        self.assertIn("front()", repr(c.best()))
        rows = c.front_rows()
        self.assertEqual([k for k in rows[0] if k in ("x", "acid", "salt")], ["x", "acid", "salt"])
        self.assertIn("front: ", c._repr_html_())

    def test_an_instrument_of_the_lab_is_out_of_service_and_back(self):
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "lab.yaml").write_text("instruments: {oven: manual}")
            with campaignd.local(folder) as lab:
                (oven,) = lab.service("oven", out=True, reason="a new door")
                self.assertEqual((oven["out"], oven["reason"]), (True, "a new door"))
                lab.service("oven", out=False, calibrated_until="2999-12-31")
                (oven,) = lab.instruments()
                self.assertFalse(oven["out"])
                self.assertTrue(oven["calibrated_until"].startswith("3000-01-01T00:00:00"))
                with self.assertRaises(Problem) as refused:
                    lab.service("press", out=True)
                self.assertEqual(refused.exception.code, "not_found")

    def test_audit_and_exclusions(self):
        c = served(self).begin(**BENCH)
        for value in (1, 2, 3, 4):
            c.tell(c.ask(), value)
        kept = c.audit().checkpoint
        c.exclude({"x": (None, 0.9)}, "it gels")
        self.assertTrue(c.audit(since=kept).passed)
        with self.assertRaises(Problem):
            c.audit(since="made up\n1\nAAAA\n")
        self.assertEqual(len(c.status()["excluded"]), 1)


class Deaf(http.server.BaseHTTPRequestHandler):
    """A way to a server on which the first answer to what is told gets lost."""

    lost = 0

    def _forward(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0)) or None
        request = urllib.request.Request(
            self.server.upstream + self.path, body, dict(self.headers), method=self.command
        )
        with urllib.request.urlopen(request) as answer:
            text = answer.read()
        if self.path.endswith("/tell") and not Deaf.lost:
            Deaf.lost += 1
            self.close_connection = True
            return
        self.send_response(answer.status)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    do_GET = do_POST = _forward  # noqa: N815

    def log_message(self, *args):
        pass


class Repeats(unittest.TestCase):
    def test_what_was_told_is_recorded_once_though_the_answer_got_lost(self):
        lab = served(self)
        c = lab.begin(**BENCH)
        with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Deaf) as way:
            way.upstream = lab.url
            threading.Thread(target=way.serve_forever, daemon=True).start()
            through = campaignd.Client(f"http://127.0.0.1:{way.server_port}").campaign("bench")
            recorded = through.tell(c.ask(), 1.5)
            way.shutdown()
        self.assertEqual(Deaf.lost, 1)
        told = [e for e in c.events() if e["type"] == "campaignd.experiment.measured"]
        self.assertEqual([e["id"] for e in told], [e["id"] for e in recorded])


class Locals(unittest.TestCase):
    def test_a_server_ends_with_its_python_however_that_ends(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        script = (
            "import campaignd, sys; lab = campaignd.local(sys.argv[1]); "
            "print(lab._server.pid, flush=True); sys.stdin.readline()"
        )
        for end in (
            lambda python: python.send_signal(signal.SIGKILL),
            lambda python: python.communicate(b"\n"),
        ):
            with subprocess.Popen(
                [sys.executable, "-c", script, folder.name],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
            ) as python:
                server = int(python.stdout.readline())
                os.kill(server, 0)
                end(python)
                # The kernel is started again at once, and the server that was is just ending.
                with campaignd.local(folder.name) as lab:
                    self.assertTrue(lab.version())
                waits(self, "the server lives on", lambda server=server: not lives(server))

    def test_a_folder_has_one_server_and_never_none(self):
        lab = served(self)
        c = lab.begin(**BENCH)
        c.tell(c.ask(), 1.5)
        other = campaignd.local(lab.folder)
        self.addCleanup(other.close)
        self.assertEqual((lab.own, other.own, other.url), (True, False, lab.url))
        # It is killed: who started it starts another, and nothing is lost.
        lab._server.kill()
        lab._server.wait()
        self.assertEqual(c.best().measured.value, 1.5)
        # It is closed: the other one takes its place, at the same address.
        lab.close()
        theirs = other.campaign("bench")
        self.assertEqual(theirs.best().measured.value, 1.5)
        self.assertEqual((other.own, other.url), (True, lab.url))
        other.close()
        with self.assertRaisesRegex(campaignd.NotServed, "closed"):
            theirs.status()

    def test_a_server_that_does_not_start_says_why(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        (pathlib.Path(folder.name) / "lab.yaml").write_text("acounts: {}\n", encoding="utf-8")
        with self.assertRaisesRegex(
            campaignd.NotServed, r'lab.yaml:1.*unknown key "acounts"(?s:.)*accounts'
        ):
            campaignd.local(folder.name)

    def test_interrupting_a_cell_leaves_the_server_alone(self):
        lab = served(self)
        self.assertNotEqual(os.getpgid(lab._server.pid), os.getpgid(0))

    def test_without_the_program_it_says_how_to_get_it(self):
        was, os.environ["CAMPAIGND"] = os.environ["CAMPAIGND"], "/nowhere/campaignd"
        self.addCleanup(os.environ.__setitem__, "CAMPAIGND", was)
        with self.assertRaisesRegex(campaignd.ExtraNeeded, "/nowhere/campaignd"):
            campaignd.local(tempfile.gettempdir())


def lives(pid):
    try:
        os.kill(pid, 0)
        with open(f"/proc/{pid}/stat", encoding="utf-8") as stat:  # a zombie has ended
            return stat.read().rpartition(")")[2].split()[0] != "Z"
    except ProcessLookupError:
        return False
    except FileNotFoundError:
        return not os.path.isdir("/proc/self")


class Asyncio(unittest.TestCase):
    def test_each_method_has_its_coroutine(self):
        for of, its in (
            (campaignd.Campaign, campaignd.AsyncCampaign),
            (campaignd.Client, campaignd.AsyncClient),
        ):
            for name, method in inspect.getmembers(of, inspect.isfunction):
                if not name.startswith("_"):
                    theirs = getattr(its, name, None)
                    self.assertIsNotNone(theirs, f"{its.__name__}.{name}")
                    self.assertTrue(
                        inspect.iscoroutinefunction(theirs) or name in ("events", "campaign"), name
                    )
                    if theirs.__doc__ and name not in ("events", "campaign", "begin"):
                        self.assertEqual(theirs.__doc__, method.__doc__)

    def test_campaigns_run_at_the_same_time_and_one_that_waits_holds_up_none(self):
        lab = served(self)
        asks = dict(experts=[{"name": "ada", "web": {}}], policy={"trust": "coexbo"})

        async def loop(campaign):
            n = 0
            while (e := await campaign.ask()) is not None:
                await campaign.tell(e, e.parameters["x"])
                n += 1
            return n

        async def all_of_them():
            async with campaignd.AsyncClient(lab) as client:
                waiting = await client.begin(
                    **BENCH
                    | {"name": "waits", "initial": {"experiments": 2, "comparisons": 1}}
                    | asks
                )
                held = asyncio.create_task(loop(waiting))
                begun = [await client.begin(**BENCH | {"name": f"c{i}"}) for i in range(8)]
                done = await asyncio.gather(*(loop(c) for c in begun))
                held.cancel()
                with self.assertRaises(asyncio.CancelledError):
                    await held
                return done

        self.assertEqual(asyncio.run(all_of_them()), [6] * 8)
        # Whose task was cancelled asks no more.
        waits(
            self,
            "a thread goes on",
            lambda: not any(t.name.startswith("campaignd") for t in threading.enumerate()),
        )

    def test_events_are_followed(self):
        lab = served(self)
        c = lab.begin(**BENCH)

        async def first(n):
            async with campaignd.AsyncClient(lab) as client:
                seen = []
                async for event in client.campaign("bench").events(follow=True):
                    seen.append(event)
                    if len(seen) == n:
                        return seen

        there = list(c.events())
        self.assertEqual(asyncio.run(first(len(there))), there)


if __name__ == "__main__":
    unittest.main(verbosity=1)
