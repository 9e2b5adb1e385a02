//! Attributes in the header, in a heap, and too large for either.

use hyperslab::{File, Result};
use ndarray::Array1;

use super::groups::ordered_root;
use super::{Workload, numbers};

fn set(f: &File, names: std::ops::Range<i32>, plus: i32) -> Result<()> {
    names.into_iter().try_for_each(|n| f.set_attr(&format!("a{n}"), n + plus).map(drop))
}

fn remove(f: &File, names: std::ops::Range<i32>) -> Result<()> {
    names.into_iter().try_for_each(|n| f.delete_attr(&format!("a{n}")))
}

fn set_many(f: &File, path: &str, name: &str, values: Vec<i32>) -> Result<()> {
    f.object(path)?.object().set_attr_array(name, &Array1::from_vec(values)).map(drop)
}

pub(super) fn all() -> Vec<Workload> {
    let mut all = few_and_many();
    all.extend(values());
    all
}

fn few_and_many() -> Vec<Workload> {
    vec![
        Workload::new(
            "attributes overwritten",
            &[
                |f| set(f, 0..4, 0),
                |f| set(f, 1..3, 100),
                |f| f.attr("a2")?.write_scalar(&-5i32),
                |f| f.attr("a3")?.write_scalar(&-6i32),
            ],
        ),
        Workload::new(
            "compact to dense attributes",
            &[|f| set(f, 0..6, 0), |f| set(f, 6..14, 0), |f| set(f, 3..9, 50)],
        ),
        Workload::new(
            "dense to compact attributes",
            &[|f| set(f, 0..20, 0), |f| remove(f, 0..16), |f| remove(f, 16..19), |f| set(f, 0..3, 7)],
        ),
        Workload::new(
            "attributes in order of creation",
            &[|f| set(f, 0..12, 0), |f| remove(f, 2..8), |f| set(f, 20..24, 0)],
        )
        .in_file(ordered_root()),
        Workload::new(
            "attributes on many objects",
            &[
                |f| super::groups::make(f, "g", 0..4),
                |f| (0..4).try_for_each(|n| f.group(&format!("g{n}"))?.set_attr("x", n).map(drop)),
                |f| (0..4).try_for_each(|n| f.group(&format!("g{n}"))?.set_attr("y", -n).map(drop)),
                |f| (0..4).try_for_each(|n| f.group(&format!("g{n}"))?.delete_attr("x")),
            ],
        ),
    ]
}

fn values() -> Vec<Workload> {
    vec![
        Workload::new(
            "large attributes",
            &[
                |f| set_many(f, "/", "large", numbers(0, 3000)),
                |f| set_many(f, "/", "huge", numbers(0, 18_000)),
                |f| set_many(f, "/", "large", numbers(5, 2000)),
                |f| f.delete_attr("huge"),
            ],
        ),
        Workload::new(
            "texts in attributes",
            &[
                |f| f.set_attr("unit", "K".to_owned()).map(drop),
                |f| f.set_attr("unit", "degrees of a longer name".to_owned()).map(drop),
                |f| (0..4).try_for_each(|n| f.set_attr(&format!("t{n}"), "x".repeat(n * 40)).map(drop)),
                |f| f.attr("unit")?.write_scalar(&"m".to_owned()),
                |f| f.delete_attr("t3"),
            ],
        ),
        Workload::new(
            "attributes renamed",
            &[
                |f| set(f, 0..10, 0),
                |f| f.container().attribute_rename(f.token(), "a1", "renamed"),
                |f| f.container().attribute_rename(f.token(), "a2", "größe"),
            ],
        ),
        Workload::new(
            "attributes of other shapes",
            &[
                |f| set_many(f, "/", "x", numbers(0, 4)),
                |f| set_many(f, "/", "x", numbers(0, 40)),
                |f| f.set_attr("x", [1.5f64; 3]).map(drop),
                |f| f.set_attr("x", vec![1i32, 2, 3]).map(drop),
            ],
        ),
    ]
}
