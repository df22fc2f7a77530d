#!/usr/bin/env python3
"""A liquid handler and a plate reader, driven by PyLabRobot, as an instrument of campaignd. docs/bridges.md

PyLabRobot keeps in memory which tips and wells are used, and a crash forgets it. Here they come with each command,
from the campaign's log: no tip and no well is used twice, whoever is killed when.
"""

import asyncio
import json
import math
import os

from pylabrobot.liquid_handling import LiquidHandler
from pylabrobot.liquid_handling.backends import LiquidHandlerChatterboxBackend
from pylabrobot.resources import PLT_CAR_L5AC_A00, TIP_CAR_480_A00, cor_96_wellplate_360uL_Fb
from pylabrobot.resources.hamilton import STARLetDeck, hamilton_96_tiprack_1000uL

from campaignd.device import Deferred, Device

FILLED = 50  # µL of each well


class Handler(Device):
    def __init__(self):
        super().__init__()
        self.loop = asyncio.new_event_loop()  # outlives the calls: the backend belongs to it
        self.robot = None

    def describe(self):
        return {
            "name": "pylabrobot/STARlet", "identity": "chatterbox", "simulated": True,
            "parameters": [{"name": "dye", "unit": "µL", "min": 2, "max": FILLED - 2}],
            "outputs": [{"name": "signal", "unit": "AU"}],
        }  # fmt: skip

    def reach(self):
        if self.robot is None:
            try:
                self.loop.run_until_complete(self.set_up())
            except Exception as e:
                self.robot = None
                raise Deferred(f"the robot cannot be set up: {e}") from e

    async def set_up(self):
        """Put your backend in the place of the chatterbox, and your deck in the place of this one."""
        self.robot = LiquidHandler(backend=LiquidHandlerChatterboxBackend(), deck=STARLetDeck())
        carrier = TIP_CAR_480_A00(name="tip carrier")
        carrier[0] = self.tips = hamilton_96_tiprack_1000uL(name="tips")
        self.robot.deck.assign_child_resource(carrier, rails=3)
        carrier = PLT_CAR_L5AC_A00(name="plate carrier")
        carrier[0] = self.plate = cor_96_wellplate_360uL_Fb(name="plate")
        carrier[1] = self.sources = cor_96_wellplate_360uL_Fb(name="sources")
        self.robot.deck.assign_child_resource(carrier, rails=15)
        await self.robot.setup()

    def acted(self, command):
        """The robot knows no command, so that the bridge writes its record of acts."""
        if "CAMPAIGND_ACTS" in os.environ:
            used = {stock: command.labels(stock) for stock in ("wells", "tips")}
            with open(os.environ["CAMPAIGND_ACTS"], "a", encoding="utf-8") as record:
                record.write(f"{command.id} begin {json.dumps(used)}\n")

    def measure(self, parameters):
        self.loop.run_until_complete(self.fill(self.command, parameters["dye"]))
        return {"objective": {"name": "signal", "value": self.read(parameters["dye"]), "unit": "AU"}}

    async def fill(self, command, dye):
        (well,) = command.labels("wells")
        for source, tip, volume in zip(("A1", "B1"), command.labels("tips"), (dye, FILLED - dye), strict=True):
            await self.robot.pick_up_tips(self.tips[tip])
            await self.robot.aspirate(self.sources[source], vols=[volume])
            await self.robot.dispense(self.plate[well], vols=[volume])
            await self.robot.discard_tips()
            await asyncio.sleep(self.settings.get("pace", 0.2))
            self.sign(text=f"{volume:.0f} µL in {well}")

    def read(self, dye):
        """A dye that quenches itself; put the reader of your plate here."""
        share = dye / FILLED
        return 4 * share * math.exp(-2 * share)


if __name__ == "__main__":
    Handler().run()
