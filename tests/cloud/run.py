#!/usr/bin/env python3
"""HDF5 files behind real servers: nginx for HTTP, moto and Ceph's radosgw for S3, and a proxy that is slow and fails.

usage: run.py HYPERSLAB [LIBRARY]      HYPERSLAB is the command, LIBRARY the C library, which reads with the driver ros3

nginx and moto_server are started here, radosgw and Azure's emulator azurite where they are installed. What is not there is
said. Google's store is tested on moto, by the part of its XML interface that it shares with S3: emulators that can be
installed with pip have its JSON interface only, without tags, conditions and uploads in parts.

Every command is run on the file here and on the same file behind a server, and must print the same. Requests are those that
nginx logged; the bounds on them are those of docs/cloud.md.
"""

import asyncio
import base64
import contextlib
import email.utils
import hmac
import io
import json
import os
import pathlib
import random
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
import zlib

import boto3
import h5py
import numpy

COMMAND = sys.argv[1]
LIBRARY = sys.argv[2] if len(sys.argv) > 2 else None
HERE = pathlib.Path(__file__).resolve().parent
WORK = pathlib.Path(tempfile.mkdtemp(prefix="hyperslab-cloud-"))
FILES = WORK / "files"
failures = []


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def wait_for(port):
    for _ in range(300):
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        time.sleep(0.1)
    sys.exit(f"no server on port {port}")


def check(what, holds, seen=""):
    print(f"{'ok  ' if holds else 'FAIL'} {what} {seen}", flush=True)
    if not holds:
        failures.append(what)


def run(*arguments, env=None, status=0):
    """Returns what the command prints. Another status than `status` is a failure."""
    environment = dict(os.environ, **(env or {}))
    done = subprocess.run([COMMAND, *arguments], capture_output=True, env=environment)
    if done.returncode != status:
        check(" ".join(arguments), False, f"exit {done.returncode}: {done.stderr.decode()[:400]}")
    return done.stdout + (done.stderr if status else b"")


# The files.


def make_window(path, **options):
    with h5py.File(path, "w", **options) as f:
        values = numpy.arange(4096 * 4096, dtype="f4").reshape(4096, 4096)
        f.create_dataset("image", data=values, chunks=True)


def make_list(path, **options):
    with h5py.File(path, "w", **options) as f:
        for n in range(1000):
            dataset = f.create_dataset(f"object {n:04}", data=numpy.arange(4, dtype="i4") + n)
            for a in range(5):
                dataset.attrs[f"attribute {a}"] = n * a


def make_mixed(path):
    with h5py.File(path, "w") as f:
        f.create_dataset("run/contiguous", data=numpy.random.default_rng(1).random((300, 500)))
        f.create_dataset("run/deflated", data=numpy.arange(10**6), chunks=(10**4,), compression="gzip")
        f.create_dataset("run/text", data=["a", "bc", "déf"] * 100, dtype=h5py.string_dtype())
        f["run"].attrs["unit"] = "K"
        f["soft"] = h5py.SoftLink("/run/text")


def make_files():
    FILES.mkdir()
    paged = dict(fs_strategy="page", fs_page_size=65536)
    make_window(FILES / "window.h5")
    make_window(FILES / "window-paged.h5", **paged)
    make_list(FILES / "list.h5")
    make_list(FILES / "list-paged.h5", **paged)
    make_mixed(FILES / "mixed.h5")
    with h5py.File(FILES / "empty.h5", "w"):
        pass
    (FILES / "text.h5").write_text("no HDF5 file\n" * 100)
    (FILES / "nothing.h5").write_bytes(b"")


# The servers.


