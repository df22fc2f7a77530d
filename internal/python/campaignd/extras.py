"""What is not among the package's own needs, and imported where it is used."""

from __future__ import annotations

import importlib
from typing import Any


class ExtraNeeded(ImportError):
    """A package that is not installed, with the extra of campaignd that brings it along."""


def extra(module: str, name: str, what: str) -> Any:
    """Import a module of an extra, or say how to install it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        raise ExtraNeeded(
            f'{what} needs {package}, which is not installed: pip install "campaignd[{name}]"'
        ) from error
