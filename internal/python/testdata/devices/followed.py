"""A device that is followed: rig.py, over its socket. It can stop, and be asked for a run by our ID, or by its own."""

import json
import socket

from campaignd.device import Device, Failed, Outcome, Sign, Unknown


class Rig(Device):
    every = 0.05

    def ask(self, **request):
        with socket.socket(socket.AF_UNIX) as s:
            s.settimeout(5)
            s.connect(self.settings["socket"])
            s.sendall(json.dumps(request).encode() + b"\n")
            return json.loads(s.makefile().readline())

    def describe(self):
        return {
            "name": "test/followed", "identity": "a rig", "capacity": 2, "simulated": True,
            "parameters": [{"name": "x", "min": 0, "max": 1}],
            "outputs": [{"name": "y", "unit": "mS/cm"}],
        }  # fmt: skip

    def acted(self, command):
        pass  # the rig writes it

    def submit(self, command):
        return self.ask(op="submit", id=command.id, parameters=command.parameters)

    def find(self, command):
        if command.handle is None and self.settings.get("by") == "handle":
            raise Unknown("the rig cannot be asked by our ID")
        return command.handle or self.ask(op="find", id=command.id)

    def poll(self, handle):
        run = self.ask(op="poll", handle=handle)
        if run is None:
            raise Unknown("the rig knows no %s" % handle)
        if run["state"] == "stopped":
            raise Failed("it was stopped")
        if run["state"] == "done":
            value = 12 - (run["parameters"]["x"] - 0.4) ** 2
            return Outcome("measured", {
                "objective": {"name": "y", "value": value, "unit": "mS/cm"}, "actual": run["parameters"],
            })  # fmt: skip
        return Sign(fraction=max(0.0, 1 - run["left"] / run["of"]), text="at work", next_by=5)

    def stop(self, handle):
        self.ask(op="stop", handle=handle)


if __name__ == "__main__":
    Rig().run()
