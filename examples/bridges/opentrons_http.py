#!/usr/bin/env python3
"""A protocol on an Opentrons robot, over its HTTP API, as an instrument of campaignd. docs/bridges.md

Nothing moves before a run is told to play, and only who has made it knows its ID. The protocol bears the command's ID, so that a run
whose answers were lost is found by it; one that was never told to play is deleted, and cannot be told any more.
"""

import json
import pathlib
import re
import time
import urllib.error
import urllib.request
import uuid

from campaignd.device import Cancelled, CannotStop, Deferred, Device, Failed, Infeasible, Sign, Unknown, done


class Refused(Exception):
    """The robot has answered that it does not do this."""

    def __init__(self, code, told):
        self.code = code
        super().__init__("; ".join(e.get("detail", "") for e in told.get("errors", [])) or f"HTTP status {code}")


class Robot(Device):
    every = 1.0

    def __init__(self):
        super().__init__()
        self.seen = {}  # how far a run was
        self.length = {}  # the steps of its protocol

    # --- the connection

    def ask(self, method, path, data=None, form=None):
        """One request, sent once."""
        body, kind = (multipart(**form) if form else (json.dumps({"data": data}).encode(), "application/json")) if data or form else (None, "")
        request = urllib.request.Request(self.settings["url"] + path, body, {"Opentrons-Version": "*", "Content-Type": kind}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=self.settings.get("timeout", 10)) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as e:
            text = e.read()
            if e.code >= 500:
                raise
            try:
                raise Refused(e.code, json.loads(text)) from e
            except ValueError:
                raise Refused(e.code, {}) from e

    # --- the device

    def describe(self):
        try:
            health = self.ask("GET", "/health")
        except Exception as e:
            raise Deferred(f"{self.settings['url']} does not answer: {e}") from e
        serial = health.get("robot_serial")
        return {
            "name": f"opentrons/{health['robot_model']}", "identity": f"{health['name']}, serial {serial}" if serial else health["name"],
            "simulated": self.settings.get("simulated", False),
        }  # fmt: skip

    def acted(self, command):
        pass  # the robot's side writes the record of acts

    def reach(self):
        for run in self.ask("GET", "/runs")["data"]:
            if run["current"] and run["status"] not in ("idle", "succeeded", "failed", "stopped"):
                raise Deferred(f"the robot has a run that is {run['status']}")

    def submit(self, command):
        try:
            form = {"files": (f"{command.id.replace('/', '.')}.py", self.protocol(command)), "key": command.id}
            protocol = self.ask("POST", "/protocols", form=form)["data"]
            steps = self.analysed(protocol)
            if self.called_off:
                raise Cancelled("it was called off before the run began")
            run = self.ask("POST", "/runs", {"protocolId": protocol["id"]})["data"]["id"]
        except Refused as e:  # nothing of it is there that could be played
            raise Deferred(str(e)) from e
        self.length[run] = steps
        self.ask("POST", f"/runs/{run}/actions", {"actionType": "play"})
        return run

    def protocol(self, command):
        """The protocol with the command in the place of its line COMMAND: a robot that has a file already keeps that one's key."""
        text = pathlib.Path(self.settings["protocol"]).read_text(encoding="utf-8")
        drawn = {part["stock"]: list(part["labels"]) for part in command.drawn if part.get("labels")}
        line = f"COMMAND = {({'id': command.id, 'parameters': command.parameters, 'drawn': drawn})!r}"
        text, n = re.subn(r"(?m)^COMMAND = .*$", lambda _: line, text)
        if n != 1:
            raise Deferred(f"{self.settings['protocol']} has {n} lines that begin with COMMAND = , and not one")
        return text.encode()

    def analysed(self, protocol):
        """How many steps the protocol has: the robot goes through it before anything moves."""
        until = time.monotonic() + self.settings.get("analysed_within", 120)
        while (summary := protocol["analysisSummaries"][-1])["status"] != "completed":
            if time.monotonic() > until:
                raise Deferred("the protocol is not analysed in time")
            time.sleep(0.2)
            protocol = self.ask("GET", f"/protocols/{protocol['id']}")["data"]
        analysis = self.ask("GET", f"/protocols/{protocol['id']}/analyses/{summary['id']}")["data"]
        if analysis["result"] != "ok":
            raise self.ended(Deferred, analysis["errors"])
        return len(analysis["commands"])

    def find(self, command):
        protocols = [p["id"] for p in self.ask("GET", "/protocols")["data"] if p.get("key") == command.id]
        for run in self.ask("GET", "/runs")["data"]:
            if run.get("protocolId") in protocols:
                if any(action["actionType"] == "play" for action in run["actions"]):
                    return run["id"]
                self.ask("DELETE", f"/runs/{run['id']}")  # fails where it plays by now
                return None
        if self.settings.get("runs") != "durable":
            raise Unknown("the robot has no run of it, and may have deleted one")
        return None

    def poll(self, handle):
        try:
            run = self.ask("GET", f"/runs/{handle}")["data"]
            protocol = self.ask("GET", f"/protocols/{run['protocolId']}")["data"]
        except Refused as e:
            raise Unknown(f"the robot has no run {handle}: {e}") from e
        if protocol.get("key") != self.command.id:
            raise Unknown(f"the run {handle} is of {protocol.get('key')}")
        if not run.get("ok", True):
            raise Unknown("the robot was switched off, or its server started anew, while the run was under way")
        if run["status"] == "succeeded":
            return self.measurement(handle) if self.settings.get("quantities") else done()
        if run["status"] == "failed":
            raise self.ended(Failed, run["errors"])
        if run["status"] == "stopped":
            raise Failed("it was stopped")
        return self.progress(handle, run)

    def progress(self, handle, run):
        """A sign with each step: a run that is paused, or waits for a person, gives none."""
        steps = self.ask("GET", f"/runs/{handle}/commands?pageLength=1")["meta"]
        now = (run["status"], steps["cursor"])
        if self.seen.get(handle) == now:
            return None
        self.seen[handle] = now
        of = self.length.get(handle)
        return Sign(min(steps["cursor"] / of, 1) if of else None, f"{run['status']}, step {steps['cursor'] + 1}")

    def measurement(self, handle):
        """What the plate reader has read in the well that the command was given."""
        total = self.ask("GET", f"/runs/{handle}/commands?pageLength=1")["meta"]["totalLength"]
        steps = self.ask("GET", f"/runs/{handle}/commands?cursor=0&pageLength={total}")["data"]
        reading = [step["id"] for step in steps if step["commandType"] == "absorbanceReader/read"]
        if not reading:
            raise Failed("the run has read no plate")
        read = self.ask("GET", f"/runs/{handle}/commands/{reading[-1]}")["data"]["result"]["data"]
        (well,) = self.command.labels(self.settings["wells"])
        quantities = [
            {"name": name, "value": read[str(of["wavelength"])][well], "unit": of["unit"]}
            for name, of in self.settings["quantities"].items()
        ]
        objective = self.campaign["objective"]["name"]
        return {
            "objective": next(q for q in quantities if q["name"] == objective),
            "further": [q for q in quantities if q["name"] != objective],
        }

    def ended(self, otherwise, errors):
        """Infeasible where the robot's message says so, by the settings."""
        message = "; ".join(deepest(e).get("detail", "") for e in errors)
        infeasible = any(text in message for text in self.settings.get("infeasible", ()))
        return (Infeasible if infeasible else otherwise)(message)

    def stop(self, handle):
        if handle is None:
            return  # submit looks whether it was called off
        try:
            self.ask("POST", f"/runs/{handle}/actions", {"actionType": "stop"})
        except Refused as e:
            if e.code != 409:  # it has ended
                raise CannotStop(str(e)) from e


def deepest(error):
    """What has caused an error: the outermost says that the protocol has failed."""
    while error.get("wrappedErrors"):
        error = error["wrappedErrors"][0]
    return error


def multipart(**fields):
    """A form with a file, as RFC 7578 has it."""
    boundary = uuid.uuid4().hex
    body = b""
    for name, value in fields.items():
        file, content = value if isinstance(value, tuple) else (None, value.encode())
        of = f'; filename="{file}"' if file else ""
        body += f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"{of}\r\n\r\n'.encode() + content + b"\r\n"
    return body + f"--{boundary}--\r\n".encode(), f"multipart/form-data; boundary={boundary}"


if __name__ == "__main__":
    Robot().run()
