"""`python -m campaignd` is the program that came with the package."""

import os
import subprocess
import sys
import sysconfig
from pathlib import Path


def program() -> Path:
    """Where the installer put the program: with the environment's scripts, or the user's."""
    name = "campaignd.exe" if os.name == "nt" else "campaignd"
    schemes = [sysconfig.get_default_scheme(), sysconfig.get_preferred_scheme("user")]
    folders = [Path(sysconfig.get_path("scripts", scheme)) for scheme in schemes]
    # Of `pip install --target DIR` they are in DIR/bin.
    folders.append(Path(__file__).parent.parent / ("Scripts" if os.name == "nt" else "bin"))
    for folder in folders:
        if (folder / name).is_file():
            return folder / name
    sys.exit(f"campaignd: the program is in none of {', '.join(map(str, folders))}; install the package again")


def main() -> None:
    command = [str(program()), *sys.argv[1:]]
    if os.name == "nt":  # there, exec would not wait for it
        sys.exit(subprocess.run(command).returncode)
    os.execv(command[0], command)


if __name__ == "__main__":
    main()
