#!/usr/bin/env python3
"""A plan in the queue of a Bluesky queueserver, whichever it is, as an instrument of campaignd. docs/bridges.md

The item bears the command's ID in its metadata, and with it each run that the plan opens: so the command is found again in the queue, in
the history and in the documents, whatever was lost.
"""

import json
import pathlib
import time

from bluesky_queueserver_api import BPlan
from bluesky_queueserver_api.zmq import REManagerAPI
from event_model import unpack_event_page

from campaignd.device import Cancelled, CannotStop, Deferred, Device, Failed, Infeasible, Sign, Unknown

ID = "campaignd"  # of the command, among the metadata


class Queue(Device):
    every = 0.5

    def __init__(self):
        super().__init__()
        self.connection = None
        self.runs_of = {}  # the command of each file of documents
        self.read = {}  # how much of a run has been told
        self.removed = set()  # commands that were taken out of the queue
        self.missed = {}  # since when a command is not found

    # --- the manager

    @property
    def manager(self):
        if self.connection is None:
            s = self.settings
            self.connection = REManagerAPI(zmq_control_addr=s["address"], timeout_recv=s.get("timeout", 10))
        return self.connection

    def ask(self, method, **given):
        """As the manager has it now: the methods of the package answer from what they remember."""
        return self.manager.send_request(method=method, params=given)

    def queued(self, id):
        """The items of a command that wait, and the one that runs."""
        queue = self.ask("queue_get")
        running = queue["running_item"]
        return [item for item in queue["items"] if of(item) == id], running if of(running) == id else None

    def past(self, id):
        """The end of a command as the history has it."""
        return next((item for item in self.ask("history_get")["items"] if of(item) == id), None)

    def discard(self):
        """A plan that failed or was aborted is put back to the front of the queue, where it would be done again."""
        for item in self.ask("queue_get")["items"]:
            if of(item) and "result" in item:
                self.ask("queue_item_remove", uid=item["item_uid"])

    def operate(self):
        """Opens the environment and starts the queue, where the settings leave that to campaignd."""
        status = self.ask("status")
        if not self.settings.get("operates") or status["manager_state"] != "idle":
            return status
        if not status["worker_environment_exists"]:
            self.ask("environment_open")
        elif status["items_in_queue"]:
            self.discard()
            items = self.ask("queue_get")["items"]
            if items and all(of(item) for item in items):  # who adds others starts them
                self.ask("queue_start")
        return status

    # --- the device

    def describe(self):
        try:
            self.ask("status")
        except REManagerAPI.RequestTimeoutError as e:
            raise Deferred(f"{self.settings['address']} does not answer: {e}") from e
        return {
            "name": f"bluesky/{self.settings['plan']}", "identity": self.settings.get("identity", self.settings["address"]),
            "simulated": self.settings.get("simulated", False),
        }  # fmt: skip

    def acted(self, command):
        pass  # the other side writes the record of acts

    def reach(self):
        if not (folder := pathlib.Path(self.settings["documents"])).is_dir():
            raise Deferred(f"there is no folder {folder}")
        until = time.monotonic() + self.settings.get("opens_within", 60)
        while not (status := self.operate())["worker_environment_exists"] or status["manager_state"] == "creating_environment":
            if not self.settings.get("operates") or time.monotonic() > until:
                raise Deferred("the environment of the queueserver is not open")
            time.sleep(self.every)
        if status["plan_queue_mode"]["loop"]:
            raise Deferred("the queue is in its loop mode, in which each plan is done again")

    def submit(self, command):
        s = self.settings
        plan = BPlan(s["plan"], **s.get("fixed", {}), **{theirs: command.parameters[ours] for ours, theirs in s["parameters"].items()})
        plan.meta = {ID: command.id, "campaign": command.campaign}
        try:
            uid = self.manager.item_add(plan)["item"]["item_uid"]
        except REManagerAPI.RequestFailedError as e:  # it is not in the queue
            raise self.ended(Deferred, str(e)) from e
        self.operate()
        return uid

    def find(self, command):
        waiting, running = self.queued(command.id)  # before the history: there it goes from here
        if item := running or self.past(command.id) or next(iter(waiting), None):
            return item["item_uid"]
        if self.documents(command.id):
            return command.handle or command.id
        if time.monotonic() - self.missed.setdefault(command.id, time.monotonic()) < self.settings.get("shows_within", 10):
            raise LookupError("the queueserver does not show the item yet")
        if self.settings.get("history") != "durable":
            raise Unknown("it is neither in the queue nor in the history, which may have lost it")
        return None

    def poll(self, handle):
        id = self.command.id
        waiting, running = self.queued(id)
        if running:
            return self.progress(id)
        if item := self.past(id):
            self.discard()
            return self.end(item["result"], self.documents(id))
        if waiting:
            self.operate()
            return Sign(text="in the queue")
        if id in self.removed:
            raise Cancelled("it was taken out of the queue")
        if documents := self.documents(id):
            return self.end({"exit_status": "unknown", "msg": "the queueserver has no record of it"}, documents)
        raise Unknown("it is neither in the queue nor in the history, and no document is of it")

    def progress(self, id):
        """A sign with each event: the manager alone does not show that the plan goes on."""
        documents = self.documents(id)
        if self.read.get(id) == len(documents):
            return None
        self.read[id] = len(documents)
        points = next((doc["num_points"] for name, doc in documents if name == "start" and "num_points" in doc), None)
        events = sum(name == "event" for name, _ in documents)
        return Sign(min(events / points, 1) if points else None, f"{events} readings")

    def end(self, result, documents):
        status, cause = result["exit_status"], result.get("msg") or ""
        if status == "unknown":  # the manager has lost it with its own life; the documents may know
            stops = [doc for name, doc in documents if name == "stop"]
            if not stops or len(stops) < sum(name == "start" for name, _ in documents):
                raise Unknown(f"{cause}; its documents end after {sum(name == 'event' for name, _ in documents)} readings")
            status, cause = stops[-1]["exit_status"], stops[-1].get("reason") or cause
        quantities = [q for name in self.settings["quantities"] if (q := self.quantity(name, documents))]
        if status not in ("completed", "success"):
            raise self.ended(Failed, f"{status}: {cause}", quantities)
        if missing := set(self.settings["quantities"]) - {q["name"] for q in quantities}:
            raise Failed(f"its documents have no value of {', '.join(sorted(missing))}", quantities)
        objective = self.campaign["objective"]["name"]
        return {
            "objective": next(q for q in quantities if q["name"] == objective),
            "further": [q for q in quantities if q["name"] != objective],
        }

    def ended(self, otherwise, message, quantities=()):
        """Infeasible where the message says so, by the settings."""
        infeasible = any(text in message for text in self.settings.get("infeasible", ()))
        return Infeasible(message) if infeasible else otherwise(message, quantities)

    def stop(self, handle):
        id = self.command.id
        waiting, running = self.queued(id)
        for item in waiting:
            self.ask("queue_item_remove", uid=item["item_uid"])  # fails where it has begun meanwhile
            self.removed.add(id)
        if not running:
            return
        self.ask("re_pause", option="immediate")
        until = time.monotonic() + 10
        while self.ask("status")["manager_state"] != "paused":
            if time.monotonic() > until:
                raise CannotStop("the plan does not pause")
            time.sleep(0.1)
        self.ask("re_abort")

    # --- the documents

    def documents(self, id):
        """What the runs of a command have given, as (name, document): one file a run, a line each (JSONLinesWriter)."""
        found = []
        for path in pathlib.Path(self.settings["documents"]).glob("*.jsonl"):
            if self.runs_of.get(path, id) != id:
                continue
            whole = [line for line in path.read_text(encoding="utf-8").splitlines(keepends=True) if line.endswith("\n")]
            documents = [document for line in whole for document in events(**json.loads(line))]
            if not documents:
                continue
            self.runs_of[path] = documents[0][1].get(ID, "")
            if self.runs_of[path] == id:
                found.append(documents)
        return [document for run in sorted(found, key=lambda run: run[0][1]["time"]) for document in run]

    def quantity(self, name, documents):
        """The last reading of a field, which holds for more than one composition nowhere: the documents are of one command."""
        of = self.settings["quantities"][name]
        values = [doc["data"][of["field"]] for kind, doc in documents if kind == "event" and of["field"] in doc["data"]]
        return {"name": name, "value": values[-1], "unit": of.get("unit", "")} if values else None


def events(name, doc):
    """A page of events, as they are written, is as many documents."""
    return [("event", event) for event in unpack_event_page(doc)] if name == "event_page" else [(name, doc)]


def of(item):
    """The command of an item, or ""."""
    meta = item.get("meta") or {}
    return meta.get(ID, "") if isinstance(meta, dict) else ""


if __name__ == "__main__":
    Queue().run()
