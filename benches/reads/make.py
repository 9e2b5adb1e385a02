#!/usr/bin/env python3
"""Makes the files of this benchmark with h5py: make.py DIR"""
import os
import sys

import h5py
import numpy as np

folder = sys.argv[1]
os.makedirs(folder, exist_ok=True)
with h5py.File(os.path.join(folder, "contiguous.h5"), "w") as f:
    d = f.create_dataset("x", (1 << 28,), "<f4")
    for i in range(16):
        d[i << 24:(i + 1) << 24] = np.arange(1 << 24, dtype="<f4")
with h5py.File(os.path.join(folder, "eight.h5"), "w") as f:
    for i in range(8):
        data = (np.arange(1 << 23) % 251 + i).astype("i4").reshape(-1, 2048)
        f.create_dataset(f"d{i}", data=data, chunks=(128, 2048), compression="gzip", compression_opts=1, shuffle=True)
for generation in ["earliest", "latest"]:
    with h5py.File(os.path.join(folder, f"objects-{generation}.h5"), "w", libver=generation) as f:
        group = f.create_group("all")
        for i in range(100_000):
            group.create_dataset(f"object {i:06d}", data=i)
