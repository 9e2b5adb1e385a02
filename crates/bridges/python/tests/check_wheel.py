"""Check a wheel in a fresh virtual environment: ``python tests/check_wheel.py WHEEL FOLDER``.

It is installed without a compiler; the README's example runs, and so do the command and h5py's names; it is small, and
its import is quick. The environment is created in the folder.
"""

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


def main():
    """Install, run, measure."""
    wheel, folder = Path(sys.argv[1]).absolute(), Path(sys.argv[2]).absolute()
    venv.create(folder, clear=True, with_pip=True)
    python = folder / "bin" / "python"

    def run(*command):
        return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout.strip()

    run(python, "-m", "pip", "install", "--quiet", "--only-binary", ":all:", wheel)
    example = re.search(r"^```python\n(.*?)^```", (ROOT / "README.md").read_text(encoding="utf-8"), re.M | re.S)[1]
    print("README:", run(python, "-c", example))
    print("command:", run(folder / "bin" / "hyperslab", "--version"))
    print("C library:", run(python, "-c", "import hyperslab; hyperslab.install(); print(hyperslab.is_installed())"))
    seconds, size = float(run(python, "-c", IMPORT)), wheel.stat().st_size
    print(f"{wheel.name}: {size / 1e6:.1f} MB; import: {seconds * 1e3:.0f} ms after numpy")
    if size > WHEEL_BYTES_MAX or seconds > IMPORT_SECONDS_MAX:
        sys.exit(f"over {WHEEL_BYTES_MAX / 1e6:.0f} MB or {IMPORT_SECONDS_MAX * 1e3:.0f} ms")


if __name__ == "__main__":
    main()
