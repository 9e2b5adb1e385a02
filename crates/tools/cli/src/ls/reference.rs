//! What references lead to.

use std::collections::HashSet;
use std::io::Write;

use hyperslab::model::text::to_bytes;
use hyperslab::vol::{DatasetInfo, OpList};
use hyperslab::{Datatype, LinkTarget, ObjectKind, Reference, Result, Token};

use super::options::Options;
use super::source::Place;
use super::values::{self, Failure, Printer};

/// Groups looked at to find an object's path.
const GROUPS_MAX: usize = 1 << 20;

/// An object: what it is and where.
pub(crate) fn object_name(from: &Place, target: &Reference) -> Vec<u8> {
    let Some(token) = target.token() else { return b"NULL".to_vec() };
    let word = match from.container().object_info(token).map(|info| info.kind) {
        Ok(ObjectKind::Group) => "GROUP",
        Ok(ObjectKind::Dataset) => "DATASET",
        Ok(ObjectKind::Datatype) => "DATATYPE",
        Ok(ObjectKind::Map) => "MAP",
        Err(_) => return b"NULL".to_vec(),
    };
    format!("{word}-{}:{} \"\"", from.source.number, token.to_u64()).into_bytes()
}

/// The dataset of a region.
pub(crate) fn region_name(from: &Place, target: &Reference) -> Vec<u8> {
    let Some(token) = target.token() else { return b"NULL".to_vec() };
    let mut text = b"DATASET \"".to_vec();
    text.extend_from_slice(&to_bytes(&path_of(from, token).unwrap_or_default()));
    text.push(b'"');
    text
}

/// The elements of an object that is referred to, in lines under its name.
pub(crate) fn contents(
    out: &mut dyn Write,
    from: &Place,
    target: &Reference,
    options: &Options,
    indent: usize,
) -> Result<(), Failure> {
    let hyperslab::ReferenceTarget::Object(token) = target.target else { return Ok(()) };
    let place = Place { token, ..from.clone() };
    let Ok(kind) = place.container().object_info(token).map(|info| info.kind) else { return Ok(()) };
    write!(out, "\n{:indent$}   DATA {{", "")?;
    if kind == ObjectKind::Dataset {
        let info = place.container().dataset_info(token)?;
        block(out, &place, &info, options, indent)?;
    }
    write!(out, "\n{:indent$}   }}", "")?;
    Ok(())
}

fn block(
    out: &mut dyn Write,
    place: &Place,
    info: &DatasetInfo,
    options: &Options,
    indent: usize,
) -> Result<(), Failure> {
    // References in what is referred to are not followed again: they may lead back.
    if matches!(info.datatype, Datatype::Reference(_)) || info.space.element_count()? == 0 {
        return Ok(());
    }
    writeln!(out)?;
    let inner = indent + 6 - usize::from(!options.simple);
    values::elements(out, place, info, Printer::new(place, &info.datatype, options, inner))
}

/// The first path to an object, in the order of a listing.
fn path_of(from: &Place, wanted: Token) -> Option<String> {
    let root = from.source.root;
    let mut stack = vec![(root, String::new())];
    let mut seen = HashSet::from([root]);
    if wanted == root {
        return Some("/".to_owned());
    }
    while let Some((group, path)) = stack.pop() {
        let all = OpList { count_max: u64::MAX, ..OpList::default() };
        let Ok(page) = from.container().link_list(group, &all) else { continue };
        for link in page.entries.iter().rev() {
            let LinkTarget::Hard(token) = link.target else { continue };
            let path = format!("{path}/{}", link.name);
            if token == wanted {
                return Some(path);
            }
            let is_group = from.container().object_info(token).is_ok_and(|info| info.kind == ObjectKind::Group);
            if is_group && seen.len() < GROUPS_MAX && seen.insert(token) {
                stack.push((token, path));
            }
        }
    }
    None
}
