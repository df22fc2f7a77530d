#!/usr/bin/env python3
"""A Bluesky queueserver to try queueserver.py with: the real one, and a Redis, with the environment of queueserver_startup.py.

    python3 queueserver_peer.py 60615 [--acts FILE] [--takes SECONDS] [--fails N]

The plan fails in the Nth run. Needs `pip install bluesky-queueserver` and redis-server (Debian: apt install redis-server). All of it, its Redis and its worker
included, is one process group, and keeps what it knows in queueserver_data.
"""

import argparse
import importlib.util
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import time

import zmq

options = argparse.ArgumentParser()
options.add_argument("port", type=int)
options.add_argument("--acts")
options.add_argument("--takes", type=float, default=1.0)
options.add_argument("--fails", type=int, default=0)
options = options.parse_args()

here = pathlib.Path(__file__).absolute().parent
data = pathlib.Path("queueserver_data").absolute()
for folder in ("redis", "documents", "existing"):
    (data / folder).mkdir(parents=True, exist_ok=True)
if not shutil.which("redis-server"):
    sys.exit("redis-server is not installed (Debian: apt install redis-server)")
with socket.socket() as free:
    free.bind(("127.0.0.1", 0))
    redis = free.getsockname()[1]

signal.signal(signal.SIGTERM, lambda *_: sys.exit())
programs = [
    # Each change is on the disk before it is confirmed: by default the queue and the history of up to an hour would be lost.
    ["redis-server", "--port", f"{redis}", "--bind", "127.0.0.1", "--dir", f"{data / 'redis'}", "--appendonly", "yes", "--appendfsync", "always", "--save", ""],
    [
        f"{pathlib.Path(sys.executable).with_name('start-re-manager')}",
        "--zmq-control-addr", f"tcp://127.0.0.1:{options.port}", "--redis-addr", f"127.0.0.1:{redis}",
        "--startup-script", f"{here / 'queueserver_startup.py'}", "--existing-plans-devices", f"{data / 'existing'}",
        "--user-group-permissions", f"{pathlib.Path(importlib.util.find_spec('bluesky_queueserver').origin).parent / 'profile_collection_sim'}",
        "--keep-re", "--zmq-publish-console", "OFF",
    ],
]  # fmt: skip
environment = {**os.environ, "DOCUMENTS": f"{data / 'documents'}", "ACTS": options.acts or "", "TAKES": f"{options.takes}", "FAILS": f"{options.fails}"}
running = []
try:
    for program in programs:
        running.append(subprocess.Popen(program, env=environment, stdout=sys.stderr))
        until = time.monotonic() + 5
        while len(running) == 1 and time.monotonic() < until:
            try:
                socket.create_connection(("127.0.0.1", redis)).close()
                break
            except OSError:
                time.sleep(0.02)
    with zmq.Context.instance().socket(zmq.REQ) as socket:
        socket.connect(f"tcp://127.0.0.1:{options.port}")
        socket.send_json({"method": "ping", "params": {}})
        socket.recv_json()
    print("ready", flush=True)
    running[-1].wait()
finally:
    for program in reversed(running):
        program.terminate()
