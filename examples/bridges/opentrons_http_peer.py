#!/usr/bin/env python3
"""A robot to try opentrons_http.py with: a Flex with a plate reader, as far as the HTTP API of the robot's server (robot-server, which is in no
registry) has protocols, runs, actions and commands. What a protocol does is asked of the robot's own engine. `pip install opentrons`

    python3 opentrons_http_peer.py 31950 [--acts FILE] [--takes SECONDS] [--loses-run N] [--loses-play N]

Each run that plays is a line in FILE, with the tips and wells that the engine says are used. The answers to the Nth run that is made, and to the Nth
that is told to play, are lost. Protocols, runs and how they ended are kept in opentrons_http_data; what runs ends with the program.
"""

import argparse
import asyncio
import email.parser
import email.policy
import json
import math
import os
import pathlib
import re
import tempfile
import threading
import time
import uuid
from datetime import datetime, timezone
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

options = argparse.ArgumentParser()
options.add_argument("port", type=int)
options.add_argument("--acts")
options.add_argument("--takes", type=float, default=1.0)
options.add_argument("--loses-run", type=int)
options.add_argument("--loses-play", type=int)
options = options.parse_args()

lock = threading.RLock()
data = pathlib.Path("opentrons_http_data").absolute()
data.mkdir(exist_ok=True)
os.environ.setdefault("OT_API_CONFIG_DIR", f"{data}")  # the engine makes settings of a robot there
kept = data / "kept.json"
state = json.loads(kept.read_text()) if kept.exists() else {"protocols": {}, "runs": {}}
engine = {}  # of the current run: id, status, commands
made = {"run": 0, "play": 0}


def keep():
    part = kept.with_suffix(".part")
    part.write_text(json.dumps(state))
    os.replace(part, kept)


def now():
    return datetime.now(timezone.utc).isoformat()


async def simulate(text):
    """The commands of a protocol, by the engine of the robot, with everything but the protocol simulated."""
    from opentrons.protocol_reader import ProtocolReader
    from opentrons.protocol_runner.create_simulating_orchestrator import create_simulating_orchestrator
    from opentrons.protocol_runner.run_coordinator import ParseMode

    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder, "protocol.py")
        file.write_text(text)
        source = await ProtocolReader().read_saved(files=[file], directory=None)
        orchestrator = await create_simulating_orchestrator(source.robot_type, source.config)
        await orchestrator.load(source, run_time_param_values={}, run_time_param_paths={}, parse_mode=ParseMode.NORMAL)
        result = await orchestrator.run(deck_configuration=[])
    plain = lambda models: [json.loads(m.model_dump_json(by_alias=True, exclude_none=True)) for m in models]
    return {"result": "not-ok" if result.state_summary.errors else "ok", "commands": plain(result.commands), "errors": plain(result.state_summary.errors)}


def analyse(protocol):
    try:
        analysis = asyncio.run(simulate(protocol["text"]))
    except Exception as e:
        analysis = {"result": "not-ok", "commands": [], "errors": [{"detail": f"{type(e).__name__}: {e}"}]}
    with lock:
        protocol["analysis"].update(analysis, status="completed")
        keep()


def play(run, protocol):
    """Performs the commands: one after the other, in a thread."""
    commands = protocol["analysis"]["commands"]
    labware = {c["result"]["labwareId"]: c["params"]["loadName"] for c in commands if c["commandType"] == "loadLabware"}
    tips = [c["params"]["wellName"] for c in commands if c["commandType"] == "pickUpTip"]
    filled = [c["params"] for c in commands if c["commandType"] == "dispense" and "plate" in labware[c["params"]["labwareId"]]]
    wells = sorted({f["wellName"] for f in filled})
    record(f"{protocol['key']} begin {json.dumps({'dye': filled[0]['volume'], 'tips': tips, 'wells': wells})}")
    share = filled[0]["volume"] / sum(f["volume"] for f in filled)
    signal = 4 * share * math.exp(-2 * share)  # a dye that quenches itself
    for command in commands:
        if engine["status"] == "stop-requested":
            break
        time.sleep(options.takes / len(commands))
        if command["commandType"] == "absorbanceReader/read":
            data = {"450": {f"{row}{column}": signal if f"{row}{column}" in wells else 0.05 for row in "ABCDEFGH" for column in range(1, 13)}}
            command = {**command, "result": {"data": data, "fileIds": []}}
        with lock:
            engine["commands"].append(command)
    record(f"{protocol['key']} end")
    with lock:
        engine["status"] = "stopped" if engine["status"] == "stop-requested" else "succeeded"
        run["summary"] = {"status": engine["status"], "commands": engine["commands"]}
        keep()


