//! Datasets: their properties, and their elements piece by piece.

use model::properties::{FillValue, FilterSpec, Layout};
use model::{Dataspace, Result, Selection, Token};
use vol::{Container, DatasetInfo, OpRead};

use super::{ComparedItem, Comparer};
use crate::copy::pieces;
use crate::stored::{self, StoredRuns};
use crate::workers;

/// Bytes of elements compared at a time.
const PIECE_BYTES: u64 = 16 << 20;
/// Less is not read ahead.
const AHEAD_BYTES_MIN: u64 = 1 << 20;

impl Comparer<'_> {
    pub(super) fn dataset(&mut self, from: Token, to: Token, path: &ComparedItem) -> Result<()> {
        let (a, b) = (self.a.dataset_info(from)?, self.b.dataset_info(to)?);
        self.same(path, "datatype", &a.datatype.memory_type(), &b.datatype.memory_type());
        self.same(path, "extent", &a.space, &b.space);
        self.committed(a.committed, b.committed, path);
        self.same(path, "layout", &placed(&a), &placed(&b));
        if !are_alike(&a.create.filters, &b.create.filters) {
            self.differs(path, "filters");
        }
        match (&a.create.fill.value, &b.create.fill.value) {
            (FillValue::Value(one), FillValue::Value(other)) => {
                self.values(path, "fill value", (&a.datatype, one), (&b.datatype, other))?;
            }
            (one, other) => self.same(path, "fill value", one, other),
        }
        let is_readable =
            |info: &DatasetInfo| !matches!(info.create.layout, Layout::External(_) | Layout::Virtual(_));
        // External elements are equal if their locations are.
        if a.space == b.space && a.space != Dataspace::Null && is_readable(&a) && is_readable(&b) {
            self.elements((from, &a), (to, &b), path)?;
        }
        Ok(())
    }

    fn elements(
        &mut self,
        (from, a): (Token, &DatasetInfo),
        (to, b): (Token, &DatasetInfo),
        path: &ComparedItem,
    ) -> Result<()> {
        let (one, other) = (self.a, self.b);
        let read = |selection: &model::Selection, (ours, theirs): &mut (Vec<u8>, Vec<u8>)| {
            read_into(one, (from, a), selection, ours)?;
            read_into(other, (to, b), selection, theirs)
        };
        let bytes = a.space.element_count()?.saturating_mul(a.datatype.size().into());
        let threads = workers::threads(bytes, AHEAD_BYTES_MIN).min(2);
        let selections: Box<dyn Iterator<Item = Result<Selection>> + Send> =
            match (stored::sparse(one, from, a)?, stored::sparse(other, to, b)?) {
                (Some(ours), Some(theirs)) => Box::new(selections_of(&ours.united(&theirs)?, a)),
                _ => Box::new(pieces(a)),
            };
        workers::in_order(selections, threads, read, |_, (ours, theirs)| {
            self.values(path, "elements", (&a.datatype, ours), (&b.datatype, theirs))
        })
    }
}

/// Returns what one of two has, and an element of what none has: all of those are alike.
fn selections_of(
    stored: &StoredRuns,
    info: &DatasetInfo,
) -> impl Iterator<Item = Result<Selection>> + Send + use<> {
    let hole = stored.holes().next().map(|(start, _)| (start, 1));
    let blocks = hole.into_iter().flat_map({
        let dims = info.space.dims().to_vec();
        move |run| stored::run_blocks(run, &dims, 1)
    });
    let elements_max = (PIECE_BYTES / u64::from(info.datatype.size()).max(1)).max(1);
    blocks.chain(stored.blocks_of(elements_max)).map(|block| block.selection())
}

/// Returns the layout without the part that depends on the file format: how its chunks are indexed.
fn placed(info: &DatasetInfo) -> Layout {
    let mut layout = info.create.layout.clone();
    if let Layout::Chunked { index, .. } = &mut layout {
        *index = None;
    }
    layout
}

/// Returns whether filters do the same. Names are for people, and a connector that runs them may add values of its own.
fn are_alike(a: &[FilterSpec], b: &[FilterSpec]) -> bool {
    let alike = |(a, b): (&FilterSpec, &FilterSpec)| {
        let goes_on = a.values.starts_with(&b.values) || b.values.starts_with(&a.values);
        a.id == b.id && a.optional == b.optional && goes_on
    };
    a.len() == b.len() && a.iter().zip(b).all(alike)
}

fn read_into(
    container: &dyn Container,
    (dataset, info): (Token, &DatasetInfo),
    selection: &model::Selection,
    into: &mut Vec<u8>,
) -> Result<()> {
    let count = selection.element_count(info.space.dims())?;
    into.resize(count as usize * info.datatype.size() as usize, 0);
    container.dataset_read(&mut [OpRead { dataset, selection, into }])
}
