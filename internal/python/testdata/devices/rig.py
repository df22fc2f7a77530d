"""A device that goes on by itself, whoever listens: `rig.py SOCKET ACTS [SECONDS]` takes a JSON object on each connection."""

import json
import os
import socketserver
import sys
import threading
import time

address, acts, seconds = sys.argv[1], sys.argv[2], float(sys.argv[3]) if len(sys.argv) > 3 else 0.3
runs = {}
lock = threading.Lock()


def record(line):
    with open(acts, "a") as f:
        f.write(line + "\n")


def work(run):
    record(run["id"] + " begin " + json.dumps(run["parameters"]))
    while time.monotonic() < run["end"] and not run["stopped"]:
        time.sleep(0.01)
    record(run["id"] + " end")
    run["state"] = "stopped" if run["stopped"] else "done"


class Request(socketserver.StreamRequestHandler):
    def handle(self):
        q = json.loads(self.rfile.readline())
        with lock:
            if q["op"] == "submit":  # it takes any identifier, and begins each time that it is asked
                handle = "run %d" % (len(runs) + 1)
                runs[handle] = run = {**q, "end": time.monotonic() + seconds, "stopped": False, "state": "running"}
                threading.Thread(target=work, args=(run,), daemon=True).start()
                reply = handle
            elif q["op"] == "find":
                reply = next((h for h, run in runs.items() if run["id"] == q["id"]), None)
            elif q["op"] == "stop":
                runs[q["handle"]]["stopped"] = True
                reply = None
            else:
                reply = runs.get(q["handle"])
                reply = reply and {**reply, "left": reply["end"] - time.monotonic(), "of": seconds}
        self.wfile.write(json.dumps(reply).encode() + b"\n")


class Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True
    request_queue_size = 64


with Server(address, Request) as server:
    print("ready", flush=True)
    server.serve_forever()
