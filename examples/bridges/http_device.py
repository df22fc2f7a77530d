"""A device behind HTTP, for examples/http.yaml: a mixer that measures a conductivity.

    python3 http_device.py --port 8732 --state device --seconds 0.5

It stands for a device's controller, and knows nothing of campaignd. A run gets a number of its own,
and goes on by itself: what was started is on the disk before the mixer moves, so that it is found
again when this program was killed. It acts as often as it is told to: that it is told once is for
who asks. Every act is a line in STATE/acts. Standard library only.
"""

import argparse
import json
import os
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, unquote, urlsplit


class Mixer:
    def __init__(self, folder, seconds):
        self.folder, self.seconds = folder, seconds
        self.lock = threading.Lock()
        self.runs = {}
        os.makedirs(folder, exist_ok=True)
        try:
            with open(os.path.join(folder, "runs")) as f:
                for line in f:
                    if line.endswith("\n") and line.strip():
                        run = json.loads(line)
                        self.runs[run["number"]] = run
        except FileNotFoundError:
            pass

    def write(self, name, line):
        with open(os.path.join(self.folder, name), "a") as f:
            f.write(line + "\n")
            f.flush()
            os.fsync(f.fileno())

    def start(self, key, inputs):
        with self.lock:
            run = {"number": str(1000 + len(self.runs)), "key": key, "inputs": inputs, "began": time.time(), "stopped": False}
            self.write("runs", json.dumps(run))
            self.runs[run["number"]] = run
            self.write("acts", key)
        return self.shown(run)

    def find(self, key):
        return [self.shown(run) for run in self.runs.values() if run["key"] == key]

    def stop(self, run):
        with self.lock:
            if self.shown(run)["state"] == "mixing":
                run["stopped"] = True
                self.write("runs", json.dumps(run))

    def shown(self, run):
        done = min(1, (time.time() - run["began"]) / self.seconds)
        shown = {"number": run["number"], "key": run["key"], "progress": round(done, 3)}
        if run["stopped"]:
            return {**shown, "state": "stopped", "message": "stopped by request"}
        if done < 1:
            return {**shown, "state": "mixing", "message": f"{done:.0%} of the time"}
        salt, dmc = run["inputs"]["salt"], run["inputs"]["dmc"]
        sigma = 12 - 8 * (salt - 1.1) ** 2 - 6 * (dmc - 0.6) ** 2
        return {**shown, "state": "done", "results": {"conductivity": {"value": round(sigma, 6), "unit": "mS/cm"}}}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def reply(self, code, value):
        text = json.dumps(value).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def run(self):
        return self.server.mixer.runs.get(unquote(urlsplit(self.path).path.rpartition("/")[2]))

    def do_POST(self):
        order = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if order["inputs"]["salt"] > 2:
            return self.reply(422, {"message": "it does not dissolve"})
        self.reply(201, self.server.mixer.start(order["key"], order["inputs"]))

    def do_GET(self):
        address = urlsplit(self.path)
        if address.path == "/device":
            salt = {"name": "lipf6", "unit": "mol/kg", "min": 0.2, "max": 2}
            dmc = {"name": "dmc", "min": 0, "max": 1}
            return self.reply(200, {"serial": "M2-0042", "inputs": [salt, dmc]})
        if address.path == "/runs":
            return self.reply(200, self.server.mixer.find(parse_qs(address.query)["key"][0]))
        run = self.run()
        self.reply(200, self.server.mixer.shown(run)) if run else self.reply(404, {"message": "no such run"})

    def do_DELETE(self):
        run = self.run()
        if run:
            self.server.mixer.stop(run)
        self.reply(200, self.server.mixer.shown(run)) if run else self.reply(404, {"message": "no such run"})

    def log_message(self, *_):
        pass


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--port", type=int, default=8732)
    parser.add_argument("--state", default="device", help="folder that remembers the runs")
    parser.add_argument("--seconds", type=float, default=0.5, help="how long a run takes")
    a = parser.parse_args()
    server = ThreadingHTTPServer(("127.0.0.1", a.port), Handler)
    server.mixer = Mixer(a.state, a.seconds)
    print(f"http://127.0.0.1:{server.server_port}", flush=True)
    server.serve_forever()
