#!/usr/bin/env python3
"""A source meter with a solar cell at its terminals, for trying scpi.py without one. Standard library only.

    python3 scpi_peer.py 5025 [--acts FILE] [--late N]

It has the commands that such devices have, a source that is set in steps of 1 mV, and a measurement that takes a
while. --late answers each N-th query so late that a caller has given up. Each measurement is a line in FILE.
"""

import argparse
import json
import math
import random
import socketserver
import threading
import time

options = argparse.ArgumentParser()
options.add_argument("port", type=int)
options.add_argument("--acts")
options.add_argument("--late", type=int, default=0)
options.add_argument("--takes", type=float, default=0.3)
options = options.parse_args()


class Meter:
    """What is the same for every connection; it is gone with the power."""

    def __init__(self):
        self.lock = threading.RLock()
        self.volts, self.text, self.errors, self.queries = 0.0, "", [], 0
        self.run = None  # when it ends, its mark, the voltage, the reading

    def reading(self, volts):
        """The current of a solar cell in A, with the noise of the meter."""
        return 0.0352 - 1.2e-10 * (math.exp(volts / 0.0295) - 1) + random.gauss(0, 2e-6)

    def record(self, line):
        if options.acts:
            with open(options.acts, "a") as f:
                f.write(line + "\n")

    def settle(self):
        if self.run and self.run["value"] is None and time.monotonic() >= self.run["ends"]:
            self.run["value"] = self.reading(self.run["volts"])
            self.record(self.run["mark"] + " end")

    def obey(self, command):
        """Carries out one command, and returns the answer of a query."""
        with self.lock:
            self.settle()
            word, _, value = command.partition(" ")
            word = word.lstrip(":").upper()
            busy = self.run is not None and self.run["value"] is None
            if word == "*IDN?":
                return "ACME,SMU 1,0042,1.0"
            if word == "SYST:ERR?":
                return self.errors.pop(0) if self.errors else '0,"No error"'
            if word == "SOUR:VOLT":
                self.volts = round(float(value), 3)
            elif word == "SOUR:VOLT?":
                return f"{self.volts:.3f}"
            elif word == "DISP:TEXT":
                self.text = value.strip('"')[:32]
            elif word == "DISP:TEXT?":
                return f'"{self.text}"'
            elif word == "STAT:OPER:COND?":
                return "16" if busy else "0"
            elif word == "INIT" and busy:
                self.errors.append('-213,"Init ignored"')
            elif word == "INIT":
                self.run = {"mark": self.text, "volts": self.volts, "value": None, "ends": time.monotonic() + options.takes}
                self.record(f"{self.text} begin " + json.dumps({"voltage": self.volts}))
            elif word == "ABOR":
                if busy:
                    self.record(self.run["mark"] + " end")
                self.run = None
            elif word == "FETC?":
                if self.run and not busy:
                    return f"{self.run['value']:.6e}"
                self.errors.append('-230,"Data corrupt or stale"')
                return "9.91e37"
            else:
                self.errors.append(f'-113,"Undefined header;{word}"')
        return None


class Connection(socketserver.StreamRequestHandler):
    def handle(self):
        for line in self.rfile:
            answers = [a for a in map(meter.obey, line.decode().strip().split(";")) if a is not None]
            if not answers:
                continue
            meter.queries += 1
            if options.late and meter.queries % options.late == 0:
                time.sleep(1.0)
            try:
                self.wfile.write((";".join(answers) + "\n").encode())
            except OSError:
                return


class Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = daemon_threads = True

    def handle_error(self, *_):
        pass


meter = Meter()


def clock():  # a measurement ends by itself
    while True:
        time.sleep(0.01)
        with meter.lock:
            meter.settle()


threading.Thread(target=clock, daemon=True).start()
with Server(("127.0.0.1", options.port), Connection) as server:
    print("ready at", server.server_address[1], flush=True)
    server.serve_forever()
