#!/usr/bin/env python3
"""Compares what `hyperslab dump`, `ls`, `stat` and `diff` print with h5dump, h5ls, h5stat and h5diff, on every file of a folder.

    oracle.py BINARY DIR

Every file that the oracle prints without an error, with each set of options, must give the same text (trailing blanks aside).
h5diff gets each file with itself and with the next one, which is mostly the same in the next generation of the format; what reads memory that
nobody set changes from run to run, and is not compared.
What `dump --json` prints of each file must open as a document that is equal to the file.
Files whose names say that they use structures newer than HDF5 1.10 are left out: Debian's tools 1.10.8 print parts of them only.
"""
import glob
import os
import re
import subprocess
import sys

SETS = [("dump", "h5dump", []), ("dump", "h5dump", ["-H", "-p"]), ("dump", "h5dump", ["-A"]), ("ls", "h5ls", ["-r"]), ("ls", "h5ls", ["-r", "-v"]), ("stat", "h5stat", [])]
PAIRS = [["-v"], ["-r"], ["-c"], ["-v2", "-d", "1"], ["-r", "-p", "0.1"]]


def run(command):
    done = subprocess.run(command, capture_output=True, timeout=120)
    return done.returncode, re.sub(rb"[ \t]+\n", b"\n", done.stdout).strip()


def compare(binary, ours, oracle, options, cases, fine):
    """Whether all cases (lists of files) that the oracle ends with a code in `fine` are printed the same."""
    equal, total, differ = 0, 0, []
    for files in cases:
        expected = run([oracle, *options, *files])
        if expected[0] not in fine:
            continue
        total += 1
        # As the oracle prints it: without this, what a terminal would act upon is escaped.
        if run([binary, "--raw-output", ours, *options, *files]) == expected:
            equal += 1
        elif run([oracle, *options, *files]) != expected:
            total -= 1
        else:
            differ.append("+".join(os.path.basename(file) for file in files))
    print(f"{oracle} {' '.join(options)}: equal {equal} of {total}", *differ)
    return equal == total


def documents(binary, paths):
    """Whether `json:` opens what `dump --json` prints, and holds the same, for every file."""
    equal, differ = 0, []
    for path in paths:
        # Next to the file, where it finds what the file refers to.
        document = path + ".json"
        with open(document, "wb") as out:
            printed = subprocess.run([binary, "dump", "--json", path], stdout=out, timeout=120).returncode
        code, said = run([binary, "diff", path, "json:" + document])
        os.remove(document)
        if printed == 0 and code == 0:
            equal += 1
        else:
            differ.append(os.path.basename(path))
    print(f"dump --json: equal {equal} of {len(paths)}", *differ)
    return equal == len(paths)


def pairs(paths):
    return [[path, path] for path in paths] + [[a, b] for a, b in zip(paths, paths[1:])]


def main():
    binary, folder = os.path.abspath(sys.argv[1]), sys.argv[2]
    paths = sorted(glob.glob(os.path.join(folder, "*.h5")))
    good = [documents(binary, paths)]
    paths = [path for path in paths if not re.search(r"-v(112|114|200)\.h5$", path)]
    good += [compare(binary, *one, [[path] for path in paths], [0]) for one in SETS]
    good += [compare(binary, "diff", "h5diff", options, pairs(paths), [0, 1]) for options in PAIRS]
    sys.exit(not all(good))


main()
