#!/usr/bin/env python3
"""A program of a functional unit of an OPC UA server as OPC 30500-1 (LADS) has it, as an instrument of campaignd. docs/bridges.md

The run takes the command's ID as its SupervisoryTaskId, and its result keeps it: so the device can be asked for it whatever
was lost, an answer, the ledger or the bridge.
"""

import logging
import os
import threading
import time

from asyncua import ua
from asyncua.sync import Client, new_node

from campaignd.device import CannotStop, Deferred, Device, Ended, Failed, Infeasible, Sign, Unknown

# The states by their numbers in the standard's node set: their texts may be in any language.
STATES = {5085: "stopped", 5099: "running", 5100: "stopping", 5143: "clearing", 5159: "aborting", 5160: "aborted"}
COMPLETE = 5128  # of a running unit


class Unit(Device):
    every = 0.5

    def __init__(self):
        super().__init__()
        self.lock = threading.RLock()
        self.client = None
        self.others = set()  # results that are known to be of other runs
        self.stopped = set()  # runs that were stopped from here
        self.asked = {}  # since when a run is missed

    # --- the connection

    def ask(self, what, *given):
        """Over one connection; over another after whatever went wrong with it."""
        with self.lock:
            try:
                if self.client is None:
                    self.connect()
                return what(*given)
            except Ended:
                raise
            except Exception:
                self.disconnect()
                raise

    def connect(self):
        s = self.settings
        self.client = Client(s["url"], timeout=s.get("timeout", 4))
        if "security" in s:
            self.client.set_security_string(s["security"])
        if "user" in s:
            self.client.set_user(s["user"])
            self.client.set_password(os.environ[s["password_from"]])
        self.client.connect()
        self.client.load_data_type_definitions()
        self.device = child(self.client.nodes.objects, "DeviceSet", s["device"])
        unit = child(self.device, "FunctionalUnitSet", s["unit"])
        self.machine = child(unit, "FunctionalUnitState")
        self.active = child(unit, "ProgramManager", "ActiveProgram")
        self.results = child(unit, "ProgramManager", "ResultSet")
        program = child(unit, "ProgramManager", "ProgramTemplateSet", s["program"])
        self.template = child(program, "DeviceTemplateId").read_value()
        self.start = child(self.machine, "StartProgram").nodeid
        self.others.clear()

    def disconnect(self):
        with self.lock:
            client, self.client = self.client, None
            if client is not None:
                try:
                    client.disconnect()
                except Exception as e:
                    print(f"the connection was not closed: {e}")

    def values(self, node):
        """The variables of a node by their names. None: the device has no value at present."""
        variables = names(node, ua.NodeClass.Variable)
        read = self.client.read_attributes([self.client.get_node(v) for v in variables.values()], ua.AttributeIds.Value)
        return {name: data.Value.Value if data.StatusCode.is_good() else None for name, data in zip(variables, read)}

    # --- the device

    def describe(self):
        try:
            plate = self.ask(lambda: self.values(self.device))
        except LookupError:  # a name in the settings
            raise
        except Exception as e:
            raise Deferred(f"{self.settings['url']} does not answer: {type(e).__name__} {e}") from e
        model, serial = text(plate.get("Model")), plate.get("SerialNumber")
        return {
            "name": f"lads/{self.settings['device']}/{self.settings['unit']}",
            "identity": self.settings.get("identity") or (f"{model}, serial {serial}" if serial else self.settings["device"]),
            "simulated": self.settings.get("simulated", False),
        }

    def acted(self, command):
        pass  # the device's side writes the record of acts

    def reach(self):
        if (state := self.ask(self.state)) != "stopped":
            raise Deferred(f"{self.settings['unit']} is {state}")

    def submit(self, command):
        try:
            return self.ask(self.start_program, command)
        except ua.UaStatusCodeError as e:
            name = type(e).__name__
            for ended, names_of in ((Infeasible, ["BadOutOfRange"]), (Deferred, ["BadInvalidState", "BadInvalidArgument"])):
                if name in self.settings.get(ended.status, names_of):
                    raise ended(f"{name}: {e}") from e
            raise

    def start_program(self, command):
        given = [
            ua.KeyValueType(Key=theirs, Value=str(command.parameters[ours]))
            for ours, theirs in self.settings["parameters"].items()
        ]
        return self.machine.call_method(
            self.start, self.template, ua.Variant(given, ua.VariantType.ExtensionObject), command.campaign, command.id,
            [ua.SampleInfoType(SampleId=command.id)],
        )  # fmt: skip

    def find(self, command):
        return self.ask(self.look_for, command)

    def look_for(self, command):
        running = self.running()  # before the results, of which it may be the next
        if (result := self.result(command)) is not None:
            return result["DeviceProgramRunId"] or command.id
        if running:
            raise LookupError("a program is running whose result does not say yet for whom")
        if self.early(command):
            raise LookupError("the device does not show the run yet")
        if self.settings.get("results") != "durable":
            raise Unknown("the device has no result of it, and may have lost one")
        return None

    def poll(self, handle):
        return self.ask(self.progress, handle)

    def progress(self, handle):
        command = self.command
        running = self.running()  # before the result, which is complete when the run has ended
        result = self.result(command)
        if running in (handle, True):
            now = self.values(self.active)
            done, whole = now.get("CurrentRuntime"), now.get("EstimatedRuntime")
            return Sign(min(done / whole, 1) if done is not None and whole else None, text(now.get("CurrentStepName")))
        if result is None and handle in self.stopped:
            raise Failed("it was stopped, and the device has kept nothing of it")
        if result is None or (ended := result.get("Stopped")) is None or ended.year < 1970:
            if self.early(command):
                return None
            what = "no result of" if result is None else "no end of"
            raise Unknown(f"the device has {what} the run {handle}: it was started anew, or somebody has removed it")
        quantities = [self.quantity(result["node"], name, of) for name, of in self.settings["quantities"].items()]
        # Of what has failed, quantities are taken where the campaign declares several.
        given = [q for q in quantities if q] if self.campaign.get("quantities") else []
        if handle in self.stopped:
            raise Failed("it was stopped", given)
        objective = self.campaign["objective"]["name"]
        for name, q in zip(self.settings["quantities"], quantities):
            if q is None:
                raise Failed(f"its result has no value of {name}", given)
        return {
            "objective": next(q for q in quantities if q["name"] == objective),
            "further": [q for q in quantities if q["name"] != objective],
        }

    def stop(self, handle):
        self.ask(self.stop_program, handle)

    def stop_program(self, handle):
        if self.running() not in (handle, True):
            return  # it has ended
        if "Stop" not in names(self.machine, ua.NodeClass.Method):
            raise CannotStop("the unit has no method Stop")
        self.machine.call_method(child(self.machine, "Stop").nodeid)
        self.stopped.add(handle)

    # --- what the unit tells

    def state(self):
        number = child(self.machine, "CurrentState", "Id").read_value().Identifier
        return STATES.get(number, f"in the state {number}")

    def running(self):
        """The run that is under way, True where the device does not name it, or False."""
        if self.state() in ("stopped", "aborted", "clearing"):
            return False
        if "RunningStateMachine" in names(self.machine, ua.NodeClass.Object):
            if child(self.machine, "RunningStateMachine", "CurrentState", "Id").read_value().Identifier == COMPLETE:
                return False
        return self.values(self.active).get("DeviceProgramRunId") or True

    def result(self, command):
        """The result of the run that has the command's ID, or, where the device keeps no such IDs, its handle."""
        for id in names(self.results, ua.NodeClass.Object, ua.ObjectIds.HasComponent).values():
            if id in self.others:
                continue
            node = self.client.get_node(id)
            told = {"DeviceProgramRunId": None, **self.values(node), "node": node}
            task, run = told.get("SupervisoryTaskId"), told["DeviceProgramRunId"]
            if task == command.id or run and run == command.handle and not task:
                return told
            if task:
                self.others.add(id)
        return None

    def quantity(self, result, name, of):
        *folders, variable = of["variable"].split("/")
        try:
            node = child(result, "VariableSet", *folders, variable)
        except LookupError:
            return None
        data = node.read_data_value(raise_on_bad_status=False)
        if not data.StatusCode.is_good() or data.Value.Value is None:
            return None
        unit = of["unit"] if "unit" in of else text(getattr(self.values(node).get("EngineeringUnits"), "DisplayName", None))
        return {"name": name, "value": data.Value.Value, "unit": unit}

    def early(self, command):
        """Whether the device still has time to show a run that was asked for."""
        since = self.asked.setdefault(command.id, time.monotonic())
        return time.monotonic() - since < self.settings.get("shows_within", 10)


def names(node, kind, references=ua.ObjectIds.HierarchicalReferences):
    return {d.BrowseName.Name: d.NodeId for d in node.get_children_descriptions(references, kind)}


def child(node, *path):
    """By names alone: of whose namespace they are differs from device to device."""
    for name in path:
        of = names(node, ua.NodeClass.Unspecified)
        if name not in of:
            raise LookupError(f"{node.read_browse_name().Name} has no {name}; it has {', '.join(of)}")
        node = new_node(node, of[name])
    return node


def text(localized):
    return getattr(localized, "Text", None) or ""


if __name__ == "__main__":
    logging.getLogger("asyncua").setLevel(logging.CRITICAL)
    unit = Unit()
    try:
        unit.run()
    finally:
        unit.disconnect()
