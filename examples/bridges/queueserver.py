#!/usr/bin/env python3
"""A plan in the queue of a Bluesky queueserver, whichever it is, as an instrument of campaignd. docs/bridges.md

The item bears the command's ID in its metadata, and with it each run that the plan opens: so the command is found again in the queue, in
the history and in the documents, whatever was lost.
"""

import json
import pathlib
import time

import zmq

from campaignd.device import Cancelled, CannotStop, Deferred, Device, Failed, Infeasible, Sign, Unknown

ID = "campaignd"  # of the command, among the metadata


class Away(Exception):
    """The manager is not there: nothing was sent."""


class Refused(Exception):
    """The manager has answered that it does not do this."""


class Queue(Device):
    every = 0.5

    def __init__(self):
        super().__init__()
        self.runs_of = {}  # the command of each file of documents
        self.read = {}  # how many documents a command had, and since when
        self.removed = set()  # commands that were taken out of the queue
        self.missed = {}  # since when a command is not found

    # --- the manager

    def ask(self, method, **given):
        """One request, over a connection of its own, and only to a manager that is there: one that comes later would still be sent it.

        The client of the package (ZMQCommSendThreads in 0.0.25) now and then waits for ever, or misses an answer: its two threads race for their events.
        """
        address, timeout = self.settings["address"], 1000 * self.settings.get("timeout", 10)
        with zmq.Context.instance().socket(zmq.REQ) as socket:
            socket.linger, socket.immediate = 0, True
            socket.connect(address)
            if not socket.poll(timeout, zmq.POLLOUT):
                raise Away(f"there is no manager at {address}")
            socket.send_json({"method": method, "params": given})
            if not socket.poll(timeout):
                raise TimeoutError(f"{address} does not answer")
            answer = socket.recv_json()
        if not answer.get("success", True):
            raise Refused(answer["msg"])
        return answer

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
        except (Away, TimeoutError) as e:
            raise Deferred(str(e)) from e
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
        given = {theirs: command.parameters[ours] for ours, theirs in s["parameters"].items()}
        item = {
            "item_type": "plan", "name": s["plan"], "kwargs": {**s.get("fixed", {}), **given},
            "meta": {ID: command.id, "campaign": command.campaign},
        }  # fmt: skip
        try:
            added = self.ask("queue_item_add", item=item, user="campaignd", user_group=s.get("user_group", "primary"))
        except (Away, Refused) as e:
            raise self.ended(Deferred, str(e)) from e
        self.operate()
        return added["item"]["item_uid"]

    def find(self, command):
        waiting, running = self.queued(command.id)  # before the history, into which it goes from here
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
            return self.end(id, item["result"])
        if waiting:
            self.operate()
            return Sign(text="in the queue")
        if id in self.removed:
            raise Cancelled("it was taken out of the queue")
        if self.documents(id):
            return self.end(id, {"exit_status": "unknown", "msg": "the queueserver has no record of it"})
        raise Unknown("it is neither in the queue nor in the history, and no document is of it")

    def progress(self, id):
        """A sign with each event: the manager alone does not show that the plan goes on."""
        documents = self.documents(id)
        if self.read.get(id, (None,))[0] == len(documents):
            return None
        self.read[id] = len(documents), time.monotonic()
        points = next((doc["num_points"] for name, doc in documents if name == "start" and "num_points" in doc), None)
        events = sum(name == "event" for name, _ in documents)
        return Sign(min(events / points, 1) if points else None, f"{events} readings")

    def end(self, id, result):
        status, cause, documents = result["exit_status"], result.get("msg") or "", self.documents(id)
        if status == "unknown":  # the manager has lost it with its own life; the documents may know
            stops = [doc for name, doc in documents if name == "stop"]
            if not stops or len(stops) < sum(name == "start" for name, _ in documents):
                sign = self.progress(id)
                # The worker goes on where the manager alone was killed.
                if time.monotonic() - self.read[id][1] < self.settings.get("settles_within", 30):
                    return sign
                raise Unknown(f"{cause}; its documents have no end, after {sum(name == 'event' for name, _ in documents)} readings")
            status, cause = stops[-1]["exit_status"], stops[-1].get("reason") or cause
        quantities = [q for name in self.settings["quantities"] if (q := self.quantity(name, documents))]
        if status not in ("completed", "success"):
            raise self.ended(Failed, f"{status}: {cause}" if cause else status, quantities)
        if missing := set(self.settings["quantities"]) - {q["name"] for q in quantities}:
            raise self.ended(Failed, f"its documents have no value of {', '.join(sorted(missing))}", quantities)
        objective = self.campaign["objective"]["name"]
        return {
            "objective": next(q for q in quantities if q["name"] == objective),
            "further": [q for q in quantities if q["name"] != objective],
        }

    def ended(self, otherwise, message, quantities=()):
        """Infeasible where the message says so, by the settings."""
        if any(text in message for text in self.settings.get("infeasible", ())):
            return Infeasible(message)
        # Of what has failed, quantities are taken where the campaign declares several.
        return otherwise(message, quantities if self.campaign.get("quantities") else ())

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
        """The last reading of a field."""
        of = self.settings["quantities"][name]
        values = [doc["data"][of["field"]] for kind, doc in documents if kind == "event" and of["field"] in doc["data"]]
        return {"name": name, "value": values[-1], "unit": of.get("unit", "")} if values else None


def events(name, doc):
    """A page of events, as they are written, is as many documents."""
    if name != "event_page":
        return [(name, doc)]
    return [("event", {"data": {field: column[i] for field, column in doc["data"].items()}}) for i in range(len(doc["seq_num"]))]


def of(item):
    """The command of an item, or ""."""
    meta = item.get("meta") or {}
    return meta.get(ID, "") if isinstance(meta, dict) else ""


if __name__ == "__main__":
    Queue().run()
