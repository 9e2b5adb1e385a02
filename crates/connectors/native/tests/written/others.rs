//! What libhdf5 reads and what this connector reads, side by side.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use hyperslab_native::NativeConnector;
use model::properties::FileCreate;
use model::{Dataspace, LinkTarget, ObjectKind, Result, Selection, Token};
use vol::{Access, Connector, Container, ContainerCreate, ContainerOpen, FileAccess, OpList, OpRead};

/// Datasets beyond this are not printed by `read_all.py`.
const PRINT_BYTES_MAX: usize = 1 << 20;

pub(crate) use testkit::Folder;
pub(crate) use testkit::oracles::has_h5py;

pub(crate) fn script(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/written").join(name)
}

pub(crate) fn python(name: &str, arguments: &[&str]) -> String {
    let output = Command::new("python3").arg(script(name)).args(arguments).output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{name} {arguments:?}: {error}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Whether h5dump reads a file; nothing where it is not installed.
pub(crate) fn h5dump(path: &str) -> Option<std::result::Result<(), String>> {
    let output = Command::new("h5dump").arg(path).output().ok()?;
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    Some(if output.status.success() && error.is_empty() { Ok(()) } else { Err(error) })
}

pub(crate) type Values = BTreeMap<String, String>;

/// Elements by path, as libhdf5 reads them.
pub(crate) fn theirs(path: &str) -> Values {
    let text = python("read_all.py", &[path]);
    text.lines().filter_map(|l| l.split_once('\t')).map(|(k, v)| (k.to_owned(), v.to_owned())).collect()
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

/// Returns the values that this connector reads.
pub(crate) fn ours(path: &str) -> Values {
    let c = open(path, Access::Read).unwrap();
    let mut values = Values::new();
    read_object(&*c, c.info().unwrap().root, "", &BTreeSet::new(), &mut values).unwrap();
    c.close().unwrap();
    values
}

pub(crate) fn read_object(
    c: &dyn Container,
    object: Token,
    path: &str,
    above: &BTreeSet<Token>,
    into: &mut Values,
) -> Result<()> {
    for info in c.attribute_list(object, &OpList::default())?.entries {
        let data = c.attribute_read(object, &[&info.name])?.remove(0);
        if !info.datatype.has_descriptors() && info.space != Dataspace::Null {
            into.insert(format!("{path}@{}", info.name), hex(&data));
        }
    }
    match c.object_info(object)?.kind {
        ObjectKind::Dataset => read_elements(c, object, path, into),
        ObjectKind::Group => {
            let above: BTreeSet<Token> = above.iter().copied().chain([object]).collect();
            for link in c.link_list(object, &OpList { count_max: u64::MAX, ..OpList::default() })?.entries {
                if let LinkTarget::Hard(member) = link.target
                    && !above.contains(&member)
                {
                    read_object(c, member, &format!("{path}/{}", link.name), &above, into)?;
                }
            }
            Ok(())
        }
        _ => Ok(()),
    }
}

pub(crate) fn read_elements(
    c: &dyn Container,
    dataset: Token,
    path: &str,
    values: &mut Values,
) -> Result<()> {
    let info = c.dataset_info(dataset)?;
    if info.space == Dataspace::Null {
        return Ok(());
    }
    let mut into = vec![0; info.space.element_count()? as usize * info.datatype.size() as usize];
    c.dataset_read(&mut [OpRead { dataset, selection: &Selection::All, into: &mut into }])?;
    if !info.datatype.has_descriptors() && into.len() <= PRINT_BYTES_MAX {
        values.insert(path.to_owned(), hex(&into));
    }
    Ok(())
}

#[track_caller]
pub(crate) fn assert_same(path: &str, theirs: &Values, ours: &Values) {
    for key in theirs.keys().chain(ours.keys()) {
        let (a, b) = (theirs.get(key), ours.get(key));
        assert!(a == b || key.contains('\u{FFFD}'), "{path}, {key}: libhdf5 reads {a:?}, we read {b:?}");
    }
}

pub(crate) fn open(path: &str, access: Access) -> Result<Arc<dyn Container>> {
    NativeConnector.open(&ContainerOpen::new(path, &FileAccess { access, ..FileAccess::default() }))
}

pub(crate) fn create(path: &str, create: &FileCreate) -> Arc<dyn Container> {
    let access = &FileAccess { access: Access::Write, ..FileAccess::default() };
    NativeConnector
        .create(&ContainerCreate { truncate: true, ..ContainerCreate::new(path, create, access) })
        .unwrap()
}

/// Both must read the same, and h5dump must have nothing to say.
#[track_caller]
pub(crate) fn assert_read_by_all(path: &str) {
    assert_same(path, &theirs(path), &ours(path));
    if let Some(Err(error)) = h5dump(path) {
        panic!("h5dump {path}: {error}");
    }
}
