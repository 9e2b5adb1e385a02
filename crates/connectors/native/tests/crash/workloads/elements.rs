//! Elements of every layout.

use hyperslab::{Dataset, Dataspace, Datatype, File, Reference, Result, Selection};
use model::datatype::ReferenceKind;
use model::heap::Heap;
use model::properties::{DatasetCreate, Fill, FillTime, FillValue, Layout};

use super::{Workload, numbers};

fn ints(f: &File, name: &str, count: usize) -> Result<Dataset> {
    f.new_dataset::<i32>().shape(count).create(name)
}

fn put(f: &File, name: &str, start: u64, values: &[i32]) -> Result<()> {
    let selection = Selection::block(&[start], &[values.len() as u64])?;
    f.dataset(name)?.write_selection(&selection, values)
}

fn packed(f: &File, name: &str) -> Result<()> {
    let d = f.new_dataset::<i32>().shape((20, 20)).resizable().chunk((8, 8));
    d.shuffle().deflate(4).fletcher32().create(name)?.write_raw(&numbers(0, 400))
}

fn put_block(f: &File, name: &str, start: [u64; 2], shape: [u64; 2], value: i32) -> Result<()> {
    let selection = Selection::block(&start, &shape)?;
    f.dataset(name)?.write_selection(&selection, &vec![value; (shape[0] * shape[1]) as usize])
}

fn texts(f: &File, name: &str, values: &[&str]) -> Result<()> {
    let values: Vec<String> = values.iter().map(|&v| v.to_owned()).collect();
    match f.exists(name)? {
        true => f.dataset(name)?.write_raw(&values),
        false => f.new_dataset::<String>().shape(values.len()).create(name)?.write_raw(&values),
    }
}

/// Stores references of a kind in a dataset, which is made where it is missing.
fn refer(f: &File, name: &str, kind: ReferenceKind, to: &[Reference]) -> Result<()> {
    let memory = Datatype::reference(kind).memory_type();
    let (mut heap, size) = (Heap::new(), memory.size() as usize);
    let mut data = vec![0; to.len() * size];
    data.chunks_exact_mut(size)
        .zip(to)
        .try_for_each(|(descriptor, r)| heap.store_reference(r.clone(), descriptor))?;
    let d = match f.exists(name)? {
        true => f.dataset(name)?,
        false => f.new_dataset_as(Datatype::reference(kind)).shape(to.len()).create(name)?,
    };
    d.write_bytes(&Selection::All, &memory, &data, &mut heap)
}

fn append(f: &File, name: &str, values: &[i32]) -> Result<()> {
    let d = f.dataset(name)?;
    let old = d.shape()[0];
    d.resize(old + values.len())?;
    put(f, name, old as u64, values)
}

pub(super) fn all() -> Vec<Workload> {
    let mut all = plain();
    all.extend(chunks());
    all.extend(heaps());
    all
}

