//! The targets of references.

use std::collections::HashSet;
use std::io::Write;

use hyperslab::vol::model::text::to_bytes;
use hyperslab::vol::{DatasetInfo, OpList};
use hyperslab::{Datatype, LinkTarget, ObjectKind, Reference, ReferenceTarget, Result, Selection, Token};

use super::lines::{BREAK, Lines, Style};
use super::options::Options;
use super::source::ObjectAt;
use super::types;
use super::values::{self, Failure, LEVEL, Printer};
use crate::h5::dump::{bitfield_name, float_name, integer_name, space_text};

/// Groups looked at to find an object's path.
const GROUPS_MAX: usize = 1 << 20;

/// Returns an object: what it is and where.
pub(crate) fn object_name(from: &ObjectAt, target: &Reference) -> Vec<u8> {
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

/// Returns the dataset of a region.
pub(crate) fn region_name(from: &ObjectAt, target: &Reference) -> Vec<u8> {
    let Some(token) = target.token() else { return b"NULL".to_vec() };
    let mut text = b"DATASET \"".to_vec();
    text.extend_from_slice(&to_bytes(&path_of(from, token).unwrap_or_default()));
    text.push(b'"');
    text
}

/// A reference, and which of its dataset it is.
pub(crate) struct Target {
    pub(crate) reference: Reference,
    pub(crate) number: u64,
}

/// Where the lines about a reference go.
pub(crate) struct Under<'a> {
    pub(crate) place: &'a ObjectAt,
    pub(crate) options: &'a Options,
    pub(crate) indent: usize,
    /// Whether the reference is an attribute's.
    pub(crate) is_attribute: bool,
}

/// Columns of the lines about regions, whatever the user's width is.
const REGION_COLUMNS: usize = 80;

impl Under<'_> {
    /// Prints what is referred to, in lines under its name.
    pub(crate) fn contents(&self, out: &mut dyn Write, target: &Target) -> Result<(), Failure> {
        match &target.reference.target {
            ReferenceTarget::Object(token) => {
                self.object(out, &ObjectAt { token: *token, ..self.place.clone() })
            }
            ReferenceTarget::Region { dataset, selection } => {
                self.region(out, *dataset, selection, target.number > 0)
            }
            ReferenceTarget::Null | ReferenceTarget::Attribute { .. } => Ok(()),
        }
    }

    fn object(&self, out: &mut dyn Write, place: &ObjectAt) -> Result<(), Failure> {
        let Ok(kind) = place.container().object_info(place.token).map(|info| info.kind) else {
            return Ok(());
        };
        let inner = self.indent + LEVEL;
        write!(out, "\n{:inner$}DATA {{", "")?;
        if kind == ObjectKind::Dataset {
            let info = place.container().dataset_info(place.token)?;
            self.elements(out, place, &info)?;
        }
        write!(out, "\n{:inner$}}}", "")?;
        Ok(())
    }

    fn elements(&self, out: &mut dyn Write, place: &ObjectAt, info: &DatasetInfo) -> Result<(), Failure> {
        // References in what is referred to are not followed again: they may lead back.
        if matches!(info.datatype, Datatype::Reference(_)) || info.space.element_count()? == 0 {
            return Ok(());
        }
        writeln!(out)?;
        let inner = self.indent + 2 * LEVEL - usize::from(!self.options.simple);
        // Whether bytes are shown as characters goes by the reference, which has none.
        let options = Options { string: false, ..self.options.clone() };
        values::elements(out, place, info, Printer::new(place, &info.datatype, &options, inner))
    }

    fn region(
        &self,
        out: &mut dyn Write,
        dataset: Token,
        selection: &Selection,
        later: bool,
    ) -> Result<(), Failure> {
        if matches!(selection, Selection::All | Selection::None) {
            return Ok(());
        }
        let info = self.place.container().dataset_info(dataset)?;
        let is_points = matches!(selection, Selection::Points(_));
        let gaps = usize::from(later) + usize::from(!is_points);
        writeln!(out, "{}{{", " ".repeat(gaps))?;
        Lines::new(self.region_style()).element(out, coordinates(selection, &info)?, false)?;
        let inner = self.indent + LEVEL;
        writeln!(out, "\n{:inner$}DATATYPE  {}", "", ddl_name(&info.datatype))?;
        writeln!(out, "{:inner$}DATASPACE  {}", "", space_text(&info.space))?;
        write!(out, "{:1$}}}", "", self.indent)?;
        Ok(())
    }

    fn region_style(&self) -> Style {
        let inner = self.indent + LEVEL;
        Style {
            prefix: " ".repeat(inner),
            continuation: " ".repeat(inner + usize::from(self.is_attribute != self.options.simple)),
            hidden_columns: LEVEL,
            columns: REGION_COLUMNS,
            one_per_line: false,
            keep_whole: false,
            separator: "",
            gap: " ",
            line_end: "",
        }
    }
}

/// Returns the corners of blocks, or the points.
fn coordinates(selection: &Selection, info: &DatasetInfo) -> Result<Vec<u8>> {
    let (word, list): (_, Vec<String>) = match selection {
        Selection::Points(points) => {
            let numbered = points.iter().enumerate();
            ("POINT", numbered.map(|(i, point)| format!("Pt{i}: {}", corner(point))).collect())
        }
        _ => {
            let blocks = selection.blocks(info.space.dims())?.enumerate();
            let text =
                blocks.map(|(i, (first, last))| format!("Blk{i}: {}-{}", corner(&first), corner(&last)));
            ("BLOCK", text.collect())
        }
    };
    let joined = list.join(&format!(",{} ", char::from(BREAK)));
    Ok(format!("REGION_TYPE {word}  {joined}").into_bytes())
}

fn corner(point: &[u64]) -> String {
    let numbers: Vec<String> = point.iter().map(u64::to_string).collect();
    format!("({})", numbers.join(","))
}

/// Returns a datatype in h5dump's language, as far as it stands on one line.
fn ddl_name(datatype: &Datatype) -> String {
    match datatype {
        Datatype::Integer(t) => integer_name(t),
        Datatype::Float(t) => float_name(t),
        Datatype::Bitfield(t) => bitfield_name(t),
        other => types::describe(other, 0, true).replace('\n', " "),
    }
}

/// Returns the first path to an object, in the order of a listing.
fn path_of(from: &ObjectAt, wanted: Token) -> Option<String> {
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
            let is_group =
                from.container().object_info(token).is_ok_and(|info| info.kind == ObjectKind::Group);
            if is_group && seen.len() < GROUPS_MAX && seen.insert(token) {
                stack.push((token, path));
            }
        }
    }
    None
}
