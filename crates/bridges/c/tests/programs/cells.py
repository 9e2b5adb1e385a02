"""AnnData: sparse and dense matrices, categories, strings, nested metadata; whole, backed and changed in place."""
import os
import warnings

import anndata
import h5py
import numpy as np
import pandas as pd
import scipy.sparse

from show import expect_error, main, show

warnings.simplefilter("ignore")


def example():
    rng = np.random.default_rng(11)
    dense = rng.poisson(0.4, (40, 25)).astype("f4")
    cells = pd.DataFrame(
        {"kind": pd.Categorical([["T", "B", "NK"][i % 3] for i in range(40)]), "depth": rng.normal(size=40), "name": [f"c{i}" for i in range(40)]},
        index=[f"cell{i}" for i in range(40)],
    )
    genes = pd.DataFrame({"marker": rng.integers(0, 2, 25).astype(bool)}, index=[f"gene{i}" for i in range(25)])
    data = anndata.AnnData(X=scipy.sparse.csr_matrix(dense), obs=cells, var=genes)
    data.layers["dense"] = dense * 2
    data.layers["csc"] = scipy.sparse.csc_matrix(dense)
    data.obsm["pca"] = rng.normal(size=(40, 4))
    data.obsm["table"] = cells[["depth"]]
    data.obsp["near"] = scipy.sparse.random(40, 40, 0.05, "csr", rng=np.random.default_rng(1))
    data.uns["settings"] = {"steps": np.array([1, 2, 3]), "title": "zwölf", "inner": {"scale": 0.5, "names": np.array(["a", "bb"])}}
    data.uns["records"] = np.array([(1, 2.5), (2, 3.5)], dtype=[("i", "i4"), ("x", "f8")])
    return data


def write(folder):
    data = example()
    data.write_h5ad(os.path.join(folder, "plain.h5ad"))
    data.write_h5ad(os.path.join(folder, "packed.h5ad"), compression="gzip")
    data.copy().write_h5ad(os.path.join(folder, "backed.h5ad"), as_dense=["X"])
    backed = anndata.read_h5ad(os.path.join(folder, "backed.h5ad"), backed="r+")
    backed.X[3:5, :] = np.full((2, 25), 9, "f4")
    show("backed", backed[[1, 4, 7], [2, 5]].X)
    backed.file.close()
    expect_error("a missing file", lambda: anndata.read_h5ad(os.path.join(folder, "nothing.h5ad")))


def dense(matrix):
    return matrix.toarray() if scipy.sparse.issparse(matrix) else np.asarray(matrix)


def read(folder):
    for name in ["plain", "packed", "backed"]:
        data = anndata.read_h5ad(os.path.join(folder, f"{name}.h5ad"))
        print(f"{name}: {data.shape} {type(data.X).__name__}")
        show("X", dense(data.X))
        for layer in sorted(data.layers):
            show(layer, dense(data.layers[layer]))
        print(data.obs.head(4).to_csv(), data.var.tail(3).to_csv(), list(data.obs["kind"].cat.categories), sep="")
        show("pca", data.obsm["pca"])
        show("near", dense(data.obsp["near"]))
        show("steps", data.uns["settings"]["steps"])
        show("inner", sorted((k, str(v)) for k, v in data.uns["settings"]["inner"].items()))
        show("records", data.uns["records"])
    backed = anndata.read_h5ad(os.path.join(folder, "plain.h5ad"), backed="r")
    show("backed part", dense(backed[5:9, 3:6].to_memory().X))
    backed.file.close()
    with h5py.File(os.path.join(folder, "packed.h5ad")) as f:
        f.visititems(lambda path, item: print(f"{path} {sorted(item.attrs)} {getattr(item, 'dtype', '')} {getattr(item, 'chunks', '')}"))


main(write, read)
