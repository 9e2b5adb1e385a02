"""Reads datasets with SWMR while another program appends; whatever is there must be the numbers from 0 on."""

import sys
import time

import h5py
import numpy

path, count = sys.argv[1], int(sys.argv[2])
with h5py.File(path, "r", libver="latest", swmr=True) as file:
    print("open", flush=True)
    sizes, stop = set(), time.time() + 30
    datasets = [file[name] for name in sorted(file)]
    while time.time() < stop:
        done = True
        for dataset in datasets:
            dataset.refresh()
            rows = dataset.shape[0]
            if rows == 0:
                done = False
                continue
            data = dataset[...].reshape(rows, -1)
            # A row may be there before its elements, with the fill value; never anything else.
            expected = numpy.arange(rows)[:, None]
            wrong = (data != expected) & (data != -1)
            assert not wrong.any(), (dataset.name, rows, data[wrong][:5])
            written = int((data[:, 0] == expected[:, 0]).sum())
            assert (data[:written] == expected[:written]).all(), (dataset.name, rows, written)
            sizes.add(rows)
            done &= written == count
        if done:
            print(len(sizes), flush=True)
            sys.exit(0)
    sys.exit(f"saw {sorted(sizes)[-3:]} only")
