"""h5pyd, unchanged, against `hyperslab serve --http`: reads what h5py wrote, and writes what h5py reads."""
import base64
import os
import sys
import time

import h5py
import h5pyd
import numpy as np
import requests

ENDPOINT, ROOT = sys.argv[1], sys.argv[2]
ANN, BOB, EVE = "0123456789abcdef" * 2, "fedcba9876543210" * 2, "00112233445566778899aabbccddeeff"


def opened(domain, mode="r", token=ANN, user="ann", **more):
    return h5pyd.File(domain, mode, endpoint=ENDPOINT, username=user, password=token, retries=1, **more)


def unlocked(name):
    """Opens a file with h5py as soon as the server closed it."""
    for _ in range(100):
        try:
            return h5py.File(os.path.join(ROOT, name))
        except BlockingIOError:
            time.sleep(0.1)
    raise AssertionError(f"{name} stays locked")


def same(ours, theirs, what):
    assert np.array_equal(np.asarray(ours), np.asarray(theirs)), f"{what}: {ours!r}, not {theirs!r}"


def check_reading():
    theirs = h5py.File(os.path.join(ROOT, "made.h5"))
    with opened("/made.h5") as f:
        assert sorted(f) == sorted(theirs), (sorted(f), sorted(theirs))
        group = f["group"]
        assert sorted(group) == sorted(theirs["group"])
        assert f.attrs["title"] == "made by h5py"
        assert np.array_equal(f.attrs["numbers"], [1.5, np.nan, np.inf], equal_nan=True), f.attrs["numbers"]
        assert f.attrs["flag"] == np.True_
        assert list(f.attrs["words"]) == ["één", "two"], f.attrs["words"]
        assert f.attrs["pair"]["b"] == 2.5 and f.attrs["pair"]["a"] == 1, f.attrs["pair"]
        assert group.attrs["a/b"] == 3
        grid, whole = group["grid"], theirs["group/grid"][...]
        assert grid.shape == (6, 10) and grid.dtype == np.dtype("f4") and grid.chunks == (2, 5)
        assert grid.compression == "gzip" and grid.compression_opts == 4, (grid.compression, grid.compression_opts)
        for key in [np.s_[...], np.s_[0:2, 1:3], np.s_[2], np.s_[:, -1], np.s_[::2, 1::3], np.s_[1, 2]]:
            same(grid[key], whole[key], key)
        same(grid[:, [1, 4, 9]], whole[:, [1, 4, 9]], "list")
        same(grid[whole > 50], whole[whole > 50], "mask")
        same(group["big"][1:, ::2], theirs["group/big"][1:, ::2], "big-endian")
        assert group["big"].dtype == np.dtype(">i2")
        same(group["soft"][0], whole[0], "soft link")
        assert group.get("nowhere", getlink=True).path == "/not/here"
        assert group.get("out", getlink=True).path == "/x"
        for name in ["scalar", "fixed", "table", "flags", "half", "cells", "arrays", "colours", "grows"]:
            same(f[name][()], theirs[name][()], name)
        # h5pyd has complex numbers as compounds.
        assert f["complex"][...].tolist() == [(1, 2), (3, -4)], f["complex"][...]
        assert [bytes(e) for e in f["opaque"][...]] == [bytes(e) for e in theirs["opaque"][...]]
        assert [s if isinstance(s, bytes) else s.encode() for s in f["strings"][...]] == list(theirs["strings"][...])
        padded = f["padded"][...]
        assert padded["a"].tolist() == [1, 2] and padded["b"].tolist() == [0.5, 1.5]
        words = f["words"][...]
        assert words["n"].tolist() == [1, 2], words
        assert [w if isinstance(w, str) else w.decode() for w in words["w"]] == ["one", "deux"], words
        # An empty sequence is 0 to h5pyd.
        for ours, wanted in zip(f["ragged"][:2], theirs["ragged"][:2]):
            same(ours, wanted, "ragged")
        assert f["nothing"].shape is None
        assert f["named"].dtype == np.dtype("<i4")
        references = f["references"][...]
        assert f[references[0]].name == "/group" or "grid" in f[references[0]], references
        assert f["grows"].maxshape == (None,) and f["grows"].fillvalue == -1, f["grows"].fillvalue
        assert f["group/same"].id.id == grid.id.id, "hard links to one object have one identifier"
    theirs.close()


