"""Runs notebooks, each in a folder of its own; python_test.go runs it."""

import pathlib
import sys
import tempfile

import nbclient
import nbformat

for path in map(pathlib.Path, sys.argv[1:]):
    book = nbformat.read(path, as_version=4)
    with tempfile.TemporaryDirectory() as folder:
        # The kernel of this very Python, whatever others are installed.
        client = nbclient.NotebookClient(
            book, timeout=120, kernel_name="python3", resources={"metadata": {"path": folder}}
        )
        client.execute()
    outputs = [o for c in book.cells for o in c.get("outputs", ())]
    shown = [kind for o in outputs for kind in o.get("data", ())]
    assert "text/html" in shown and "image/png" in shown, (
        f"{path} shows neither a card nor a chart: {shown}"
    )
    loud = [o for o in outputs if o.get("name") == "stderr"]
    assert not loud, f"{path}: {loud}"
    print(f"{path.name}: {len(book.cells)} cells")
