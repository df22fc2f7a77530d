"""A device that is waited for: two at once, with libraries that print and children that read."""

import os
import time

from campaignd.device import Device, Failed


class Mixer(Device):
    open = True

    def describe(self):
        return {
            "name": "test/measured", "identity": "a formula", "capacity": 2, "simulated": True,
            "parameters": [{"name": "x", "min": 0, "max": 1}],
            "outputs": [{"name": "y", "unit": "mS/cm"}],
        }  # fmt: skip

    def safe(self, reason):
        self.open = False

    def measure(self, parameters):
        self.open = True
        print("a library prints")
        os.system("echo a child prints; cat")
        for step in range(4):
            time.sleep(0.05)
            if self.called_off or not self.open:
                raise Failed("stopped in step %d" % step)
            self.sign(fraction=step / 4, text="step %d" % step)
        x = parameters["x"]
        return {"objective": {"name": "y", "value": 12 - (x - 0.4) ** 2, "unit": "mS/cm"}}


if __name__ == "__main__":
    Mixer().run()
