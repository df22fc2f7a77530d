#!/usr/bin/env python3
"""An observable command of a SiLA 2 server, whichever it is, as an instrument of campaignd. docs/bridges.md

The server gives each execution a CommandExecutionUUID: it is the handle, which the ledger and the campaign's log keep, and
by which an execution is found again for as long as the server lives.
"""

import pathlib
import threading
from datetime import timedelta
from uuid import UUID

from sila2.client import ClientObservableCommandInstance, SilaClient
from sila2.framework import (
    CommandExecutionNotAccepted, CommandExecutionNotFinished, DefinedExecutionError, InvalidCommandExecutionUUID,
    SilaConnectionError, UndefinedExecutionError, ValidationError,
)  # fmt: skip

from campaignd.device import Deferred, Device, Failed, Infeasible, Sign, Unknown


class Server(Device):
    every = 0.2

    def __init__(self):
        super().__init__()
        self.lock = threading.RLock()
        self.client = None
        self.executions = {}  # by their UUIDs: what tells how far they are

    # --- the connection

    def connected(self):
        with self.lock:
            if self.client is None:
                s = self.settings
                self.client = SilaClient(
                    s.get("address", "127.0.0.1"), s["port"], insecure=s.get("insecure", False),
                    root_certs=pathlib.Path(s["root_certs"]).read_bytes() if "root_certs" in s else None,
                )  # fmt: skip
            return self.client

    def disconnect(self):
        """gRPC waits ever longer before it connects again; a new channel does so at once."""
        with self.lock:
            for execution in self.executions.values():
                execution.cancel_execution_info_subscription()
            self.executions.clear()
            if self.client is not None:
                self.client._channel.close()
            self.client = None

    def observable(self):
        return getattr(getattr(self.connected(), self.settings["feature"]), self.settings["command"])

    # --- the device

    def describe(self):
        try:
            service = self.connected().SiLAService
            name, kind = service.ServerName.get(), service.ServerType.get()
        except SilaConnectionError as e:
            self.disconnect()
            raise Deferred(f"the SiLA server does not answer: {e}") from e
        return {
            # Not the ServerUUID: many servers draw it anew at each start.
            "name": f"sila/{kind}", "identity": self.settings.get("identity", name),
            "capacity": self.settings.get("capacity", 1), "simulated": self.settings.get("simulated", False),
        }  # fmt: skip

    def acted(self, command):
        pass  # the server's side writes the record of acts

    def reach(self):
        try:
            self.connected().SiLAService.ServerName.get()
        except SilaConnectionError:
            self.disconnect()
            raise

    def submit(self, command):
        given = {theirs: command.parameters[ours] for ours, theirs in self.settings["parameters"].items()}
        if label := self.settings.get("label"):  # what the server's own records call it
            given[label] = command.id
        try:
            execution = self.observable()(**given)
        except ValidationError as e:
            raise Infeasible(str(e)) from e
        except CommandExecutionNotAccepted as e:
            raise Deferred(str(e)) from e
        handle = str(execution.execution_uuid)
        with self.lock:
            self.executions[handle] = execution
        return handle

    def poll(self, handle):
        try:
            uuid = UUID(handle)
        except ValueError as e:
            raise Unknown(f"{handle} is no CommandExecutionUUID") from e
        with self.lock:
            if handle not in self.executions:
                command = self.observable()
                self.executions[handle] = ClientObservableCommandInstance(self.client, command, uuid, timedelta(0))
            execution = self.executions[handle]
        try:
            responses = execution.get_responses()
        except CommandExecutionNotFinished:
            return Sign(execution.progress, self.remaining(execution))
        except InvalidCommandExecutionUUID as e:
            raise Unknown(f"the server knows no execution {handle}: it was started anew, or its lifetime is over") from e
        except DefinedExecutionError as e:
            name = e.fully_qualified_identifier.split("/")[-1]
            for ended in (Infeasible, Deferred):
                if name in self.settings.get(ended.status, ()):
                    raise ended(f"{name}: {e}") from e
            raise Failed(f"{name}: {e}") from e
        except UndefinedExecutionError as e:
            raise Failed(str(e)) from e
        except SilaConnectionError:
            self.disconnect()
            raise
        with self.lock:
            self.executions.pop(handle).cancel_execution_info_subscription()
        quantities = [
            {"name": name, "value": getattr(responses, of["response"]), "unit": of.get("unit", "")}
            for name, of in self.settings["quantities"].items()
        ]
        objective = self.campaign["objective"]["name"]
        return {
            "objective": next(q for q in quantities if q["name"] == objective),
            "further": [q for q in quantities if q["name"] != objective],
        }

    def remaining(self, execution):
        left = execution.estimated_remaining_time
        return "" if left is None else f"{left.total_seconds():.0f} s remain, as the server says"


if __name__ == "__main__":
    server = Server()
    try:
        server.run()
    finally:
        server.disconnect()
