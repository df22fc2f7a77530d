"""`python -m campaignd` is the program that came with the package."""

import os
import subprocess
import sys

from .program import installed


def main() -> None:
    program = installed()
    if program is None:
        sys.exit("campaignd: the program is not with this package; install it again")
    command = [str(program), *sys.argv[1:]]
    if os.name == "nt":  # there, exec would not wait for it
        sys.exit(subprocess.run(command).returncode)
    os.execv(command[0], command)


if __name__ == "__main__":
    main()
