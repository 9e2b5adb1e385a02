#!/usr/bin/env python3
"""Random trees, both ways: what Hyperslab and h5py make of the same changes of the same file.

    run.py target/release/both-ways [--count 60] [--seed N] [--only CASE] [--keep DIR]

Three directions, `--count` cases each:

    ours      Hyperslab makes a tree and changes it over several openings
    theirs    h5py makes one (earliest, v108, latest), and Hyperslab changes it
    continued h5py goes on where Hyperslab stopped, and Hyperslab after it

After each case h5py's and Hyperslab's descriptions of the file equal the model's, and Hyperslab's check finds nothing.
Where h5dump can read the file, it prints the same for it as for a file that h5py made by the same script.
"""

import argparse
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
import traceback

import h5py

import words
from apply_h5py import Script
from describe_h5py import Description
from lib import Failed
from model import Model
from random_changes import Changes

SECONDS_MAX = 120
# Bounds of versions after libhdf5 1.10.
NEW_BOUNDS = {"v112", "v114", "v200"}
# In graphs of hard links h5dump walks every way there is: some would take years.
DUMP_SECONDS_MAX = 10
BOUNDS = ("earliest", "v18", "v18", "v110", "v112", "v114", "v200")
EQUAL, DIFFERS, DUMPED, LEFT_OUT = 0, 1, 2, 3
LIBVER = {"v18": "v108", "v200": "latest"}


class Mismatch(Exception):
    pass


class NotOurs(Exception):
    """libhdf5 fails on a file of its own."""


