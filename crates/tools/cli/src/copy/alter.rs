//! What `repack` changes: filters and layouts, of all datasets or of those that are named.

use hyperslab::model::properties::{FilterSpec, Layout};
use hyperslab::vol::OpDatasetCreate;
use hyperslab::{Error, Result};

/// A change, and the datasets it is for: all where none is named.
pub(super) struct Change {
    paths: Vec<String>,
    what: What,
}

enum What {
    /// Replaces the filters.
    Filters(Vec<FilterSpec>),
    /// No filters.
    NoFilters,
    Layout(Layout),
}

fn bad(text: &str) -> Error {
    Error::invalid("read arguments").with("value", text)
}

/// `a,b:REST` or `REST`: the paths, and the rest.
fn split_paths(text: &str) -> (Vec<String>, &str) {
    match text.rsplit_once(':') {
        Some((paths, rest)) => {
            let full = |p: &str| if p.starts_with('/') { p.to_owned() } else { format!("/{p}") };
            (paths.split(',').map(full).collect(), rest)
        }
        None => (Vec::new(), text),
    }
}

fn numbers<T: std::str::FromStr>(text: &str, separator: char) -> Result<Vec<T>> {
    text.split(separator).map(|n| n.trim().parse().map_err(|_| bad(text))).collect()
}

impl Change {
    /// `[PATHS:]GZIP=6`, `SHUF`, `FLET`, `SZIP=8,NN`, `NBIT`, `SOFF=0,IN`, `UD=ID,FLAG,COUNT,VALUES…`, `NONE`.
    pub(super) fn filter(text: &str) -> Result<Change> {
        let (paths, rest) = split_paths(text);
        let (name, parameters) = rest.split_once('=').unwrap_or((rest, ""));
        let values: Vec<&str> = parameters.split(',').filter(|p| !p.is_empty()).collect();
        let number = |i: usize| values.get(i).and_then(|v| v.parse::<u32>().ok());
        let (id, values, optional) = match name {
            "NONE" => return Ok(Change { paths, what: What::NoFilters }),
            "GZIP" => (1, vec![number(0).ok_or_else(|| bad(text))?], true),
            "SHUF" => (2, Vec::new(), true),
            "FLET" => (3, Vec::new(), false),
            "SZIP" => {
                let mask = if values.get(1) == Some(&"NN") { 32 } else { 4 };
                (4, vec![mask, number(0).ok_or_else(|| bad(text))?], true)
            }
            "NBIT" => (5, Vec::new(), true),
            "SOFF" => {
                let kind = if values.get(1) == Some(&"DS") { 0 } else { 2 };
                (6, vec![kind, number(0).ok_or_else(|| bad(text))?], true)
            }
            "UD" => {
                let all: Vec<u32> = numbers(parameters, ',')?;
                let [id, flag, _, values @ ..] = &all[..] else { return Err(bad(text)) };
                (u16::try_from(*id).map_err(|_| bad(text))?, values.to_vec(), flag & 1 == 1)
            }
            _ => return Err(bad(text)),
        };
        Ok(Change { paths, what: What::Filters(vec![FilterSpec { id, name: None, optional, values }]) })
    }

    /// `[PATHS:]CHUNK=10x20`, `COMPA`, `CONTI`.
    pub(super) fn layout(text: &str) -> Result<Change> {
        let (paths, rest) = split_paths(text);
        let what = match rest.split_once('=').unwrap_or((rest, "")) {
            ("CHUNK", shape) => Layout::chunked(&numbers::<u64>(shape, 'x')?),
            ("COMPA", _) => Layout::Compact,
            ("CONTI", _) => Layout::Contiguous,
            _ => return Err(bad(text)),
        };
        Ok(Change { paths, what: What::Layout(what) })
    }

    fn is_for(&self, path: &str) -> bool {
        self.paths.is_empty() || self.paths.iter().any(|p| p == path)
    }
}

/// Applies the changes to a dataset that is about to be made.
pub(super) fn apply(changes: &[Change], bytes_min: u64, path: &str, op: &mut OpDatasetCreate) -> Result<()> {
    let elements = op.space.element_count()?;
    let bytes = elements.saturating_mul(u64::from(op.datatype.size()));
    // Filters that are asked for come after each other, and replace those that were there.
    let mut filters: Option<Vec<FilterSpec>> = None;
    for change in changes.iter().filter(|c| c.is_for(path)) {
        match &change.what {
            What::NoFilters => filters = Some(Vec::new()),
            What::Filters(more) if bytes >= bytes_min => {
                filters.get_or_insert_default().extend(more.iter().cloned());
            }
            What::Filters(_) => {}
            What::Layout(layout) => set_layout(op, layout, bytes),
        }
    }
    let Some(filters) = filters else { return Ok(()) };
    let fits = op.space.rank() > 0 && elements > 0 && !op.datatype.has_slots();
    if !filters.is_empty() && fits && !matches!(op.create.layout, Layout::Chunked { .. }) {
        op.create.layout = Layout::chunked(op.space.dims());
    }
    if matches!(op.create.layout, Layout::Chunked { .. }) {
        op.create.filters = filters;
    }
    Ok(())
}

/// Gives a dataset a layout where it can have it.
fn set_layout(op: &mut OpDatasetCreate, layout: &Layout, bytes: u64) {
    /// Most bytes of compact elements.
    const COMPACT_BYTES_MAX: u64 = 65_000;
    let resizable = op.space.is_resizable();
    match layout {
        Layout::Chunked { shape, .. } if shape.len() == op.space.rank() && op.space.rank() > 0 => {
            let shape: Vec<u64> = shape
                .iter()
                .zip(op.space.dims())
                .map(|(c, d)| if resizable { *c } else { *c.min(&(*d).max(1)) })
                .collect();
            op.create.layout = Layout::chunked(&shape);
        }
        Layout::Compact if !resizable && bytes <= COMPACT_BYTES_MAX => plain(op, Layout::Compact),
        Layout::Contiguous if !resizable => plain(op, Layout::Contiguous),
        _ => {}
    }
}

fn plain(op: &mut OpDatasetCreate, layout: Layout) {
    op.create.layout = layout;
    op.create.filters.clear();
}
