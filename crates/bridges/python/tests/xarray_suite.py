"""Run xarray's own tests of netCDF-4 backends with this one in their place: ``python tests/xarray_suite.py [--quick]``.

Files are written by the engine that a test is about, and opened by ``hyperslab``. ``xarray_suite.txt`` lists tests
that are known to fail, with a reason each: another failure makes this program fail. ``--quick`` runs one class.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from xml.etree import ElementTree

HERE = Path(__file__).parent
QUICK = ("xarray.tests.test_backends::TestNetCDF4Data",)
CLASSES = (
    *QUICK,
    "xarray.tests.test_backends::TestNetCDF4ViaDaskData",
    "xarray.tests.test_backends::TestNetCDF4InMemory",
    "xarray.tests.test_backends::TestNetCDF4ClassicViaNetCDF4Data",
    "xarray.tests.test_backends::TestH5NetCDFData",
    "xarray.tests.test_backends::TestH5NetCDFFileObject",
    "xarray.tests.test_backends::TestH5NetCDFInMemoryData",
    "xarray.tests.test_backends::TestH5NetCDFViaDaskData",
    "xarray.tests.test_backends_datatree::TestNetCDF4DatatreeIO",
    "xarray.tests.test_backends_datatree::TestH5NetCDFDatatreeIO",
)
# A plugin of pytest: whoever asks for an engine of netCDF-4 gets this one.
PLUGIN = '''
from xarray.backends import plugins
from hyperslab.xarray_backend import HyperslabBackend

HyperslabBackend.open_dataset_parameters = plugins.detect_parameters(HyperslabBackend.open_dataset)
real = plugins.get_backend
plugins.get_backend = lambda engine: HyperslabBackend() if engine in ("netcdf4", "h5netcdf") else real(engine)
'''


def run(folder, classes):
    """Return the outcome of every test."""
    (folder / "hyperslab_engine.py").write_text(PLUGIN)
    report = folder / "report.xml"
    command = [sys.executable, "-m", "pytest", "-q", "--no-header", "--tb=short", "-p", "no:cacheprovider", "-p",
               "hyperslab_engine", f"--junitxml={report}", "-W", "ignore", "--pyargs", *classes]
    paths = [str(folder), str(HERE.parent / "python"), os.environ.get("PYTHONPATH", "")]
    with open(folder / "log.txt", "w") as log:
        subprocess.run(command, env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)}, cwd=folder, check=False,
                       stdout=log, stderr=subprocess.STDOUT)
    if not report.exists():
        sys.exit((folder / "log.txt").read_text())
    return {name(case): outcome(case) for case in ElementTree.parse(report).iter("testcase")}


def name(case):
    """Return the name of a test: class and function."""
    return f"{case.get('classname').rpartition('.')[2]}.{case.get('name')}"


def outcome(case):
    """Return ``passed``, ``failed`` or ``left out``, and what went wrong."""
    for kind in ("failure", "error"):
        if case.find(kind) is not None:
            return "failed", case.find(kind).get("message", "").splitlines()[:1]
    return ("passed" if case.find("skipped") is None else "left out"), []


def expected():
    """Return the functions that are known to fail, with or without their class."""
    lines = (HERE / "xarray_suite.txt").read_text(encoding="utf-8").splitlines()
    return {line.split()[0] for line in lines if line and not line.startswith("#")}


def main():
    """Run, compare, and say what happened."""
    with tempfile.TemporaryDirectory() as folder:
        outcomes = run(Path(folder), QUICK if "--quick" in sys.argv else CLASSES)
    known = expected()
    failed = {test: message for test, (kind, message) in outcomes.items() if kind == "failed"}
    new = {test for test in failed
           if not {test, test.partition(".")[2], test.partition(".")[2].partition("[")[0]} & known}
    for test in sorted(new):
        print(f"fails: {test}  # {' '.join(failed[test])}")
    passed = sum(kind == "passed" for kind, _ in outcomes.values())
    print(f"{passed} passed, {len(failed)} failed ({len(new)} not listed), "
          f"{len(outcomes) - passed - len(failed)} left out")
    sys.exit(1 if new or not passed else 0)


if __name__ == "__main__":
    main()
