//! Changes by `repack`: filters and layouts, of all datasets or of those that are named.

use hyperslab::vol::OpDatasetCreate;
use hyperslab::vol::model::ObjectPath;
use hyperslab::vol::model::properties::{FilterSpec, Layout};
use hyperslab::{Error, Result, is_named_filter, named_filter};

/// A change, and the datasets it is for: all where none is named.
pub(super) struct Change {
    paths: Vec<String>,
    what: AlterTarget,
}

enum AlterTarget {
    /// Replaces the filters.
    Filters(Vec<FilterSpec>),
    /// No filters.
    NoFilters,
    Layout(Layout),
}

fn bad(text: &str) -> Error {
    Error::invalid("read arguments").with("value", text)
}

/// Splits `a,b:REST` or `REST` into the paths and the rest.
fn split_paths(text: &str) -> (Vec<String>, &str) {
    text.rsplit_once(':').map_or((Vec::new(), text), |(paths, rest)| (full_paths(paths), rest))
}

/// Splits paths from filters, whose parameters may be separated by `:` too. The rest starts where a filter's name
/// does.
fn split_filter(text: &str) -> (Vec<String>, &str) {
    let is_filter = |rest: &str| rest == "NONE" || is_named_filter(rest);
    let mut colons = text.match_indices(':').map(|(at, _)| (&text[..at], &text[at + 1..]));
    match colons.find(|(_, rest)| is_filter(rest)) {
        Some((paths, rest)) if !is_filter(text) => (full_paths(paths), rest),
        _ => (Vec::new(), text),
    }
}

fn full_paths(paths: &str) -> Vec<String> {
    let full = |p: &str| if p.starts_with('/') { p.to_owned() } else { format!("/{p}") };
    paths.split(',').map(full).collect()
}

fn numbers<T: std::str::FromStr>(text: &str, separator: char) -> Result<Vec<T>> {
    text.split(separator).map(|n| n.trim().parse().map_err(|_| bad(text))).collect()
}

impl Change {
    /// `[PATHS:]FILTER`, where `FILTER` is `NONE` or as [`named_filter`] reads it.
    pub(super) fn filter(text: &str) -> Result<Change> {
        let (paths, rest) = split_filter(text);
        if rest == "NONE" {
            return Ok(Change { paths, what: AlterTarget::NoFilters });
        }
        Ok(Change { paths, what: AlterTarget::Filters(vec![named_filter(rest)?]) })
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
        Ok(Change { paths, what: AlterTarget::Layout(what) })
    }

    fn is_for(&self, path: &ObjectPath) -> bool {
        // A path may be very long, and is made text only where it can be the one that is meant.
        self.paths.is_empty() || self.paths.iter().any(|p| p.len() == path.len() && *p == path.to_string())
    }
}

/// Applies the changes to a dataset that is about to be created.
pub(super) fn apply(
    changes: &[Change],
    bytes_min: u64,
    path: &ObjectPath,
    op: &mut OpDatasetCreate,
) -> Result<()> {
    let elements = op.space.element_count()?;
    let bytes = elements.saturating_mul(u64::from(op.datatype.size()));
    // Filters that are asked for come after each other, and replace those that were there.
    let mut filters: Option<Vec<FilterSpec>> = None;
    for change in changes.iter().filter(|c| c.is_for(path)) {
        match &change.what {
            AlterTarget::NoFilters => filters = Some(Vec::new()),
            AlterTarget::Filters(more) if bytes >= bytes_min => {
                filters.get_or_insert_default().extend(more.iter().cloned());
            }
            AlterTarget::Filters(_) => {}
            AlterTarget::Layout(layout) => set_layout(op, layout, bytes),
        }
    }
    let Some(filters) = filters else { return Ok(()) };
    let fits = op.space.rank() > 0 && elements > 0 && !op.datatype.has_descriptors();
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
