"""Check a wheel in a fresh virtual environment: ``python tests/check_wheel.py FOLDER WHEEL [SOURCES]``.

It is installed without a compiler; the README's example runs, and so do the command and h5py's names; it is small, and
its import is quick. The environment is created in the folder. A source distribution is built and installed in one of its
own, next to it.
"""

import os
import re
import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).parents[4]
WHEEL_BYTES_MAX, IMPORT_SECONDS_MAX = 20_000_000, 0.05
# The fastest of some: other programs run too. Numpy is imported before, as programs that use it do.
IMPORT = """
import subprocess, sys
code = "import numpy, time; start = time.perf_counter(); import hyperslab; print(time.perf_counter() - start)"
print(min(float(subprocess.run([sys.executable, "-c", code], capture_output=True).stdout) for _ in range(9)))
"""


def installed(folder, *arguments, **variables):
    """Install a package in a new environment, and return a function that runs programs there."""
    venv.create(folder, clear=True, with_pip=True)

    def run(*command):
        environment = {**os.environ, **variables}
        done = subprocess.run(command, cwd=folder, env=environment, stdout=subprocess.PIPE, text=True)
        if done.returncode:
            sys.exit(f"{command} ended with {done.returncode}")
        return done.stdout.strip()

    run(folder / "bin" / "python", "-m", "pip", "install", "--quiet", *arguments)
    return run


def check_readme(run, python):
    """Run the example of the README."""
    example = re.search(r"^```python\n(.*?)^```", (ROOT / "README.md").read_text(encoding="utf-8"), re.M | re.S)[1]
    print("README:", run(python, "-c", example))


def check_wheel(wheel, folder):
    """Install the wheel without a compiler, run, measure."""
    run, python = installed(folder, "--only-binary", ":all:", wheel), folder / "bin" / "python"
    check_readme(run, python)
    print("command:", run(folder / "bin" / "hyperslab", "--version"))
    print("C library:", run(python, "-c", "import hyperslab; hyperslab.install(); print(hyperslab.is_installed())"))
    seconds, size = float(run(python, "-c", IMPORT)), wheel.stat().st_size
    print(f"{wheel.name}: {size / 1e6:.1f} MB; import: {seconds * 1e3:.0f} ms after numpy")
    if size > WHEEL_BYTES_MAX or seconds > IMPORT_SECONDS_MAX:
        sys.exit(f"over {WHEEL_BYTES_MAX / 1e6:.0f} MB or {IMPORT_SECONDS_MAX * 1e3:.0f} ms")


def check_sources(sources, folder):
    """Build and install the module from the source distribution, quickly and not as a release, and run."""
    # Packages of others may have been built in the folder of the tests already.
    quickly = {"MATURIN_PEP517_ARGS": "--profile dev", "CARGO_TARGET_DIR": str(folder.parent)}
    run = installed(folder, "--no-binary", "hyperslab", sources, **quickly)
    check_readme(run, folder / "bin" / "python")
    print("command:", run(folder / "bin" / "hyperslab", "--version"))
    print(f"{sources.name}: {sources.stat().st_size / 1e6:.1f} MB, built and installed")


def main():
    """Check what the command line names."""
    folder, wheel, *sources = (Path(argument).absolute() for argument in sys.argv[1:])
    check_wheel(wheel, folder)
    for path in sources:
        check_sources(path, folder.with_name(folder.name + "-sources"))


if __name__ == "__main__":
    main()