def check_writing():
    with opened("/runs/new.h5", "w") as f:
        f.attrs["title"] = "new"
        f.attrs["v"] = np.array([1.5, np.nan])
        g = f.create_group("a/b")
        g.attrs["unit"] = "K"
        grid = np.arange(24, dtype="f8").reshape(4, 6)
        d = g.create_dataset("grid", data=grid, chunks=(2, 3), compression="gzip", compression_opts=6, shuffle=True)
        d[1:3, 2:4] = -1
        d.attrs["n"] = 5
        g.create_dataset("large", data=np.arange(100_000, dtype="i8"))
        g.create_dataset("filled", (4,), dtype="i4", fillvalue=7)
        g.create_dataset("big", data=np.arange(5, dtype=">u2"))
        e = f.create_dataset("grows", data=np.arange(4, dtype="i4"), maxshape=(None,), chunks=(8,))
        e.resize((6,))
        e[4:6] = [7, 8]
        s = f.create_dataset("strings", (3,), dtype=h5pyd.special_dtype(vlen=str))
        s[...] = np.array(["a", "bé", "three"], dtype=object)
        f.create_dataset("fixed", data=np.array([b"ab", b"cde"], dtype="S3"))
        f.create_dataset("flags", data=np.array([True, False]))
        f.create_dataset("complex", data=np.array([1 + 2j]))
        f.create_dataset("table", data=np.array([(1, 2.5), (3, 4.5)], dtype=[("n", "i4"), ("v", "f8")]))
        r = f.create_dataset("ragged", (2,), dtype=h5pyd.special_dtype(vlen=np.dtype("i4")))
        r[0] = np.array([1, 2, 3], "i4")
        f["soft"] = h5pyd.SoftLink("/a/b/grid")
        f["out"] = h5pyd.ExternalLink("/runs/other.h5", "/x")
        f["hard"] = d
        f["named"] = np.dtype("<f4")
        f["doomed"] = np.arange(3)
    with opened("/runs/new.h5", "r+") as f:
        same(f["a/b/grid"][1], [6, 7, -1, -1, 10, 11], "after reopening")
        f["a/b/grid"][0, [0, 5]] = [100, 200]
        f["grows"].resize((8,))
        f["grows"][6:] = [9, 10]
        f["a"].attrs["late"] = "yes"
        f.attrs["title"] = "changed"
        del f.attrs["v"]
        del f["doomed"]
        f.create_dataset("a/c", data=np.ones(3))
        f.flush()
    with unlocked("runs/new.h5") as f:
        grid = np.arange(24, dtype="f8").reshape(4, 6)
        grid[1:3, 2:4] = -1
        grid[0, [0, 5]] = [100, 200]
        d = f["a/b/grid"]
        same(d[...], grid, "grid")
        assert d.chunks == (2, 3) and d.compression == "gzip" and d.compression_opts == 6 and d.shuffle
        assert d.attrs["n"] == 5 and f["a/b"].attrs["unit"] == "K" and f["a"].attrs["late"] == "yes"
        assert f.attrs["title"] == "changed" and "v" not in f.attrs and "doomed" not in f
        same(f["a/b/large"][...], np.arange(100_000), "large")
        assert f["a/b/filled"].fillvalue == 7 and f["a/b/filled"][...].tolist() == [7] * 4
        assert f["a/b/big"].dtype == np.dtype(">u2") and f["a/b/big"][...].tolist() == list(range(5))
        assert f["grows"][...].tolist() == [0, 1, 2, 3, 7, 8, 9, 10] and f["grows"].maxshape == (None,)
        assert [s.decode() for s in f["strings"][...]] == ["a", "bé", "three"]
        assert f["fixed"][...].tolist() == [b"ab", b"cde"]
        assert f["flags"].dtype == bool and f["flags"][...].tolist() == [True, False]
        assert f["complex"][...].tolist() == [1 + 2j]
        assert f["table"][...].tolist() == [(1, 2.5), (3, 4.5)]
        assert f["ragged"][0].tolist() == [1, 2, 3] and len(f["ragged"][1]) == 0
        assert f.get("soft", getlink=True).path == "/a/b/grid" and f["hard"] == d
        out = f.get("out", getlink=True)
        assert (out.filename, out.path) == ("/runs/other.h5", "/x"), (out.filename, out.path)
        assert f["named"].dtype == np.dtype("<f4") and f["a/c"][...].tolist() == [1, 1, 1]


def check_references():
    with opened("/runs/refs.h5", "w") as f:
        g = f.create_group("g")
        f.create_dataset("r", data=np.array([g.ref], dtype=h5pyd.special_dtype(ref=h5pyd.Reference)))
    with unlocked("runs/refs.h5") as f:
        assert f[f["r"][0]].name == "/g"