fn plain() -> Vec<Workload> {
    vec![
        Workload::new(
            "compact elements",
            &[
                |f| f.new_dataset::<i32>().shape(30).compact().create("d")?.write_raw(&numbers(0, 30)),
                |f| put(f, "d", 5, &[-1; 20]),
                |f| put(f, "d", 0, &[-2; 30]),
            ],
        ),
        Workload::new(
            "contiguous elements overwritten",
            &[
                |f| ints(f, "d", 40)?.write_raw(&numbers(0, 40)),
                |f| put(f, "d", 10, &[-1; 20]),
                |f| put(f, "d", 0, &[-2; 15]),
                |f| put(f, "d", 39, &[-3]),
            ],
        ),
        Workload::new(
            "overwrites of many sectors",
            &[
                |f| ints(f, "d", 1500)?.write_raw(&numbers(0, 1500)),
                |f| put(f, "d", 100, &numbers(-5000, 1200)),
                |f| {
                    put(f, "d", 0, &[9; 300])?;
                    put(f, "d", 200, &[8; 300])
                },
                |f| put(f, "d", 1000, &[7; 500]),
            ],
        ),
        Workload::new(
            "two datasets overwritten together",
            &[
                |f| {
                    ints(f, "a", 200)?.write_raw(&[1; 200])?;
                    ints(f, "b", 200)?.write_raw(&[1; 200])
                },
                |f| {
                    f.dataset("a")?.write_raw(&[2; 200])?;
                    f.dataset("b")?.write_raw(&[2; 200])
                },
                |f| {
                    f.dataset("b")?.write_raw(&[3; 200])?;
                    f.dataset("a")?.write_raw(&[3; 200])
                },
            ],
        ),
        Workload::new(
            "first writes leave fill values",
            &[
                |f| f.new_dataset::<i32>().shape(100).fill_value(&7i32).create("d").map(drop),
                |f| put(f, "d", 20, &[1; 10]),
                |f| put(f, "d", 90, &[2; 10]),
            ],
        ),
        Workload::new(
            "scalars and nothing",
            &[
                |f| f.new_dataset::<f64>().create("scalar")?.write_scalar(&1.5f64),
                |f| {
                    let op = vol::OpDatasetCreate {
                        place: Some(vol::LinkLocation::new(f.token(), "null")),
                        datatype: Datatype::native_int(4),
                        committed: None,
                        space: Dataspace::Null,
                        create: DatasetCreate::default(),
                    };
                    f.container().dataset_create(&op).map(drop)
                },
                |f| f.dataset("scalar")?.write_scalar(&-2.5f64),
                |f| f.unlink("null"),
            ],
        ),
        Workload::new(
            "space used again",
            &[
                |f| (0..5).try_for_each(|n| ints(f, &format!("d{n}"), 60)?.write_raw(&[n; 60])),
                |f| (0..4).try_for_each(|n| f.unlink(&format!("d{n}"))),
                |f| (5..9).try_for_each(|n| ints(f, &format!("d{n}"), 55)?.write_raw(&[n; 55])),
                |f| f.unlink("d6"),
                |f| ints(f, "last", 50)?.write_raw(&[9; 50]),
            ],
        ),
    ]
}

fn chunks() -> Vec<Workload> {
    vec![
        Workload::new(
            "chunks without filters",
            &[
                |f| f.new_dataset::<i32>().shape((20, 20)).chunk((8, 8)).create("d").map(drop),
                |f| put_block(f, "d", [3, 3], [10, 10], 1),
                |f| put_block(f, "d", [0, 0], [20, 20], 2),
                |f| put_block(f, "d", [19, 19], [1, 1], 3),
            ],
        ),
        Workload::new(
            "filtered chunks overwritten",
            &[
                |f| packed(f, "d"),
                |f| put_block(f, "d", [2, 2], [9, 9], -1),
                |f| put_block(f, "d", [7, 7], [2, 2], -2),
            ],
        ),
        Workload::new(
            "grow and shrink",
            &[
                |f| packed(f, "d"),
                |f| f.dataset("d")?.resize((11, 30)),
                |f| f.dataset("d")?.resize((25, 5)),
                |f| put_block(f, "d", [10, 0], [15, 5], 4),
                |f| f.dataset("d")?.resize((0, 0)),
            ],
        ),
        Workload::new(
            "a chunked dataset goes and comes",
            &[|f| packed(f, "d"), |f| f.unlink("d"), |f| packed(f, "d"), |f| packed(f, "e")],
        ),
        Workload::new(
            "many chunks",
            &[
                |f| f.new_dataset::<i32>().shape(150).chunk(2).create("d")?.write_raw(&numbers(0, 150)),
                |f| put(f, "d", 30, &[-1; 20]),
                |f| put(f, "d", 0, &[-2; 150]),
            ],
        ),
        Workload::new(
            "whole chunks as they are stored",
            &[
                |f| f.new_dataset::<i32>().shape(16).chunk(4).create("d").map(drop),
                |f| f.container().chunk_write(f.dataset("d")?.token(), &[4], 0, &[1; 16]),
                |f| f.container().chunk_write(f.dataset("d")?.token(), &[4], 0, &[2; 16]),
                |f| f.container().chunk_write(f.dataset("d")?.token(), &[12], 0, &[3; 16]),
            ],
        ),
        Workload::new(
            "appends",
            &[
                |f| f.new_dataset::<i32>().shape(0).resizable().chunk(16).deflate(1).create("d").map(drop),
                |f| append(f, "d", &[1; 10]),
                |f| append(f, "d", &[2; 10]),
                |f| append(f, "d", &[3; 30]),
                |f| append(f, "d", &[4; 1]),
            ],
        ),
        Workload::new(
            "chunks with a fill value",
            &[
                |f| {
                    let value = FillValue::Value(5i32.to_le_bytes().to_vec());
                    let fill = Fill { value, time: FillTime::Alloc };
                    let layout = Layout::chunked(&[10]);
                    let create = DatasetCreate { layout, fill, ..DatasetCreate::default() };
                    f.new_dataset::<i32>().shape(35).resizable().properties(create).create("d").map(drop)
                },
                |f| put(f, "d", 12, &[1; 3]),
                |f| f.dataset("d")?.resize(13),
                |f| f.dataset("d")?.resize(50),
            ],
        ),
    ]
}

