"""Where the program is that this package drives."""

import os
import shutil
import sys
import sysconfig
from pathlib import Path

from .extras import ExtraNeeded

NAME = "campaignd.exe" if os.name == "nt" else "campaignd"


def installed() -> Path | None:
    """The program that came with this package: with the environment's scripts, or the user's."""
    schemes = [sysconfig.get_default_scheme(), sysconfig.get_preferred_scheme("user")]
    folders = [Path(sysconfig.get_path("scripts", scheme)) for scheme in schemes]
    # Of `pip install --target DIR` they are in DIR/bin.
    folders.append(Path(__file__).parent.parent / ("Scripts" if os.name == "nt" else "bin"))
    return next((folder / NAME for folder in folders if (folder / NAME).is_file()), None)


def program() -> str:
    """The campaignd to run: what CAMPAIGND names, else what is installed, else what is on PATH."""
    named = os.environ.get("CAMPAIGND")
    if named:
        if not Path(named).is_file():
            raise ExtraNeeded(f"CAMPAIGND names {named}, and there is no such file")
        return named
    beside = Path(sys.executable).parent / NAME
    found = installed() or (beside if beside.is_file() else shutil.which(NAME))
    if not found:
        raise ExtraNeeded(
            "there is no program campaignd: install it (docs/notebook.md says how), put it on PATH, "
            "or name it in the environment's CAMPAIGND"
        )
    return str(found)