class Case:
    def __init__(self, tool, direction, seed, folder):
        self.tool, self.direction = tool, direction
        self.rng = random.Random(f"{direction} {seed}")
        self.file = os.path.join(folder, "file.h5")
        self.twin = os.path.join(folder, "twin.h5")
        self.folder = folder
        self.log = open(os.path.join(folder, "script.txt"), "w")
        self.parts = []

    def run(self):
        """Whether h5dump was asked, too."""
        return bool(getattr(self, self.direction)())

    # --- directions ---

    def ours(self):
        self.begin(BOUNDS)
        for _ in range(self.rng.randint(1, 4)):
            self.part(self.by_hyperslab)
        return self.compare_dumps()

    def theirs(self):
        self.begin(("earliest", "v18", "v200"))
        self.part(self.by_h5py)
        for _ in range(self.rng.randint(1, 3)):
            self.part(self.by_hyperslab)

    def continued(self):
        self.begin(BOUNDS)
        self.part(self.by_hyperslab)
        for _ in range(self.rng.randint(1, 3)):
            self.part(self.by_h5py)
            if self.rng.random() < 0.5:
                self.part(self.by_hyperslab)

    # --- making ---

    def begin(self, bounds):
        rng = self.rng
        self.bounds = bounds
        orders = ("untracked", "untracked", "tracked", "indexed")
        self.options = {"userblock": rng.choice((0, 0, 0, 512, 2048))}
        self.options["link-order"], self.options["attribute-order"] = rng.choice(orders), rng.choice(orders)
        if self.direction == "theirs":
            # h5py's own switch sets both.
            self.options["link-order"] = self.options["attribute-order"] = rng.choice(("untracked", "indexed"))
        self.model = Model(self.options["link-order"], self.options["attribute-order"])
        self.changes = Changes(rng, self.model)
        # h5dump has no LZF and no times: most files do without, so that it can read them.
        self.for_dump = self.direction == "ours" and rng.random() < 0.7
        self.low = rng.choice(bounds)
        self.space_options = self.choose_space() if self.direction == "theirs" else {}

    def choose_space(self):
        """How libhdf5 keeps the space of a file, sometimes."""
        strategy = self.rng.choice((None, None, None, "fsm", "page", "aggregate", "none"))
        if strategy is None:
            return {}
        options = {"fs_strategy": strategy, "fs_persist": strategy in ("fsm", "page") and self.rng.random() < 0.5}
        if strategy == "page":
            # libhdf5 wants the user block not smaller than a page.
            options["fs_page_size"] = self.rng.choice((512, 4096)) if self.options["userblock"] == 0 else 512
        return options

    def choose_bound(self):
        """Most files are opened again as they were opened before."""
        if self.rng.random() < 0.3:
            self.low = self.rng.choice(self.bounds)

    @staticmethod
    def is_new(lows):
        """Whether structures may be newer than libhdf5 1.10."""
        return not NEW_BOUNDS.isdisjoint(lows)

    def limits(self):
        lows = {self.low, *(low for low, _ in self.parts)}
        is_new = lows <= NEW_BOUNDS
        found = {"complex": lows != {"v200"}, "any": not is_new, "large": "earliest" in lows, "lzf": self.for_dump, "time": self.for_dump, "growth": self.for_dump}
        return {name for name, is_out in found.items() if is_out}

    def part(self, side):
        self.choose_bound()
        self.changes.limits, self.changes.is_theirs = self.limits(), side == self.by_h5py
        script = self.changes.make(self.rng.choice((3, 10, 25, 40)))
        first = not self.parts
        self.parts.append((self.low, script))
        lines = [as_line(operation) for operation in script]
        start = words.text(("create", ("low", self.low), *self.options.items()) if first else ("open", ("low", self.low)))
        lines.insert(0, start)
        self.log.write(f"# {side.__name__}\n" + "\n".join(lines) + "\n")
        self.log.flush()
        side(self.low, script, lines, first)
        try:
            self.compare(side.__name__)
        except Failed as failed:
            self.blame(failed)

    def by_hyperslab(self, _low, _script, lines, _first):
        done = self.call("apply", "\n".join(lines) + "\n")
        if done.returncode:
            raise Mismatch(f"Hyperslab could not apply the script: {done.stderr.strip()}")

    def by_h5py(self, low, script, _lines, first):
        try:
            self.apply_with_h5py(self.file, low, script, first)
        except Mismatch as mismatch:
            self.blame(mismatch)

    def blame(self, problem):
        """What libhdf5 cannot do with a file of its own, it need not do with ours."""
        if not self.h5py_manages_alone():
            raise NotOurs(str(problem)) from problem
        raise problem

    def h5py_manages_alone(self):
        try:
            for n, (low, script) in enumerate(self.parts):
                self.apply_with_h5py(self.twin, low, script, n == 0)
            Description(self.twin)
        except (Mismatch, Failed):
            return False
        return True

    def open_h5py(self, path, low, first):
        bounds = (LIBVER.get(low, low), "latest")
        if not first:
            return h5py.File(path, "r+", libver=bounds)
        options = {"userblock_size": self.options["userblock"], **self.space_options}
        return h5py.File(path, "w", libver=bounds, track_order=self.options["link-order"] != "untracked", **options)

    def apply_with_h5py(self, path, low, script, first):
        file = self.open_h5py(path, low, first)
        try:
            for operation in script:
                if operation[0] == "reopen":
                    file.close()
                    file = self.open_h5py(path, low, False)
                    continue
                try:
                    Script(file.id).apply(operation)
                except Exception as error:
                    line = words.readable(as_line(operation))
                    raise Mismatch(f"h5py could not apply {line}: {error!r}") from error
        finally:
            file.close()

    def call(self, command, script=None):
        args = [self.tool, command, self.file]
        done = subprocess.run(args, input=script, capture_output=True, text=True, timeout=SECONDS_MAX)
        if done.returncode < 0:
            raise Mismatch(f"Hyperslab ended by signal {-done.returncode}")
        return done

    # --- comparing ---

    def compare(self, changed):
        wanted = self.model.describe()
        self.expect(f"{changed}, h5py", wanted, Description(self.file).lines)
        told = self.call("describe")
        if told.returncode:
            raise Mismatch(f"Hyperslab could not describe the file: {told.stderr.strip()}")
        self.expect(f"{changed}, Hyperslab", wanted, set(told.stdout.splitlines()))
        checked = self.call("check")
        if checked.returncode:
            raise Mismatch(f"the check found: {checked.stdout.strip()}")

    def expect(self, who, wanted, found):
        if wanted == found:
            return
        lines = [f"after part {len(self.parts)} {who} reads something else:"]
        lines += [f"  wanted {words.readable(line)}" for line in sorted(wanted - found)[:6]]
        lines += [f"  found  {words.readable(line)}" for line in sorted(found - wanted)[:6]]
        raise Mismatch("\n".join(lines))

    def compare_dumps(self):
        if not self.for_dump:
            return False
        # What libhdf5 cannot make, or h5dump print, of a file of libhdf5's own, it need not of ours.
        if not self.h5py_manages_alone():
            return False
        status, theirs, _ = dumped(self.twin)
        if status:
            return False
        status, ours, errors = dumped(self.file)
        # Copies of ours are in the versions of the bound, those of libhdf5 in those of the original, which h5dump 1.10 knows.
        if status and self.is_new(low for low, _ in self.parts):
            return False
        if status:
            raise Mismatch(f"h5dump ended with {status}: {errors[:600]!r}")
        if ours != theirs:
            raise Mismatch("h5dump prints something else:\n" + first_difference(theirs, ours))
        return True