fn heaps() -> Vec<Workload> {
    vec![
        Workload::new(
            "texts overwritten",
            &[
                |f| texts(f, "t", &["one", "zwei", "trois"]),
                |f| texts(f, "t", &["un", "", "a text that is longer than those before it"]),
                |f| texts(f, "t", &["1", "2", "3"]),
                |f| f.unlink("t"),
                |f| texts(f, "t", &["new", "newer", "newest"]),
            ],
        ),
        Workload::new(
            "long texts",
            &[
                |f| texts(f, "t", &[&"x".repeat(5000), "short"]),
                |f| texts(f, "t", &["short", &"y".repeat(3000)]),
                |f| texts(f, "u", &[&"z".repeat(4000), &"z".repeat(100)]),
            ],
        ),
        Workload::new(
            "sequences in chunks",
            &[
                |f| {
                    let d = f.new_dataset::<Vec<i32>>().shape(9).chunk(4).create("v")?;
                    d.write_raw(&(0..9).map(|n| numbers(n, n as usize)).collect::<Vec<_>>())
                },
                |f| f.dataset("v")?.write_raw(&vec![vec![1, 2, 3]; 9]),
                |f| f.dataset("v")?.write_selection(&Selection::block(&[3], &[1])?, &[numbers(0, 500)]),
            ],
        ),
        Workload::new(
            "references",
            &[
                |f| {
                    f.create_group("g")?;
                    ints(f, "d", 10)?.write_raw(&[1; 10])?;
                    refer(f, "objects", ReferenceKind::Object1, &[Reference::object(f.group("g")?.token())])
                },
                |f| {
                    let region = Reference::region(f.dataset("d")?.token(), Selection::block(&[2], &[3])?);
                    refer(f, "regions", ReferenceKind::DatasetRegion1, &[region, Reference::null()])
                },
                |f| {
                    let region = Reference::region(f.dataset("d")?.token(), Selection::block(&[0], &[9])?);
                    refer(f, "regions", ReferenceKind::DatasetRegion1, &[Reference::null(), region])
                },
                |f| f.unlink("g"),
            ],
        ),
        Workload::new(
            "arrays of numbers",
            &[
                |f| f.new_dataset::<[i32; 4]>().shape(5).create("d")?.write_raw(&[[1, 2, 3, 4]; 5]),
                |f| f.new_dataset::<f64>().shape(5).create("e")?.write_raw(&[0.5f64; 5]),
                |f| f.dataset("d")?.write_selection(&Selection::block(&[2], &[2])?, &[[9; 4]; 2]),
            ],
        ),
    ]
}