def record(line):
    if options.acts:
        with open(options.acts, "a") as acts:
            acts.write(line + "\n")


class Refused(Exception):
    pass


def shown_protocol(p):
    summary = {"id": p["analysis"]["id"], "status": p["analysis"]["status"]}
    return {
        "id": p["id"], "createdAt": p["createdAt"], "files": [{"name": p["name"], "role": "main"}], "protocolType": "python", "protocolKind": "standard",
        "robotType": "OT-3 Standard", "metadata": {}, "analyses": [], "analysisSummaries": [summary], "key": p["key"],
    }  # fmt: skip


def shown_run(run):
    current = engine.get("id") == run["id"]
    summary = {"status": engine["status"]} if current else run["summary"]
    told = {k: run[k] for k in ("id", "createdAt", "protocolId", "actions")} | {"current": current, "errors": []}
    if summary is None:  # how it went was only in the memory
        error = {"id": "RunDataError", "title": "Run Data Error", "detail": "There was no engine state data for this run."}
        return {**told, "ok": False, "status": "stopped", "dataError": error}
    return {**told, "ok": True, "status": summary["status"]}


def commands_of(run):
    if engine.get("id") == run["id"]:
        return engine["commands"]
    return (run["summary"] or {"commands": []})["commands"]


def one(kind, id):
    if id not in state[kind]:
        raise Refused(404, f"{kind[:-1]} {id} was not found.")
    return state[kind][id]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        address = urlsplit(self.path)
        path, query = address.path.strip("/").split("/"), parse_qs(address.query)
        try:
            with lock:
                code, answer, lost = self.route(self.command, path, query, body)
        except Refused as e:
            code, answer, lost = e.args[0], {"errors": [{"id": "Refused", "title": "Refused", "detail": e.args[1], "errorCode": "4000"}]}, False
        if lost:
            self.close_connection = True
            return
        text = json.dumps(answer).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", f"{len(text)}")
        self.end_headers()
        self.wfile.write(text)

    do_GET = do_POST = do_DELETE = do

    def route(self, method, path, query, body):
        match method, path:
            case "GET", ["health"]:
                return 200, {"name": "flex", "robot_model": "OT-3 Standard", "robot_serial": "FLXA0042", "api_version": "8.1.0"}, False
            case "GET", ["protocols"]:
                return 200, {"data": [shown_protocol(p) for p in state["protocols"].values()]}, False
            case "POST", ["protocols"]:
                return self.upload(body)
            case "GET", ["protocols", id]:
                return 200, {"data": shown_protocol(one("protocols", id))}, False
            case "GET", ["protocols", id, "analyses", _]:
                return 200, {"data": one("protocols", id)["analysis"]}, False
            case "GET", ["runs"]:
                return 200, {"data": [shown_run(r) for r in state["runs"].values()], "links": {}}, False
            case "POST", ["runs"]:
                return self.make(json.loads(body)["data"])
            case "GET", ["runs", id]:
                return 200, {"data": shown_run(one("runs", id))}, False
            case "DELETE", ["runs", id]:
                one("runs", id)
                if engine.get("id") == id:
                    self.clear()
                del state["runs"][id]
                keep()
                return 200, {}, False
            case "POST", ["runs", id, "actions"]:
                return self.act(one("runs", id), json.loads(body)["data"]["actionType"])
            case "GET", ["runs", id, "commands"]:
                commands = commands_of(one("runs", id))
                length = int(query.get("pageLength", ["20"])[0])
                cursor = int(query["cursor"][0]) if "cursor" in query else max(0, len(commands) - length)
                page = [{k: v for k, v in c.items() if k != "result"} for c in commands[cursor : cursor + length]]
                return 200, {"data": page, "meta": {"cursor": cursor, "totalLength": len(commands)}, "links": {}}, False
            case "GET", ["runs", id, "commands", command]:
                for c in commands_of(one("runs", id)):
                    if c["id"] == command:
                        return 200, {"data": c}, False
        raise Refused(404, f"{method} {self.path}: not found")

    def upload(self, body):
        form = email.parser.BytesParser(policy=email.policy.HTTP).parsebytes(f"Content-Type: {self.headers['Content-Type']}\r\n\r\n".encode() + body)
        parts = {part.get_param("name", header="content-disposition"): part for part in form.iter_parts()}
        text = parts["files"].get_payload(decode=True).decode()
        for p in state["protocols"].values():
            if p["text"] == text:  # the first one, with its key
                return 200, {"data": shown_protocol(p)}, False
        if re.search(r'"robotType": "OT-2"', text):
            raise Refused(422, "This protocol is for OT-2 robots. It can't be analyzed or run on this robot, which is a Flex.")
        id, analysis = f"{uuid.uuid4()}", {"id": f"{uuid.uuid4()}", "status": "pending"}
        key = parts["key"].get_payload(decode=True).decode() if "key" in parts else None
        state["protocols"][id] = {"id": id, "createdAt": now(), "name": parts["files"].get_filename(), "key": key, "text": text, "analysis": analysis}
        keep()
        threading.Thread(target=analyse, args=[state["protocols"][id]], daemon=True).start()
        return 201, {"data": shown_protocol(state["protocols"][id])}, False

    def clear(self):
        """The current run makes room, unless it is under way."""
        if engine and engine["status"] not in ("idle", "succeeded", "failed", "stopped"):
            raise Refused(409, "Current run is not idle or stopped.")
        if engine:
            state["runs"][engine["id"]]["summary"] = {"status": engine["status"], "commands": engine["commands"]}
            engine.clear()

    def make(self, data):
        one("protocols", data["protocolId"])
        self.clear()
        id = f"{uuid.uuid4()}"
        state["runs"][id] = {"id": id, "createdAt": now(), "protocolId": data["protocolId"], "actions": [], "summary": None}
        engine.update(id=id, status="idle", commands=[])
        keep()
        made["run"] += 1
        return 201, {"data": shown_run(state["runs"][id])}, made["run"] == options.loses_run

    def act(self, run, action):
        if engine.get("id") != run["id"]:
            raise Refused(409, f"Run {run['id']} is not the current run")
        allowed = {"play": ["idle"], "stop": ["idle", "running"]}
        if engine["status"] not in allowed.get(action, []):
            raise Refused(409, f"The run is {engine['status']}.")
        run["actions"].append({"id": f"{uuid.uuid4()}", "createdAt": now(), "actionType": action})
        keep()
        lost = False
        if action == "play":
            engine["status"] = "running"
            made["play"] += 1
            lost = made["play"] == options.loses_play
            threading.Thread(target=play, args=[run, state["protocols"][run["protocolId"]]], daemon=True).start()
        else:
            engine["status"] = "stop-requested" if engine["status"] == "running" else "stopped"
        return 201, {"data": run["actions"][-1]}, lost

    def log_message(self, *_):
        pass


for p in state["protocols"].values():
    if p["analysis"]["status"] == "pending":  # it was switched off meanwhile
        threading.Thread(target=analyse, args=[p], daemon=True).start()
server = ThreadingHTTPServer(("127.0.0.1", options.port), Handler)
print("ready", flush=True)
server.serve_forever()
