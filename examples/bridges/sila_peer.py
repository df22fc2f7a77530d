#!/usr/bin/env python3
"""A SiLA 2 server to try sila.py with: a conductometer with one observable command. `pip install sila2`

    python3 sila_peer.py 50052 [--acts FILE] [--takes SECONDS]

Each execution is a line in FILE, by the name of its sample.
"""

import argparse
import json
import threading
import time
from datetime import timedelta

from sila2.framework import Feature
from sila2.server import FeatureImplementationBase, SilaServer

FEATURE = """<?xml version="1.0" encoding="utf-8"?>
<Feature SiLA2Version="1.0" FeatureVersion="1.0" Originator="org.example" Category="measuring"
    xmlns="http://www.sila-standard.org" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"
    xsi:schemaLocation="http://www.sila-standard.org https://gitlab.com/SiLA2/sila_base/raw/master/schema/FeatureDefinition.xsd">
  <Identifier>Conductometer</Identifier>
  <DisplayName>Conductometer</DisplayName>
  <Description>Measures the conductivity of a solution that it makes.</Description>
  <Command>
    <Identifier>MeasureConductivity</Identifier>
    <DisplayName>Measure Conductivity</DisplayName>
    <Description>Makes a solution and measures it.</Description>
    <Observable>Yes</Observable>
    <Parameter>
      <Identifier>Concentration</Identifier>
      <DisplayName>Concentration</DisplayName>
      <Description>Of the salt, in mol/kg.</Description>
      <DataType><Basic>Real</Basic></DataType>
    </Parameter>
    <Parameter>
      <Identifier>SampleName</Identifier>
      <DisplayName>Sample Name</DisplayName>
      <Description>What the sample is called in the records of the device.</Description>
      <DataType><Basic>String</Basic></DataType>
    </Parameter>
    <Response>
      <Identifier>Conductivity</Identifier>
      <DisplayName>Conductivity</DisplayName>
      <Description>In mS/cm.</Description>
      <DataType><Basic>Real</Basic></DataType>
    </Response>
    <Response>
      <Identifier>Temperature</Identifier>
      <DisplayName>Temperature</DisplayName>
      <Description>In degrees Celsius.</Description>
      <DataType><Basic>Real</Basic></DataType>
    </Response>
  </Command>
</Feature>
"""

options = argparse.ArgumentParser()
options.add_argument("port", type=int)
options.add_argument("--acts")
options.add_argument("--takes", type=float, default=1.0)
options = options.parse_args()
writing = threading.Lock()


def record(line):
    if options.acts:
        with writing, open(options.acts, "a") as f:
            f.write(line + "\n")


class Conductometer(FeatureImplementationBase):
    MeasureConductivity_default_lifetime_of_execution = timedelta(hours=1)

    def MeasureConductivity(self, Concentration, SampleName, *, metadata, instance):
        instance.begin_execution()
        record(f"{SampleName} begin " + json.dumps({"salt": Concentration}))
        for step in range(10):
            instance.progress = step / 10
            instance.estimated_remaining_time = timedelta(seconds=options.takes * (1 - step / 10))
            time.sleep(options.takes / 10)
        record(f"{SampleName} end")
        return 12.9 - 6 * (Concentration - 1.1) ** 2, 25.0


server = SilaServer("Conductometer 0042", "Conductometer", "A conductometer", "1.0", "https://example.org")
server.set_feature_implementation(Feature(FEATURE), Conductometer(server))
server.start_insecure("127.0.0.1", options.port, enable_discovery=False)
print("ready", flush=True)
threading.Event().wait()
