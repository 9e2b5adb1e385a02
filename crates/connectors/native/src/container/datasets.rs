//! Elements of datasets: in this file, and in those that it leads to.

use std::sync::Arc;

use algorithms::virtual_dataset::WritePlan;
use model::{Context, Result, Token};
use vol::{DatasetInfo, OpPlacement, OpRead, OpWrite, Placement};

use super::{NativeContainer, address};
use crate::chunk::{self, sources};
use crate::format::Address;
use crate::format::layout::Layout;
use crate::gate::Scope;
use crate::object::dataset::Dataset;
use crate::placement;
use crate::write::check_elements;

/// Where elements go that are not in this file.
enum ExternalTarget {
    Virtual(WritePlan),
    External(Arc<Dataset>),
}

/// Returns the datasets that are written to.
fn datasets(writes: &[OpWrite<'_>]) -> Vec<Address> {
    writes.iter().map(|op| address(op.dataset)).collect()
}

/// Returns what is said of a dataset. A caller that makes one or changes its extent asks next: what waits of it need not be written for that.
pub(super) fn info(c: &NativeContainer, dataset: Token) -> Result<Arc<DatasetInfo>> {
    let at = address(dataset);
    let is_changed = !c.is_held && c.open_file()?.is_dirty(at);
    if is_changed && c.reading()?.is_some_and(|writer| writer.must_serialize(at)) {
        let changed = c.change_state(Scope::Objects(&[at]), |writer| writer.dataset(at))?;
        if !matches!(changed.layout, Layout::Virtual { .. }) {
            return Ok(changed.info.clone());
        }
    }
    Ok(c.dataset(dataset)?.1.info.clone())
}

pub(super) fn write(c: &NativeContainer, writes: &[OpWrite<'_>]) -> Result<()> {
    let outside = c.change(Scope::Objects(&datasets(writes)), |writer| {
        // All or none: what is wrong with one is found before any is written.
        let mut outside = Vec::new();
        for op in writes {
            if !writer.check_write(op)? {
                outside.push(op.dataset);
            }
        }
        if outside.is_empty() {
            writes.iter().try_for_each(|op| writer.dataset_write(op))?;
        }
        Ok(outside)
    })?;
    if outside.is_empty() { Ok(()) } else { write_outside(c, writes, &outside) }
}

/// Some elements do not go to this file. Where to is found before anything is written; and while they go there,
/// this file is not held: it may be asked to write them.
fn write_outside(c: &NativeContainer, writes: &[OpWrite<'_>], outside: &[Token]) -> Result<()> {
    let chosen = |wanted| writes.iter().filter(move |op| outside.contains(&op.dataset) == wanted);
    let plans = chosen(true).map(|op| plan_outside(c, op)).collect::<Result<Vec<_>>>()?;
    c.change(Scope::Objects(&datasets(writes)), |writer| {
        chosen(false).try_for_each(|op| writer.dataset_write(op))
    })?;
    plans.iter().zip(chosen(true)).try_for_each(|(plan, op)| match plan {
        ExternalTarget::Virtual(plan) => plan.write(c.open_file()?, op.from),
        ExternalTarget::External(dataset) => write_external(c, dataset, op),
    })
}

fn plan_outside(c: &NativeContainer, op: &OpWrite<'_>) -> Result<ExternalTarget> {
    let (view, dataset) = c.dataset(op.dataset)?;
    check_elements(&dataset, op)?;
    match sources::virtual_dataset(view.file, &dataset) {
        Some(found) => found.plan_write(view.file, op.selection).map(ExternalTarget::Virtual),
        None => Ok(ExternalTarget::External(dataset)),
    }
}

/// Writes elements to external files, and releases the values that only the old ones had.
fn write_external(c: &NativeContainer, dataset: &Dataset, op: &OpWrite<'_>) -> Result<()> {
    let file = c.open_file()?;
    if !dataset.info.datatype.has_descriptors() {
        return chunk::write_external(file, dataset, op.selection, op.from);
    }
    let mut old = vec![0; op.from.len()];
    chunk::read(file, dataset, op.selection, &mut old)?;
    chunk::write_external(file, dataset, op.selection, op.from)?;
    c.change(Scope::Nothing, |writer| writer.release_overwritten(dataset, &old, op.from))
}

pub(super) fn read(c: &NativeContainer, reads: &mut [OpRead<'_>]) -> Result<()> {
    for op in reads {
        let (view, dataset) = c.dataset(op.dataset)?;
        let read = || chunk::read(view.file, &dataset, op.selection, op.into);
        view.file.steady(read).during_at("read dataset", op.dataset.to_u64())?;
    }
    Ok(())
}

pub(super) fn place(c: &NativeContainer, op: &OpPlacement) -> Result<Placement> {
    let file = c.open_file()?;
    let check = |dataset: &Dataset| placement::check(file, dataset, &op.selection);
    let at = address(op.dataset);
    let placed = c.change(Scope::Objects(&[at]), |writer| writer.place_elements(at, &op.selection, &check));
    placed.and_then(|(dataset, parts)| placement::placement(file, &dataset, parts))
}

pub(super) fn changed(c: &NativeContainer, op: &OpPlacement) -> Result<()> {
    // No one is in the middle of reading what is out of date, to keep it.
    let file = c.open_file()?;
    let check = |dataset: &Dataset| placement::check(file, dataset, &op.selection);
    let at = address(op.dataset);
    c.change_state(Scope::Objects(&[at]), |writer| writer.elements_changed(at, &op.selection, &check))
}
