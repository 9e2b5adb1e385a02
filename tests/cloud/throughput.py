#!/usr/bin/env python3
"""Compares reading a chunked dataset from nginx on this machine with curl of the same bytes over eight connections.

usage: throughput.py LIBRARY [MIB]       prints the best of three of each, and their ratio; fails below 0.8

h5py on the C library reads the dataset as one array, into memory that is there already; curl throws away what it gets.
"""

import contextlib
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import time

import h5py
import numpy

LIBRARY, MIB = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 1024
CONNECTIONS = 8

READ = """
import sys, time, h5py, numpy
into = numpy.ones((int(sys.argv[2]), 1 << 18), 'f4')
begun = time.monotonic()
with h5py.File(sys.argv[1]) as file:
    file['d'].read_direct(into)
print(time.monotonic() - begun)
assert into[-1, -1] != 1
"""


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


@contextlib.contextmanager
def nginx(folder):
    port, conf = free_port(), folder / "nginx.conf"
    names = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
    paths = " ".join(f"{name}_temp_path {folder}/{name};" for name in names)
    conf.write_text(f"""
        daemon off; pid {folder}/nginx.pid; error_log {folder}/error.log; worker_processes 2;
        events {{ worker_connections 256; }}
        http {{ access_log off; sendfile on; keepalive_requests 100000; {paths}
                server {{ listen 127.0.0.1:{port}; root {folder}; }} }}""")
    server = subprocess.Popen([shutil.which("nginx") or "/usr/sbin/nginx", "-c", conf, "-p", folder, "-g", "user root;"])
    try:
        time.sleep(0.5)
        yield f"http://127.0.0.1:{port}"
    finally:
        server.terminate()
        server.wait()


def make(path):
    """1 GiB of numbers that no one can tell from noise, in chunks of 1 MiB."""
    rng = numpy.random.default_rng(1)
    with h5py.File(path, "w") as file:
        dataset = file.create_dataset("d", (MIB, 1 << 18), "f4", chunks=(1, 1 << 18))
        for row in range(MIB):
            dataset[row] = rng.random(1 << 18, "f4")


def seconds(*commands):
    begun = time.monotonic()
    running = [subprocess.Popen(command, stdout=subprocess.DEVNULL) for command in commands]
    if any([process.wait() for process in running]):
        sys.exit(f"{commands[0]} failed")
    return time.monotonic() - begun


def read(url):
    """Returns the time that opening the file and reading the dataset take."""
    env = dict(os.environ, LD_PRELOAD=LIBRARY, HYPERSLAB_NETWORK="1")
    command = [sys.executable, "-W", "ignore", "-c", READ, url, str(MIB)]
    return float(subprocess.run(command, env=env, stdout=subprocess.PIPE, check=True).stdout)


def curls(url, size):
    part = -(-size // CONNECTIONS)
    ranges = [f"{start}-{min(start + part, size) - 1}" for start in range(0, size, part)]
    return [["curl", "-s", "-o", "/dev/null", "-r", one, url] for one in ranges]


def main():
    folder = pathlib.Path(tempfile.mkdtemp(prefix="hyperslab-throughput-"))
    folder.chmod(0o755)
    try:
        make(folder / "big.h5")
        size = (folder / "big.h5").stat().st_size
        with nginx(folder) as server:
            url = f"{server}/big.h5"
            theirs, ours = [], []
            for _ in range(3):
                theirs.append(seconds(*curls(url, size)))
                ours.append(read(url))
        theirs, ours = min(theirs), min(ours)
        ratio = theirs / ours
        rates = f"curl {size / theirs / 2**20:.0f} MiB/s, hyperslab {size / ours / 2**20:.0f} MiB/s"
        print(f"{rates}, ratio {ratio:.2f}")
        sys.exit(0 if ratio >= 0.8 else 1)
    finally:
        shutil.rmtree(folder)


main()
