#!/usr/bin/env python3
"""Compares what `hyperslab dump` and `hyperslab ls` print with h5dump and h5ls, on every file of a folder.

    oracle.py BINARY DIR

Every file that the oracle prints with exit code 0, with each set of options, must give the same text (trailing blanks aside).
Files whose names say that they use structures newer than HDF5 1.10 are left out: Debian's tools 1.10.8 print parts of them only.
"""
import glob
import os
import re
import subprocess
import sys

SETS = [("dump", "h5dump", []), ("dump", "h5dump", ["-H", "-p"]), ("dump", "h5dump", ["-A"]), ("ls", "h5ls", ["-r"]), ("ls", "h5ls", ["-r", "-v"])]


def run(command):
    done = subprocess.run(command, capture_output=True, timeout=120)
    return done.returncode, re.sub(rb"[ \t]+\n", b"\n", done.stdout).strip()


def main():
    binary, folder = os.path.abspath(sys.argv[1]), sys.argv[2]
    failed = False
    for ours, oracle, options in SETS:
        equal, total, differ = 0, 0, []
        for path in sorted(glob.glob(os.path.join(folder, "*.h5"))):
            if re.search(r"-v(112|114|200)\.h5$", path):
                continue
            code, expected = run([oracle, *options, path])
            if code != 0:
                continue
            total += 1
            if run([binary, ours, *options, path]) == (0, expected):
                equal += 1
            else:
                differ.append(os.path.basename(path))
        print(f"{oracle} {' '.join(options)}: equal {equal} of {total}", *differ)
        failed |= equal < total
    sys.exit(failed)


main()
