"""Containers behind `hyperslab serve`, from Python: the interpreter is free while an operation waits."""

import os
import re
import select
import socket
import subprocess
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import hyperslab

# The command that was built with the C library.
COMMAND = Path(os.environ["HYPERSLAB_HDF5_LIBRARY"]).with_name("hyperslab")


@pytest.fixture
def address(tmp_path):
    """Return the address of a server of a folder."""
    command = [COMMAND, "serve", "--root", tmp_path, "--listen", "127.0.0.1:0", "--no-auth"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as server:
        try:
            yield next(filter(None, (re.search(r"127\.0\.0\.1:\d+", line) for line in server.stdout)))[0]
        finally:
            server.terminate()


class SlowProxy(threading.Thread):
    """A way to a server that takes its time. It is a thread of this interpreter: without the interpreter, nothing passes."""

    def __init__(self, address):
        super().__init__(daemon=True)
        host, port = address.rsplit(":", 1)
        self.server, self.messages = (host, int(port)), 0
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self.listener.getsockname()[1]}"
        self.start()

    def run(self):
        while True:
            client, _ = self.listener.accept()
            threading.Thread(target=self.carry, args=(client,), daemon=True).start()

    def carry(self, client):
        """Carry bytes both ways until one side ends."""
        with client, socket.create_connection(self.server) as server:
            others = {client: server, server: client}
            while True:
                for side in select.select(list(others), [], [])[0]:
                    time.sleep(0.001)
                    data = side.recv(1 << 20)
                    if not data:
                        return
                    self.messages += 1
                    others[side].sendall(data)


def test_a_container_behind_a_server(address):
    with hyperslab.File(f"h5s://{address}/run.h5", "w") as f:
        f.create_dataset("a/b", data=np.arange(1000), chunks=(100,), compression="gzip")
        f["a"].attrs["unit"] = "K"
    with hyperslab.File(f"h5s://{address}/run.h5") as f:
        assert (f["a/b"][::7] == np.arange(1000)[::7]).all() and f["a"].attrs["unit"] == "K"


def test_nothing_keeps_the_interpreter_while_it_waits_for_a_server(address):
    proxy = SlowProxy(address)
    with hyperslab.File(f"h5s://{proxy.address}/slow.h5?deadline=5", "w") as f:
        data = f.create_dataset("a/b", data=np.arange(100.0).reshape(10, 10))
        f["scale"] = np.arange(10)
        f["scale"].make_scale("x")
        data.dims[0].attach_scale(f["scale"])
        data.dims[1].label = "y"
        data.attrs["unit"] = "K"
        data.attrs.create("gone", 1)
        del data.attrs["gone"]
        f["soft"] = hyperslab.SoftLink("/a/b")
        f["hard"] = data
        f["type"] = np.dtype("f4")
        f.move("hard", "moved")
        # Besides those of scales and labels.
        assert "unit" in data.attrs and len(data.attrs) == 3 and len(f["a"]) == 1
        assert data.fillvalue == 0 and data.chunks is None and data.shape == (10, 10)
        assert f["soft"] == data and f["moved"] == data and data.ref and f[data.ref] == data
        assert f.get("soft", getlink=True).path == "/a/b"
        assert isinstance(f["type"], hyperslab.Datatype) and data.dims[0].keys() == ["x"]
        assert sorted(f) == ["a", "moved", "scale", "soft", "type"]
        del f["moved"]
    assert proxy.messages > 50


def test_layers_see_what_python_does(tmp_path):
    with hyperslab.File(tmp_path / "a.h5", "w", stack=f"mirror{{to=raw:{tmp_path}/copy}}") as f:
        f["a"] = np.arange(10)
    with hyperslab.File(f"raw:{tmp_path}/copy") as f:
        assert (f["a"][:] == np.arange(10)).all()
    with hyperslab.File(tmp_path / "a.h5", "r+", stack="readonly") as f, pytest.raises(ValueError):
        f["b"] = 1
