#!/usr/bin/env python3
"""A device that speaks SCPI, as an instrument of campaignd: here a source meter, over PyVISA. docs/bridges.md

Such a device begins a measurement at INIT and goes on by itself. It takes no ID of ours, but most have a text that
can be written and read again, on their display or in their user data. The bridge writes the command's mark there in
the same message as INIT, so that after a crash of either side the device says itself whose measurement it holds.
"""

import hashlib
import threading
import time

import pyvisa

from campaignd.device import Deferred, Device, Failed, Sign, Unknown

BUSY = 16  # in the operation status register: measuring


class Meter(Device):
    every = 0.1

    def __init__(self):
        super().__init__()
        self.lock = threading.RLock()
        self.visa = self.identity = None

    # --- the line

    def open(self):
        if self.visa is None:
            self.visa = pyvisa.ResourceManager(self.settings.get("backend", "@py")).open_resource(
                self.settings["resource"], read_termination="\n", write_termination="\n",
                timeout=1000 * self.settings.get("timeout", 2),
            )  # fmt: skip
        return self.visa

    def ask(self, query, tries=2):
        """A query that has an effect is tried once."""
        with self.lock:
            try:
                return self.open().query(query).strip()
            except (pyvisa.VisaIOError, OSError):
                self.drain()
                if tries == 1:
                    raise
            return self.ask(query, tries - 1)

    def drain(self):
        """After a time-out the answer may still come, and would be taken for that of the next query: a measurement
        of another composition. So read on until the device answers a question that only one answer fits."""
        try:
            self.visa.write("*IDN?")
            ends = time.monotonic() + 10
            while self.identity is None or self.visa.read().strip() != self.identity:
                if self.identity is None or time.monotonic() > ends:
                    raise TimeoutError("the line is not in step")
        except (pyvisa.VisaIOError, OSError, AttributeError):
            if self.visa is not None:
                self.visa.close()
            self.visa = None  # the next query opens it again

    # --- the device

    def describe(self):
        try:
            self.identity = self.ask("*IDN?")
        except (pyvisa.VisaIOError, OSError) as e:
            raise Deferred(f"{self.settings['resource']} does not answer: {e}") from e
        return {
            "name": "scpi/source meter", "identity": self.identity, "simulated": self.settings.get("simulated", False),
            "parameters": [{"name": "voltage", "unit": "V", "min": 0, "max": 1}],
            "outputs": [{"name": "power", "unit": "mW"}],
        }  # fmt: skip

    def acted(self, command):
        pass  # the meter writes the record of acts

    def reach(self):
        if int(self.ask("STAT:OPER:COND?")) & BUSY:
            raise Deferred("it is measuring something else")

    def submit(self, command):
        try:  # nothing is measured before INIT
            self.ask(f"SOUR:VOLT {command.parameters['voltage']:.6f};:SOUR:VOLT?")
        except (pyvisa.VisaIOError, OSError) as e:
            raise Deferred(f"the voltage could not be set: {e}") from e
        mark = self.mark(command)
        if self.ask(f'DISP:TEXT "{mark}";:INIT;:DISP:TEXT?', tries=1) != f'"{mark}"':
            raise Unknown("the device did not take the mark")
        return mark

    def find(self, command):
        mark = command.handle or self.mark(command)
        if (shown := self.ask("DISP:TEXT?")) == f'"{mark}"':
            return mark
        raise Unknown(f"the device shows {shown} and not {mark}: it was switched off, or has measured something else since")

    def poll(self, handle):
        """One message, so that nothing can come between the mark and the value."""
        mark, status, volts = self.ask("DISP:TEXT?;:STAT:OPER:COND?;:SOUR:VOLT?").split(";")
        if mark != f'"{handle}"':
            raise Unknown(f"the device shows {mark} and not {handle}: it was switched off, or has measured something else since")
        if int(status) & BUSY:
            return Sign(text="measuring", next_by=10)
        current = float(self.ask("FETC?"))
        if abs(current) > 9e37:  # SCPI's "not a number"
            raise Failed("it has no value: " + self.ask("SYST:ERR?"))
        return {
            "actual": {"voltage": float(volts)},
            "objective": {"name": "power", "value": 1000 * float(volts) * current, "unit": "mW"},
            "further": [{"name": "current", "value": 1000 * current, "unit": "mA"}],
        }

    def stop(self, handle):
        self.ask("ABOR;:STAT:OPER:COND?")

    def mark(self, command):
        """What fits on a display: 32 characters here. Set `mark: whole` where whole IDs do."""
        if self.settings.get("mark") == "whole":
            return command.id
        return hashlib.sha256(command.id.encode()).hexdigest()[: self.settings.get("mark", 12)]


if __name__ == "__main__":
    Meter().run()