class Nginx:
    def __init__(self):
        self.port, self.log = free_port(), WORK / "access.log"
        conf = WORK / "nginx.conf"
        conf.write_text(f"""
            daemon off; pid {WORK}/nginx.pid; error_log {WORK}/error.log; worker_processes 1;
            user root;
            events {{ worker_connections 256; }}
            http {{
              access_log {self.log}; sendfile on; keepalive_requests 100000;
              client_body_temp_path {WORK}/body; proxy_temp_path {WORK}/proxy; fastcgi_temp_path {WORK}/fastcgi;
              uwsgi_temp_path {WORK}/uwsgi; scgi_temp_path {WORK}/scgi;
              server {{ listen 127.0.0.1:{self.port}; root {FILES}; }}
            }}""")
        if os.getuid() != 0:
            conf.write_text(conf.read_text().replace("user root;", ""))
        nginx = shutil.which("nginx") or "/usr/sbin/nginx"
        self.process = subprocess.Popen([nginx, "-c", str(conf), "-p", str(WORK)], stderr=subprocess.DEVNULL)
        wait_for(self.port)

    def url(self, name):
        return f"http://127.0.0.1:{self.port}/{name}"

    def requests(self):
        """Requests and bytes since the last call."""
        lines = self.log.read_text().splitlines()
        self.log.write_text("")
        os.kill(int((WORK / "nginx.pid").read_text()), 10)  # SIGUSR1: opens the log again
        time.sleep(0.05)
        return len(lines), sum(int(line.split('" ')[1].split()[1]) for line in lines)


