#!/usr/bin/env python3
"""An OPC UA server to try lads.py with: a conductometer with one functional unit, as OPC 30500-1 (LADS) has them. It has the
nodes, methods, structures and states that a client of its programs needs, and not the rest of the standard. `pip install asyncua`

    python3 lads_peer.py 4840 [--acts FILE] [--takes SECONDS] [--loses N]

Each run is a line in FILE, by its SupervisoryTaskId. The answer to the Nth StartProgram comes too late. What it knows ends with it.
"""

import argparse
import asyncio
import json
import logging
from datetime import datetime, timezone
from uuid import uuid4

from asyncua import Server, ua
from asyncua.common.structures104 import new_struct, new_struct_field

STATES = {"Stopped": 5085, "Running": 5099, "Stopping": 5100, "Aborting": 5159, "Aborted": 5160}  # of the standard's node set

options = argparse.ArgumentParser()
options.add_argument("port", type=int)
options.add_argument("--acts")
options.add_argument("--takes", type=float, default=1.0)
options.add_argument("--loses", type=int)
options = options.parse_args()
logging.getLogger("asyncua").setLevel(logging.CRITICAL)


def record(line):
    if options.acts:
        with open(options.acts, "a") as f:
            f.write(line + "\n")


class Unit:
    """The functional unit: its state machine and its programs."""

    starts = 0
    ordered = ""  # Stop or Abort, while a program runs

    async def build(self, server):
        self.server = server
        di = await server.register_namespace("http://opcfoundation.org/UA/DI/")
        self.lads = await server.register_namespace("http://opcfoundation.org/UA/LADS/")
        self.own = await server.register_namespace("urn:example:conductometer")
        key_value = await self.structure(3003, "KeyValueType", "Key", "Value")
        sample = await self.structure(3002, "SampleInfoType", "ContainerId", "SampleId", "Position", "CustomData")
        await server.load_data_type_definitions()

        device = await (await server.nodes.objects.add_object(di, "DeviceSet")).add_object(self.own, "Conductometer")
        await device.add_property(di, "Manufacturer", ua.LocalizedText("Example"))
        await device.add_property(di, "Model", ua.LocalizedText("Conductometer"))
        await device.add_property(di, "SerialNumber", "0042")
        unit = await (await device.add_object(self.lads, "FunctionalUnitSet")).add_object(self.own, "Measuring")

        machine = await unit.add_object(self.lads, "FunctionalUnitState")
        self.state = await machine.add_variable(0, "CurrentState", ua.LocalizedText())
        self.state_id = await self.state.add_property(0, "Id", ua.NodeId())
        await self.become("Stopped")
        text = ua.NodeId(ua.ObjectIds.String)
        await machine.add_method(
            self.lads, "StartProgram", self.start_program, [
                argument("ProgramTemplateId", text), argument("Properties", key_value.nodeid, array=True),
                argument("SupervisoryJobId", text), argument("SupervisoryTaskId", text),
                argument("Samples", sample.nodeid, array=True),
            ], [argument("DeviceProgramRunId", text)],
        )  # fmt: skip
        await machine.add_method(self.lads, "Stop", self.stop, [], [])
        await machine.add_method(self.lads, "Abort", self.abort, [], [])
        await machine.add_method(self.lads, "Clear", self.clear, [], [])

        manager = await unit.add_object(self.lads, "ProgramManager")
        templates = await manager.add_object(self.lads, "ProgramTemplateSet")
        template = await templates.add_object(self.own, "Measure")
        await template.add_property(self.lads, "DeviceTemplateId", "measure-1")
        self.results = await manager.add_object(self.lads, "ResultSet")
        active = await manager.add_object(self.lads, "ActiveProgram")
        self.run_id = await active.add_property(self.lads, "DeviceProgramRunId", "")
        self.runtime = await active.add_property(self.lads, "CurrentRuntime", 0.0)
        self.step = await active.add_property(self.lads, "CurrentStepName", ua.LocalizedText())
        await active.add_property(self.lads, "EstimatedRuntime", 1000 * options.takes)

    async def structure(self, number, name, *fields):
        fields = [new_struct_field(f, ua.VariantType.String) for f in fields]
        return (await new_struct(self.server, ua.NodeId(number, self.lads), ua.QualifiedName(name, self.lads), fields))[0]

    async def become(self, state):
        self.now = state
        await self.state.write_value(ua.LocalizedText(state))
        await self.state_id.write_value(ua.NodeId(STATES[state], self.lads))

    async def start_program(self, _, template, properties, job, task, samples):
        if self.now != "Stopped":
            return ua.StatusCode(ua.StatusCodes.BadInvalidState)
        if template.Value != "measure-1":
            return ua.StatusCode(ua.StatusCodes.BadInvalidArgument)
        salt = float(next(p.Value for p in properties.Value if p.Key == "Concentration"))
        if not 0 <= salt <= 2:
            return ua.StatusCode(ua.StatusCodes.BadOutOfRange)
        await self.become("Running")
        run, self.ordered = str(uuid4()), ""
        await self.run_id.write_value(run)
        result = await self.results.add_object(self.own, run)
        await result.add_property(self.lads, "DeviceProgramRunId", run)
        await result.add_property(self.lads, "SupervisoryJobId", job.Value)
        await result.add_property(self.lads, "SupervisoryTaskId", task.Value)
        await result.add_property(self.lads, "Properties", properties.Value)
        await result.add_property(self.lads, "Samples", samples.Value)
        await result.add_property(self.lads, "Started", datetime.now(timezone.utc))
        await result.add_property(self.lads, "Stopped", datetime(1601, 1, 1, tzinfo=timezone.utc))  # none yet
        record(f"{task.Value} begin " + json.dumps({"salt": salt}))
        self.program = asyncio.create_task(self.measure(result, task.Value, salt))
        self.starts += 1
        if self.starts == options.loses:
            await asyncio.sleep(10)
        return [ua.Variant(run)]

    async def measure(self, result, task, salt):
        for step in range(10):
            await self.runtime.write_value(1000 * options.takes * step / 10)
            await self.step.write_value(ua.LocalizedText("mixing" if step < 5 else "measuring"))
            await asyncio.sleep(options.takes / 10)
            if self.ordered:
                break
        await self.become("Aborting" if self.ordered == "Abort" else "Stopping")
        # The result is complete before the run has ended.
        variables = await result.add_object(self.lads, "VariableSet")
        if self.ordered == "Abort":
            await self.server.delete_nodes([result], recursive=True)
        elif not self.ordered:
            conductivity = await variables.add_variable(self.own, "Conductivity", 12.9 - 6 * (salt - 1.1) ** 2)
            await conductivity.add_property(0, "EngineeringUnits", ua.EUInformation(DisplayName=ua.LocalizedText("mS/cm")))
            await variables.add_variable(self.own, "Temperature", 25.0)
        if self.ordered != "Abort":
            await (await result.get_child(f"{self.lads}:Stopped")).write_value(datetime.now(timezone.utc))
        record(f"{task} end")
        await self.become("Aborted" if self.ordered == "Abort" else "Stopped")

    async def order(self, what):
        if self.now != "Running":
            return ua.StatusCode(ua.StatusCodes.BadInvalidState)
        self.ordered = what
        return []

    async def stop(self, _):
        return await self.order("Stop")

    async def abort(self, _):
        return await self.order("Abort")

    async def clear(self, _):
        if self.now != "Aborted":
            return ua.StatusCode(ua.StatusCodes.BadInvalidState)
        await self.become("Stopped")
        return []


def argument(name, data_type, array=False):
    return ua.Argument(Name=name, DataType=data_type, ValueRank=1 if array else -1)


async def main():
    server = Server()
    await server.init()
    server.set_endpoint(f"opc.tcp://127.0.0.1:{options.port}")
    server.set_security_policy([ua.SecurityPolicyType.NoSecurity])
    await Unit().build(server)
    async with server:
        print("ready", flush=True)
        await asyncio.Event().wait()


asyncio.run(main())