def as_line(operation):
    return words.text(tuple(b"".join(part) if isinstance(part, list) else part for part in operation))


def dumped(path):
    """How h5dump ends, what it prints without the objects that references point to, and its errors.

    References are compared otherwise: h5dump names an object by its address and any of its paths.
    """
    try:
        done = subprocess.run(["h5dump", path], capture_output=True, timeout=DUMP_SECONDS_MAX)
    except subprocess.TimeoutExpired:
        return 1, b"", b"no end"
    # Lines break elsewhere, also between a long name and its brace.
    text = done.stdout.partition(b"\n")[2]
    text = re.sub(rb",\n +(\([\d,]+\): )?", rb", ", text)
    text = re.sub(rb'(DATASET|GROUP|DATATYPE) \d* ?"?/[^\n]*(\n +\{)?', rb"\1", text)
    text = re.sub(rb'DATATYPE "#\d+"', b"DATATYPE", text)
    return done.returncode or int(bool(done.stderr)), text, done.stderr


def first_difference(wanted, found):
    for a, b in zip(wanted.splitlines(), found.splitlines()):
        if a != b:
            return f"  wanted {a[:300]!r}\n  found  {b[:300]!r}"
    return "  one is longer"


class Alone(Case):
    """The same changes, all of them by h5py: what libhdf5 makes of a file of its own."""

    def by_hyperslab(self, low, script, _lines, first):
        self.apply_with_h5py(self.twin, low, script, first)

    def by_h5py(self, low, script, _lines, first):
        self.apply_with_h5py(self.twin, low, script, first)

    def compare(self, _side):
        pass

    def compare_dumps(self):
        pass


def run_case(tool, direction, seed, folder, kind=Case):
    """`EQUAL` where all agree, `DUMPED` where h5dump does too. In a process of its own: a broken file may end libhdf5."""
    child = os.fork()
    if child:
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if status < 0 and kind is Case and run_case(tool, direction, seed, folder, Alone) < 0:
            print(f"{direction} {seed}: left out, libhdf5 ends by signal {-status} on a file of its own")
            return LEFT_OUT
        return status
    status = DIFFERS
    try:
        status = DUMPED if kind(tool, direction, seed, folder).run() else EQUAL
    except NotOurs as problem:
        status = LEFT_OUT
        print(f"{direction} {seed}: left out, libhdf5 fails by itself: {str(problem)[:80]}")
    except Mismatch as mismatch:
        print(f"{direction} {seed}: {mismatch}")
    except BaseException:
        print(f"{direction} {seed}:")
        traceback.print_exc(file=sys.stdout)
    sys.stdout.flush()
    os._exit(status)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tool")
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--seed", type=int, default=time.time_ns() % 1_000_000_000)
    parser.add_argument("--direction", choices=("ours", "theirs", "continued"), action="append")
    parser.add_argument("--keep", help="a folder for the files of cases that differ")
    options = parser.parse_args()
    failed = 0
    for direction in options.direction or ("ours", "theirs", "continued"):
        print(f"{direction}: seed {options.seed}, {options.count} cases", flush=True)
        bad = dumps = left_out = 0
        for seed in range(options.seed, options.seed + options.count):
            with tempfile.TemporaryDirectory() as folder:
                status = run_case(os.path.abspath(options.tool), direction, seed, folder)
                dumps += status == DUMPED
                left_out += status == LEFT_OUT
                if status not in (EQUAL, DUMPED, LEFT_OUT):
                    bad += 1
                    print(f"  repeat: --direction {direction} --seed {seed} --count 1 (status {status})", flush=True)
                    if options.keep:
                        shutil.copytree(folder, os.path.join(options.keep, f"{direction}-{seed}"), dirs_exist_ok=True)
        asked = f", h5dump asked for {dumps}" if dumps else ""
        count = options.count - left_out
        print(f"{direction}: {count - bad} equal of {count}{asked}", flush=True)
        failed += bad
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