def length(head):
    """Returns the number of bytes that follow the head of a request."""
    found = [line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
    return int(found[0].split(b":")[1]) if found else 0


class Proxy:
    """Forwards to a server: each request waits, some are refused, some answers break off."""

    def __init__(self, to, latency=0.0, refused=0.0, cut=0.0):
        self.to, self.latency, self.refused, self.cut = to, latency, refused, cut
        self.port, self.random, self.count = free_port(), random.Random(4), 0
        threading.Thread(target=lambda: asyncio.run(self.serve()), daemon=True).start()
        wait_for(self.port)

    def url(self, name):
        return f"http://127.0.0.1:{self.port}/{name}"

    async def serve(self):
        server = await asyncio.start_server(self.connection, "127.0.0.1", self.port)
        async with server:
            await server.serve_forever()

    def translated(self, head):
        return head

    def answer(self, answer):
        return answer

    async def connection(self, reader, writer):
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                body = await reader.readexactly(length(head))
                head = self.translated(head)
                await asyncio.sleep(self.latency)
                self.count += 1
                if self.random.random() < self.refused:
                    writer.write(b"HTTP/1.1 503 Later\r\nContent-Length: 0\r\n\r\n")
                    continue
                upstream_reader, upstream = await asyncio.open_connection("127.0.0.1", self.to)
                upstream.write(head.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n") + body)
                answer = await upstream_reader.read()
                upstream.close()
                answer = self.answer(answer.replace(b"Connection: close\r\n", b"", 1))
                if self.random.random() < self.cut:
                    writer.write(answer[: len(answer) // 2])
                    await writer.drain()
                    break
                writer.write(answer)
                await writer.drain()
        writer.close()


class GoogleProxy(Proxy):
    """Translates the headers of Google's store to those of S3: tokens, generations, and conditions on them."""

    AUTHORIZATION = b"authorization: AWS4-HMAC-SHA256 Credential=a/20260101/us-east-1/s3/aws4_request, Signature=0"

    def __init__(self, to):
        self.tags, self.conditions = {}, 0
        super().__init__(to)

    def translated(self, head):
        lines = [line for line in head.split(b"\r\n") if not line.lower().startswith(b"authorization:")]
        return b"\r\n".join([self.line(lines[0]), self.AUTHORIZATION, *map(self.line, lines[1:])])

    def line(self, line):
        name, _, value = line.partition(b": ")
        if name.lower() == b"x-goog-if-generation-match":
            self.conditions += 1
            return b"if-none-match: *" if value == b"0" else b"if-match: " + self.tags.get(value, b"none")
        return line

    def answer(self, answer):
        tags = [line for line in answer.split(b"\r\n\r\n")[0].split(b"\r\n") if line.lower().startswith(b"etag: ")]
        if not tags:
            return answer
        tag = tags[0][len(b"etag: ") :]
        generation = str(zlib.crc32(tag)).encode()
        self.tags[generation] = tag
        return answer.replace(tags[0], tags[0] + b"\r\nx-goog-generation: " + generation, 1)


class Bucket:
    """A bucket of a server with the interface of S3."""

    def __init__(self, env):
        self.env, self.endpoint = env, env["AWS_ENDPOINT_URL"]
        self.client = boto3.client(
            "s3",
            endpoint_url=self.endpoint,
            aws_access_key_id=env["AWS_ACCESS_KEY_ID"],
            aws_secret_access_key=env["AWS_SECRET_ACCESS_KEY"],
            region_name=env["AWS_DEFAULT_REGION"],
        )
        self.client.create_bucket(Bucket="bucket")

    def put(self, key, path):
        self.client.put_object(Bucket="bucket", Key=key, Body=path.read_bytes())

    def get(self, key):
        return self.client.get_object(Bucket="bucket", Key=key)["Body"].read()

    def keys(self):
        return [entry["Key"] for entry in self.client.list_objects_v2(Bucket="bucket")["Contents"]]


class Moto(Bucket):
    checks_credentials = False

    def __init__(self):
        port = free_port()
        self.process = subprocess.Popen(
            ["moto_server", "-H", "127.0.0.1", "-p", str(port)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        wait_for(port)
        super().__init__(
            dict(
                AWS_ENDPOINT_URL=f"http://127.0.0.1:{port}",
                AWS_ACCESS_KEY_ID="access",
                AWS_SECRET_ACCESS_KEY="secret-that-is-never-printed",
                AWS_DEFAULT_REGION="us-east-1",
            )
        )

    def stop(self):
        self.process.terminate()


class Radosgw(Bucket):
    checks_credentials = True
    SCRIPT = HERE.parent.parent / "scripts" / "s3"

    def __init__(self):
        done = subprocess.run([self.SCRIPT, "up", WORK / "rados"], capture_output=True, check=True)
        super().__init__(dict(line.split("=", 1) for line in done.stdout.decode().splitlines() if line.startswith("AWS_")))

    def stop(self):
        subprocess.run([self.SCRIPT, "down", WORK / "rados"], capture_output=True)


# What is checked.


def same_output(name, url, env=None):
    path = FILES / name
    for command in (["ls", "-rv"], ["dump"], ["dump", "-H", "-p"], ["stat"]):
        here = run(*command, str(path)).replace(str(path).encode(), b"FILE")
        there = run(*command, url, env=env).replace(url.encode(), b"FILE")
        here, there = (text.replace(name.encode(), b"FILE") for text in (here, there))
        there = there.replace(f"with {url.split(':')[0]} driver".encode(), b"with sec2 driver")
        check(f"{' '.join(command)} {name} of {url.split(':')[0]} is the same", here == there, f"{len(here)} bytes")
    run("diff", str(path), url, env=env)


def requests_of(nginx):
    bounds = [
        ("window.h5", ["dump", "-d", "/image", "-s", "1024,1024", "-c", "64,64"], 4, 1 << 20),
        ("window-paged.h5", ["dump", "-d", "/image", "-s", "1024,1024", "-c", "64,64"], 3, 1 << 20),
        ("list.h5", ["ls", "-v"], 40, None),
        ("list-paged.h5", ["ls", "-v"], 12, None),
    ]
    for name, command, requests_max, bytes_max in bounds:
        nginx.requests()
        run(*command, nginx.url(name))
        requests, received = nginx.requests()
        bytes_max = bytes_max or max(1 << 20, 3 * (FILES / name).stat().st_size)
        seen = f"{requests} requests, {received} bytes of {(FILES / name).stat().st_size}"
        check(f"{name}: at most {requests_max} requests", requests <= requests_max and received <= bytes_max, seen)


def slow(nginx):
    proxy = Proxy(nginx.port, latency=0.05)
    for name, command, seconds_max in [
        ("window.h5", ["dump", "-d", "/image", "-s", "1024,1024", "-c", "64,64"], 0.3),
        ("list.h5", ["ls", "-v"], 2),
    ]:
        best = min(timed(*command, proxy.url(name)) for _ in range(3))
        check(f"{name} with 50 ms a request takes under {seconds_max} s", best < seconds_max, f"{best:.3f} s")


def timed(*arguments):
    begun = time.monotonic()
    run(*arguments)
    return time.monotonic() - begun


def failing(nginx):
    proxy = Proxy(nginx.port, refused=0.1, cut=0.1)
    for _ in range(5):
        run("diff", str(FILES / "mixed.h5"), proxy.url("mixed.h5"))
        run("diff", str(FILES / "window.h5"), proxy.url("window.h5"))
    check("one request of five fails, and nothing else does", True, f"{proxy.count} requests")


def refused(nginx):
    for name, problem in [("absent.h5", b"no such file"), ("text.h5", b"HDF5"), ("nothing.h5", b"HDF5")]:
        text = run("ls", nginx.url(name), status=1)
        check(f"{name} gives an error", problem in text, text.decode().strip()[:120])
    text = run("copy", str(FILES / "mixed.h5"), nginx.url("new.h5"), status=1)
    check("nothing is written over HTTP", not (FILES / "new.h5").exists(), text.decode().strip()[:160])
    secret = nginx.url("absent.h5").replace("//", "//user:secret-word@") + "?token=secret-token"
    text = run("ls", secret, status=1)
    check("credentials in an address are not printed", b"secret" not in text, text.decode().strip()[:160])


def replaced(nginx):
    """A file that is replaced under a reader is an error, not a mixture."""
    big = FILES / "big.h5"
    with h5py.File(big, "w") as f:
        f.create_dataset("d", data=numpy.zeros(30_000_000, "u1"), chunks=(100_000,))
    # Of another size: nginx names a content by its size and the second of its change.
    with h5py.File(WORK / "other.h5", "w") as f:
        f.create_dataset("d", data=numpy.ones(20_000_000, "u1"), chunks=(100_000,))
    proxy = Proxy(nginx.port, latency=0.3)
    reader = subprocess.Popen([COMMAND, "check", proxy.url("big.h5")], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    while proxy.count == 0:
        time.sleep(0.01)
    time.sleep(0.1)
    os.replace(WORK / "other.h5", big)
    text, _ = reader.communicate(timeout=60)
    check("a file that is replaced is an error", reader.returncode != 0 and b"replaced" in text, text.decode()[:160])


def cached(nginx):
    cache = WORK / "cache"
    driver = f"http{{cache={cache}}}"
    for count in (None, 1):
        nginx.requests()
        run("dump", "-f", driver, "-d", "/image", "-s", "1024,1024", "-c", "64,64", nginx.url("window.h5"))
        requests, _ = nginx.requests()
        if count:
            check("a cache on disk answers all but the first request", requests <= count, f"{requests} requests")


def s3(bucket):
    env = bucket.env
    for name in ("mixed.h5", "list.h5", "empty.h5"):
        bucket.put(name, FILES / name)
        same_output(name, f"s3://bucket/{name}", env)
    copy = "s3://bucket/folder/copy.h5"
    run("copy", str(FILES / "mixed.h5"), copy, env=env)
    (WORK / "back.h5").write_bytes(bucket.get("folder/copy.h5"))
    with h5py.File(WORK / "back.h5") as f:
        check("h5py reads what was uploaded", f["run/deflated"][-1] == 10**6 - 1 and f["run"].attrs["unit"] == "K")
    run("diff", str(FILES / "mixed.h5"), copy, env=env)
    store = f"object:{tempfile.mkdtemp(dir=WORK)}/store"
    run("copy", "s3://bucket/mixed.h5", store, env=env)
    run("diff", str(FILES / "mixed.h5"), store)
    text = run("copy", str(FILES / "list.h5"), copy, env=env, status=1)
    check("an object is not replaced unasked", b"exists" in text, text.decode().strip()[:160])
    run("copy", "--if-absent", str(FILES / "list.h5"), copy, env=env)
    run("diff", str(FILES / "mixed.h5"), copy, env=env)
    run("copy", "--if-absent", str(FILES / "list.h5"), "s3://bucket/absent.h5", env=env)
    run("diff", str(FILES / "list.h5"), "s3://bucket/absent.h5", env=env)
    run("copy", "--overwrite", str(FILES / "list.h5"), copy, env=env)
    run("diff", str(FILES / "list.h5"), copy, env=env)
    run("copy", str(FILES / "window.h5"), "s3://bucket/large.h5", env=env)
    run("diff", str(FILES / "window.h5"), "s3://bucket/large.h5", env=env)
    keys = bucket.keys()
    check("an upload in parts leaves nothing behind", not any("partial" in key for key in keys), str(keys))
    wrong = dict(env, AWS_ENDPOINT_URL="http://127.0.0.1:1")
    text = run("ls", "s3://bucket/mixed.h5", env=wrong, status=1)
    check("secrets are not printed", b"never-printed" not in text, text.decode().strip()[:160])
    endpoint = {name: value for name, value in env.items() if name != "AWS_ENDPOINT_URL"}
    run("ls", f"s3://bucket/mixed.h5?endpoint={bucket.endpoint}", env=endpoint)


def s3_far(bucket):
    """The same store 50 ms away, where requests are refused and answers break off."""
    to = int(bucket.endpoint.rsplit(":", 1)[1])
    reads = Proxy(to, latency=0.05, refused=0.05, cut=0.05)
    env = dict(bucket.env, AWS_ENDPOINT_URL=f"http://127.0.0.1:{reads.port}")
    for name in ("mixed.h5", "list.h5", "large.h5"):
        path = FILES / name.replace("large", "window")
        run("diff", str(path), f"s3://bucket/{name}", env=env)
    writes = Proxy(to, latency=0.05, refused=0.05)
    env["AWS_ENDPOINT_URL"] = f"http://127.0.0.1:{writes.port}"
    for name in ("mixed.h5", "window.h5"):
        run("copy", "--overwrite", str(FILES / name), "s3://bucket/far.h5", env=env)
        run("diff", str(FILES / name), "s3://bucket/far.h5", env=bucket.env)
    seen = f"{reads.count} and {writes.count} requests"
    check("s3 far away: one request of ten fails, and nothing else does", True, seen)


def ros3(bucket):
    """h5py on the C library, with the driver of libhdf5 for S3."""
    env = dict(os.environ, **bucket.env, LD_PRELOAD=LIBRARY, ROS3_ID=bucket.env["AWS_ACCESS_KEY_ID"])
    env["ROS3_KEY"] = bucket.env["AWS_SECRET_ACCESS_KEY"]
    env["ROS3_IS_CHECKED"] = "1" if bucket.checks_credentials else ""
    arguments = [sys.executable, "-W", "ignore", HERE / "ros3.py", LIBRARY, bucket.endpoint, "bucket", "mixed.h5"]
    done = subprocess.run(arguments, capture_output=True, env=env)
    expected = f"{sum(range(10**6))} K\n"
    check("h5py reads with the driver ros3", done.stdout.decode() == expected, done.stderr.decode()[-300:])


def azure():
    """Azure Blob Storage, on Microsoft's emulator."""
    emulator = shutil.which("azurite-blob")
    if emulator is None:
        return print("SKIPPED Azure Blob Storage: npm install -g azurite")
    port, account = free_port(), "devstoreaccount1"
    # The emulator's account and key are the same everywhere.
    key = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
    arguments = ["--silent", "--skipApiVersionCheck", "--inMemoryPersistence", "--blobPort", str(port)]
    process = subprocess.Popen([emulator, *arguments], cwd=WORK, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    endpoint = f"http://127.0.0.1:{port}/{account}"
    env = dict(AZURE_STORAGE_ACCOUNT_NAME=account, AZURE_STORAGE_ACCOUNT_KEY=key)
    try:
        wait_for(port)
        azure_container(endpoint, account, key)
        other_store("az", f"az://bucket/copy.h5?endpoint={endpoint}", env)
    finally:
        process.terminate()


def azure_container(endpoint, account, key):
    """Creates the container: a request with the signature of a shared key."""
    date = email.utils.formatdate(usegmt=True)
    headers = f"x-ms-date:{date}\nx-ms-version:2021-08-06\n"
    text = f"PUT{chr(10) * 12}{headers}/{account}/{account}/bucket\nrestype:container"
    signature = base64.b64encode(hmac.digest(base64.b64decode(key), text.encode(), "sha256")).decode()
    request = urllib.request.Request(f"{endpoint}/bucket?restype=container", method="PUT", data=b"")
    for name, value in [("x-ms-date", date), ("x-ms-version", "2021-08-06"), ("Content-Length", "0")]:
        request.add_header(name, value)
    request.add_unredirected_header("Content-type", "")
    request.add_header("Authorization", f"SharedKey {account}:{signature}")
    urllib.request.urlopen(request).read()


def other_store(name, url, env):
    run("copy", str(FILES / "mixed.h5"), url, env=env)
    run("diff", str(FILES / "mixed.h5"), url, env=env)
    text = run("copy", str(FILES / "list.h5"), url, env=env, status=1)
    check(f"{name}: an object is not replaced unasked", b"exists" in text, text.decode().strip()[:160])
    run("copy", "--overwrite", str(FILES / "window.h5"), url, env=env)
    run("diff", str(FILES / "window.h5"), url, env=env)


def google(moto):
    """Google Cloud Storage by its XML interface, which is that of S3 but for names of headers.

    A proxy translates those names. Copies on condition, for new files above 16 MiB, are not tested here.
    """
    proxy = GoogleProxy(int(moto.endpoint.rsplit(":", 1)[1]))
    endpoint = f"http://127.0.0.1:{proxy.port}"
    account = dict(gcs_base_url=endpoint, disable_oauth=True, client_email="", private_key="", private_key_id="")
    env = dict(GOOGLE_SERVICE_ACCOUNT_KEY=json.dumps(account))
    other_store("gs", f"gs://bucket/google/copy.h5?endpoint={endpoint}", env)
    check("gs: the object is in the store", "google/copy.h5" in moto.keys())
    with h5py.File(io.BytesIO(moto.get("google/copy.h5"))) as f:
        check("gs: h5py reads what was uploaded", f["image"].shape[0] > 0)
    check("gs: conditions on generations were sent", proxy.conditions > 0, f"{proxy.conditions}")
    text = run("ls", f"gs://bucket/none.h5?endpoint={endpoint}&anonymous=true", status=1)
    check("gs: an object that is not there is an error", b"no such file" in text, text.decode().strip()[:160])


def on_s3(server):
    try:
        s3(server)
        s3_far(server)
        if isinstance(server, Moto):
            google(server)
        if LIBRARY:
            ros3(server)
    finally:
        server.stop()


def main():
    make_files()
    nginx = Nginx()
    try:
        for name in ("mixed.h5", "list.h5", "list-paged.h5", "empty.h5"):
            same_output(name, nginx.url(name))
        requests_of(nginx)
        slow(nginx)
        failing(nginx)
        refused(nginx)
        replaced(nginx)
        cached(nginx)
        on_s3(Moto())
        if shutil.which("radosgw"):
            on_s3(Radosgw())
        else:
            print("SKIPPED radosgw: its packages are not installed")
        azure()
    finally:
        nginx.process.terminate()
        shutil.rmtree(WORK, ignore_errors=True)
    sys.exit(f"{len(failures)} failed: {failures}" if failures else 0)


main()
