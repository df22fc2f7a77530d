"""Mixes a dye and a buffer in a well, and reads the plate: a protocol of an Opentrons Flex with a plate reader.

campaignd's bridge puts a command in the place of the line COMMAND; as it stands here, `opentrons_simulate` runs it.
"""

requirements = {"robotType": "Flex", "apiLevel": "2.21"}

COMMAND = {"id": "", "parameters": {"dye": 20}, "drawn": {"wells": ["A1"], "tips": ["A1", "B1"]}}

FILLED = 50  # µL of each well


def run(protocol):
    tips = protocol.load_labware("opentrons_flex_96_tiprack_50ul", "C2")
    plate = protocol.load_labware("corning_96_wellplate_360ul_flat", "B2")
    sources = protocol.load_labware("nest_12_reservoir_15ml", "C1")
    reader = protocol.load_module("absorbanceReaderV1", "D3")
    protocol.load_trash_bin("A3")
    pipette = protocol.load_instrument("flex_1channel_50", "left")

    (well,) = COMMAND["drawn"]["wells"]
    dye = COMMAND["parameters"]["dye"]
    for source, tip, volume in zip(("A1", "A2"), COMMAND["drawn"]["tips"], (dye, FILLED - dye), strict=True):
        pipette.pick_up_tip(tips[tip])
        pipette.aspirate(volume, sources[source])
        pipette.dispense(volume, plate[well])
        pipette.drop_tip()

    reader.close_lid()
    reader.initialize("single", [450])
    reader.open_lid()
    protocol.move_labware(plate, reader, use_gripper=True)
    reader.close_lid()
    reader.read()
    reader.open_lid()
    protocol.move_labware(plate, "B2", use_gripper=True)
