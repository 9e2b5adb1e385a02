//! When space is allocated: every allocation time, fill time and layout next to libhdf5.

use model::properties::{AllocTime, DatasetCreate, FileCreate, Fill, FillTime, FillValue, Layout};
use model::{Dataspace, Kind, Selection, UNLIMITED};
use vol::{Connector, Container, ContainerCreate, FileAccess, LibVersion};

use crate::life::{dataset, deflated, ints, put};
use crate::others::{Folder, has_h5py, python};

const LAYOUTS: [&str; 5] = ["contiguous", "compact", "chunked", "growing", "deflated"];
const ALLOC: [AllocTime; 4] = [AllocTime::Default, AllocTime::Early, AllocTime::Late, AllocTime::Incremental];
const FILL: [FillTime; 3] = [FillTime::Alloc, FillTime::Never, FillTime::IfSet];

fn properties(layout: &str, alloc_time: AllocTime, time: FillTime, value: &str) -> DatasetCreate {
    let value = match value {
        "seven" => FillValue::Value(7_i32.to_le_bytes().to_vec()),
        _ => FillValue::Default,
    };
    let base = match layout {
        "contiguous" => DatasetCreate::default(),
        "compact" => DatasetCreate { layout: Layout::Compact, ..DatasetCreate::default() },
        "deflated" => deflated(&[4]),
        _ => DatasetCreate { layout: Layout::chunked(&[4]), ..DatasetCreate::default() },
    };
    DatasetCreate { alloc_time, fill: Fill { value, time }, ..base }
}

fn make(c: &dyn Container, layout: &str, name: &str, properties: DatasetCreate) {
    let most = if layout == "growing" { UNLIMITED } else { 10 };
    let space = Dataspace::resizable(&[10], &[most]).unwrap();
    let made = match dataset(c, (c.info().unwrap().root, name), ints(), space, properties) {
        Ok(made) => made,
        Err(error) => return assert_eq!(error.kind(), Kind::Invalid, "{name}"),
    };
    if !name.ends_with("made") {
        put(c, made, &Selection::block(&[1], &[2]).unwrap(), &[1, 2]).unwrap();
    }
    if name.ends_with("grown") {
        c.dataset_resize(made, &[20]).unwrap();
    }
}

#[test]
fn space_is_set_aside_when_libhdf5_does_so() {
    if !has_h5py() {
        return;
    }
    let folder = Folder::new("allocation");
    for low in [LibVersion::Earliest, LibVersion::V200] {
        let (path, theirs) = (folder.at("ours.h5"), folder.at("theirs.h5"));
        let access = &FileAccess { version_low: low, ..FileAccess::write() };
        let create = FileCreate::default();
        let op = ContainerCreate { truncate: true, ..ContainerCreate::new(&path, &create, access) };
        let c = hyperslab_native::NativeConnector.create(&op).unwrap();
        for layout in LAYOUTS {
            for (alloc, fill) in ALLOC.into_iter().flat_map(|a| FILL.map(|f| (a, f))) {
                for value in ["none", "seven"] {
                    let last = if layout == "growing" { 3 } else { 2 };
                    for then in &["made", "written", "grown"][..last] {
                        let name = format!("{layout} {alloc:?} {fill:?} {value} {then}");
                        make(&*c, layout, &name, properties(layout, alloc, fill, value));
                    }
                }
            }
        }
        c.close().unwrap();
        let wanted = python("allocation.py", &[&theirs, &format!("{low:?}")]);
        let found = python("allocation.py", &[&path]);
        let differ: Vec<_> = wanted.lines().zip(found.lines()).filter(|(w, f)| w != f).collect();
        assert!(differ.is_empty() && wanted.len() == found.len(), "{low:?}: {differ:#?}");
        assert!(wanted.lines().count() > 200);
    }
}
