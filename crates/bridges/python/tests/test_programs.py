"""Programs of others on the C library that the wheel carries: what they write they read again, and so does libhdf5."""

import importlib.util
import subprocess
import sys

import pytest

from hyperslab.install import library

ANNDATA_WRITE = """
import anndata, numpy as np, pandas as pd, scipy.sparse
kinds = pd.Categorical(np.where(np.arange(50) % 3, "a", "b"))
cells = pd.DataFrame({"kind": kinds, "n": np.arange(50) / 7}, index=[f"c{n}" for n in range(50)])
genes = pd.DataFrame(index=[f"g{n}" for n in range(20)])
counts = scipy.sparse.random(50, 20, 0.2, format="csr", random_state=0, dtype="f4")
made = anndata.AnnData(counts, obs=cells, var=genes)
made.layers["dense"] = counts.toarray() + 1
made.uns["note"] = {"text": "ü", "list": np.arange(3)}
made.write_h5ad(path, compression="gzip")
"""

ANNDATA_READ = """
import anndata
found = anndata.read_h5ad(path)
print(found.X.sum(), list(found.obs["kind"][:4]), found.obs["n"].sum(), found.layers["dense"].sum(),
      found.uns["note"]["text"], list(found.uns["note"]["list"]), anndata.read_h5ad(path, backed="r").X[:10].shape)
"""

PANDAS_WRITE = """
import numpy as np, pandas as pd
table = pd.DataFrame({"height": np.arange(100) / 3, "name": [f"station {n}" for n in range(100)],
                      "when": pd.date_range("2026-01-01", periods=100)})
table.to_hdf(path, key="fixed", mode="w")
table.to_hdf(path, key="table", format="table", data_columns=["name"], complevel=5)
"""

PANDAS_READ = """
import pandas as pd
fixed, table = pd.read_hdf(path, "fixed"), pd.read_hdf(path, "table", where="name == 'station 7'")
print(fixed["height"].sum(), fixed["name"][42], fixed["when"].max(), table.to_string())
"""


def run(program, path, on_library):
    """Run a program with a path, on the library or on libhdf5, and return what it prints."""
    first = "import hyperslab; hyperslab.install()\n" if on_library else ""
    command = [sys.executable, "-W", "ignore", "-c", f"{first}path = {str(path)!r}\n{program}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("package, write, read", [
    ("anndata", ANNDATA_WRITE, ANNDATA_READ), ("tables", PANDAS_WRITE, PANDAS_READ),
])
def test_what_is_written_on_the_library_is_read_on_both(tmp_path, package, write, read):
    if importlib.util.find_spec(package) is None:
        pytest.skip(f"{package} is not installed")
    library()
    run(write, tmp_path / "ours", True)
    run(write, tmp_path / "theirs", False)
    printed = {run(read, tmp_path / name, on_library) for name in ("ours", "theirs") for on_library in (True, False)}
    assert len(printed) == 1 and printed.pop().strip()
