"""Runs the examples in the package's docstrings, and the Python in pages; python_test.go runs it.

Each docstring has a served folder of its own, with a campaign "bench" that has measured nothing. The
blocks of a page are run one after the other, in a folder of their own; what a block prints stands
in a block of text after it, and is compared, with … for what differs from run to run.
"""

import asyncio
import contextlib
import doctest
import importlib
import importlib.util
import io
import os
import pathlib
import pkgutil
import re
import sys
import tempfile

import campaignd
import pandas
from campaignd import AsyncClient, Categorical, Maximize, Number

FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def docstrings():
    """The examples of all modules."""
    failed = tried = 0
    for module in pkgutil.iter_modules(campaignd.__path__, "campaignd."):
        for test in doctest.DocTestFinder().find(importlib.import_module(module.name)):
            if not test.examples:
                continue
            with tempfile.TemporaryDirectory() as folder, campaignd.local(folder) as client:
                campaign = client.begin(
                    name="bench",
                    parameters=[Number("x", 0, 1), Categorical("salt", ["LiPF6", "LiFSI"])],
                    objective=Maximize("flow", unit="mL/s"),
                    budget={"experiments": 12},
                    parallel=2,
                    initial={"experiments": 3},
                    instrument="manual",
                )
                test.globs.update(
                    asyncio=asyncio,
                    campaignd=campaignd,
                    pandas=pandas,
                    client=client,
                    campaign=campaign,
                    folder=folder + "/other",
                    Number=Number,
                    Categorical=Categorical,
                    Maximize=Maximize,
                    AsyncClient=AsyncClient,
                )
                result = doctest.DocTestRunner(optionflags=FLAGS).run(test)
                failed, tried = failed + result.failed, tried + result.attempted
    print(f"{tried} examples in docstrings")
    assert tried > 30 and not failed, failed


BLOCK = re.compile(r"^```(python|text)(.*)\n((?:.*\n)*?)^```$", re.MULTILINE)


def page(path):
    """The blocks of a page. One that is marked `python foreign` is another tool's, and run where
    that is installed."""
    text = pathlib.Path(path).read_text(encoding="utf-8")
    names, printed, ran = {}, None, 0
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for block in BLOCK.finditer(text):
            kind, mark, code = block.groups()
            line = text[: block.start()].count("\n") + 2
            if kind == "text":
                if printed is not None:
                    check = doctest.OutputChecker()
                    wanted = code.replace("…", "...")
                    assert check.check_output(wanted, printed, FLAGS), (
                        f"{path}:{line}: it printed\n{printed}"
                    )
                continue
            printed = None
            if "foreign" in mark:
                tool = mark.split()[-1]
                if importlib.util.find_spec(tool) is None:
                    print(f"{path}:{line}: not run, {tool} is not there")
                    continue
            out = io.StringIO()
            with contextlib.redirect_stdout(out):
                exec(compile("\n" * (line - 1) + code, path, "exec"), names)
            printed, ran = out.getvalue(), ran + 1
    assert ran, f"{path} has no Python"
    print(f"{path}: {ran} blocks")


if __name__ == "__main__":
    os.environ["MPLBACKEND"] = "Agg"
    if sys.argv[1:]:
        for each in sys.argv[1:]:
            page(os.path.abspath(each))
    else:
        docstrings()
