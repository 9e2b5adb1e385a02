"""Run h5py's own tests with Hyperslab in h5py's place: ``python tests/h5py_suite.py [PYTEST ARGUMENTS]``.

The tests of the installed h5py that use its public interface are copied next to a package ``h5py`` that is Hyperslab.
``h5py_suite.txt`` lists those that are known to fail, with a reason each: another failure makes this program fail.
Tests that use h5py's low-level interface are left out, and counted.
"""

import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree

HERE = Path(__file__).parent
PACKAGE = HERE.parent / "python"
# Whole files about h5py's low-level modules or its insides, or that need the network.
LEFT_OUT = ("test_h5.py", "test_h5d_direct_chunk.py", "test_h5f.py", "test_h5o.py", "test_h5p.py", "test_h5pl.py",
            "test_h5s.py", "test_h5t.py", "test_h5z.py", "test_objects.py", "test_ros3.py", "test_selections.py",
            "test_lowlevel_vds.py")


def prepare(folder):
    """Copy tests and shim."""
    tests = Path(importlib.util.find_spec("h5py").origin).parent / "tests"
    package = folder / "h5py"
    shutil.copytree(tests, package / "tests", ignore=shutil.ignore_patterns("__pycache__", *LEFT_OUT))
    # It imports all tests of its folder, also those that are left out.
    (package / "tests" / "test_vds" / "__init__.py").write_text("")
    shutil.copy(HERE / "h5py_shim" / "__init__.py", package)
    shutil.copy(HERE / "h5py_shim" / "conftest.py", folder)
    return package / "tests"


def run(folder, arguments):
    """Return the outcome of every test."""
    tests = prepare(folder)
    report = folder / "report.xml"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--rootdir={folder}",
               f"--junitxml={report}", "-W", "ignore", "--no-network", "-m", "not mpi", str(tests), *arguments]
    paths = [str(folder), str(PACKAGE), os.environ.get("PYTHONPATH", "")]
    subprocess.run(command, env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)}, cwd=folder, check=False)
    return {name(case): outcome(case) for case in ElementTree.parse(report).iter("testcase")}


def name(case):
    """Return the name of a test: file, class and function."""
    place = case.get("classname").removeprefix("h5py.tests.")
    return f"{place}.{case.get('name')}"


def outcome(case):
    """Return ``passed``, ``failed`` or ``left out``."""
    if case.find("failure") is not None or case.find("error") is not None:
        return "failed"
    return "passed" if case.find("skipped") is None else "left out"


def expected():
    """Return the tests that are known to fail."""
    lines = (HERE / "h5py_suite.txt").read_text(encoding="utf-8").splitlines()
    return {line.split()[0] for line in lines if line and not line.startswith("#")}


def main():
    """Run, compare, and say what happened."""
    with tempfile.TemporaryDirectory() as folder:
        outcomes = run(Path(folder), sys.argv[1:])
    by_kind = {kind: {test for test, found in outcomes.items() if found == kind}
               for kind in ("passed", "failed", "left out")}
    known = expected() & outcomes.keys()
    new, cured = by_kind["failed"] - known, known & by_kind["passed"]
    for title, tests in (("fails", new), ("passes, though it is listed", cured)):
        for test in sorted(tests):
            print(f"{title}: {test}")
    print("left out, because they call h5py's low-level identifiers or cannot run here:")
    for place, count in sorted(Counter(test.rsplit(".", 1)[0] for test in by_kind["left out"]).items()):
        print(f"  {count:3} of {place}")
    passed, failed = len(by_kind["passed"]), len(by_kind["failed"])
    share = 100 * passed / max(passed + failed, 1)
    print(f"{passed} passed, {failed} failed ({len(new)} not listed), {len(by_kind['left out'])} left out: "
          f"{share:.1f} % passed")
    sys.exit(1 if new else 0)


if __name__ == "__main__":
    main()
