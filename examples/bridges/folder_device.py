"""A device that reads and writes files, for examples/folder.yaml: a mixer that measures a conductivity.

    python3 folder_device.py orders --seconds 0.5

It stands for a device's controller, and knows nothing of campaignd. An order in requests/ is moved to
taken/ before anything else is done with it; its result appears in results/, under the same name, when
the time is over. A run goes on by itself, and is found again when this program was killed. Every act
is a line in acts. Standard library only.
"""

import argparse
import json
import os
import time


class Mixer:
    def __init__(self, folder, seconds):
        self.folder, self.seconds = folder, seconds
        for sub in ("requests", "taken", "results"):
            os.makedirs(os.path.join(folder, sub), exist_ok=True)

    def path(self, *parts):
        return os.path.join(self.folder, *parts)

    def take(self):
        """Takes new orders. What is in taken/ without a time was taken and not begun yet."""
        for name in sorted(os.listdir(self.path("requests"))):
            if name.endswith(".json") and not name.startswith("."):
                try:
                    os.rename(self.path("requests", name), self.path("taken", name))
                except FileNotFoundError:
                    pass  # it was withdrawn

    def work(self):
        self.take()
        for name in sorted(os.listdir(self.path("taken"))):
            if not name.endswith(".json") or os.path.exists(self.path("results", name)):
                continue
            with open(self.path("taken", name)) as f:
                order = json.load(f)
            began = self.path("taken", name + ".began")
            if not os.path.exists(began):
                self.write(began, repr(time.time()))
                with open(self.path("acts"), "a") as f:
                    f.write(order["id"] + "\n")
            with open(began) as f:
                if time.time() - float(f.read()) < self.seconds:
                    continue
            salt, dmc = order["parameters"]["lipf6"], order["parameters"]["dmc"]
            sigma = 12 - 8 * (salt - 1.1) ** 2 - 6 * (dmc - 0.6) ** 2
            self.write(self.path("results", name[:-5] + ".trace.csv"), "second,conductivity\n0,0\n1,%r\n" % sigma)
            self.write(self.path("results", name), json.dumps({"order": order["id"], "conductivity": round(sigma, 6)}))

    def write(self, path, text):
        """Writes a file whole, or not at all."""
        with open(path + ".part", "w") as f:
            f.write(text)
            f.flush()
            os.fsync(f.fileno())
        os.replace(path + ".part", path)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", help="the folder of requests and results")
    parser.add_argument("--seconds", type=float, default=0.5, help="how long a run takes")
    a = parser.parse_args()
    mixer = Mixer(a.folder, a.seconds)
    print("ready", flush=True)
    while True:
        mixer.work()
        time.sleep(0.02)