def check_folders():
    folder = h5pyd.Folder("/runs/", endpoint=ENDPOINT, username="ann", password=ANN)
    assert "new.h5" in list(folder), list(folder)
    h5pyd.Folder("/runs/deeper/", mode="x", endpoint=ENDPOINT, username="ann", password=ANN)
    assert os.path.isdir(os.path.join(ROOT, "runs/deeper"))
    changing = h5pyd.Folder("/runs/", mode="r+", endpoint=ENDPOINT, username="ann", password=ANN)
    del changing["refs.h5"]
    assert not os.path.exists(os.path.join(ROOT, "runs/refs.h5"))
    top = h5pyd.Folder("/", endpoint=ENDPOINT, username="ann", password=ANN)
    assert sorted(top) == ["made.h5", "runs"], sorted(top)


def ask(method, path, token=ANN, **more):
    headers = {"Authorization": f"Bearer {token}", **more.pop("headers", {})}
    return requests.request(method, ENDPOINT + path, headers=headers, timeout=10, **more)


def check_rights():
    with opened("/made.h5", token=BOB, user="bob") as f:
        assert f["scalar"][()] == 42
        assert f.getACL("bob")["read"] and not f.getACL("bob")["update"]
    for mode in ["w", "r+"]:
        try:
            opened("/made.h5", mode, token=BOB, user="bob").close()
        except IOError:
            continue
        raise AssertionError(f"a read token opened a file with {mode}")
    assert ask("GET", "/?domain=/made.h5", BOB).status_code == 200
    for method, path, token, wanted in [
        ("PUT", "/?domain=/x.h5", BOB, 403),
        ("DELETE", "/?domain=/made.h5", BOB, 403),
        ("POST", "/groups?domain=/made.h5", BOB, 403),
        ("GET", "/?domain=/made.h5", EVE, 403),
        ("PUT", "/?domain=/x.h5", EVE, 403),
        ("PUT", "/?domain=/runs/eve.h5", EVE, 201),
        ("DELETE", "/?domain=/runs/eve.h5", EVE, 200),
        ("GET", "/?domain=/made.h5", "wrong", 401),
        ("GET", "/?domain=/not.h5", ANN, 404),
        ("GET", "/?domain=/../tokens", ANN, 403),
        ("PUT", "/?domain=/runs/new.h5", ANN, 409),
        ("GET", "/groups/g-00000000-00000000-0000-000000-000000?domain=/made.h5", ANN, 404),
        ("GET", "/groups/nonsense?domain=/made.h5", ANN, 400),
        ("PATCH", "/groups?domain=/made.h5", ANN, 405),
    ]:
        status = ask(method, path, token).status_code
        assert status == wanted, (method, path, status, wanted)
    basic = base64.b64encode(f"ann:{ANN}".encode()).decode()
    assert requests.get(ENDPOINT + "/about", headers={"Authorization": f"Basic {basic}"}).json()["username"] == "ann"


def check_http():
    root = ask("GET", "/?domain=/made.h5").json()["root"]
    links = ask("GET", f"/groups/{root}/links?domain=/made.h5").json()["links"]
    grows = next(link["id"] for link in links if link["title"] == "grows")
    path = f"/datasets/{grows}/value?domain=/made.h5"
    first = ask("GET", path)
    assert first.json()["value"] == [0, 1, 2, 3]
    assert ask("GET", path, headers={"If-None-Match": first.headers["ETag"]}).status_code == 304
    binary = {"Accept": "application/octet-stream", "Accept-Encoding": "identity", "Range": "bytes=8-15"}
    part = ask("GET", path, headers=binary)
    assert part.status_code == 206 and part.content == (1).to_bytes(8, "little"), (part.status_code, part.content)
    large = ask("GET", "/?domain=/runs/new.h5").json()["root"]
    answer = ask("GET", f"/groups/{root}?domain=/made.h5&include_attrs=1&include_links=1")
    assert answer.headers.get("Content-Encoding") == "gzip", answer.headers
    # A commit of another client is seen at once, and has another tag.
    before = ask("GET", f"/groups/{large}?domain=/runs/new.h5").headers["ETag"]
    body = {"shape": "H5S_SCALAR", "type": "H5T_STD_I32LE", "value": 9}
    put = ask("PUT", f"/groups/{large}/attributes/n?domain=/runs/new.h5", json=body)
    assert put.status_code == 201, (put.status_code, put.text)
    after = ask("GET", f"/groups/{large}/attributes/n?domain=/runs/new.h5")
    assert after.json()["value"] == 9 and after.headers["ETag"] != before


def main():
    for check in [check_reading, check_writing, check_references, check_folders, check_rights, check_http]:
        started = time.time()
        check()
        print(f"{check.__name__}: {time.time() - started:.2f} s")


if __name__ == "__main__":
    main()
