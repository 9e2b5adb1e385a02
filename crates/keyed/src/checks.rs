//! What every such connector asks of names, links and sizes.

use model::properties::CreationOrder;
use model::{Dataspace, Datatype, Error, LinkTarget, Order, Result};
use vol::OpList;

/// User-defined classes; the numbers below belong to the library.
const USER_CLASS_MIN: u8 = 65;

/// Whether the order of creation is kept.
pub fn is_tracked(order: CreationOrder) -> bool {
    order != CreationOrder::Untracked
}

/// The error of a listing by an order that is not kept.
pub fn untracked(operation: &str) -> Error {
    Error::invalid(operation).with("problem", "the order of creation is not tracked")
}

/// An error unless an attribute may be called so.
pub fn check_attribute_name(name: &str) -> Result<()> {
    match name.is_empty() || name.contains('\0') {
        true => Err(Error::invalid("check attribute name").with("name", format!("{name:?}"))),
        false => Ok(()),
    }
}

/// An error unless a link may lead there.
pub fn check_link_target(target: &LinkTarget) -> Result<()> {
    match target {
        LinkTarget::Soft(path) if path.is_empty() => Err(Error::invalid("make soft link to nothing")),
        LinkTarget::External { file, path } if file.is_empty() || path.is_empty() => {
            Err(Error::invalid("make external link to nothing"))
        }
        LinkTarget::User { class, .. } if *class < USER_CLASS_MIN => {
            Err(Error::invalid("make user-defined link").with("class", class))
        }
        _ => Ok(()),
    }
}

/// Bytes of all elements of an extent.
pub fn space_bytes(space: &Dataspace, datatype: &Datatype) -> Result<u64> {
    let count = space.element_count()?;
    let bytes = count.checked_mul(u64::from(datatype.size()));
    bytes.ok_or_else(|| Error::limit("count bytes").with("elements", count))
}

/// A page of something that is all there, in increasing order, and whether more follow.
pub fn slice<T: Clone>(entries: &[T], op: &OpList) -> (Vec<T>, bool) {
    let skip = usize::try_from(op.skip).unwrap_or(usize::MAX);
    let count = usize::try_from(op.count_max).unwrap_or(usize::MAX);
    let more = entries.len() > skip.saturating_add(count);
    let page = match op.order {
        Order::Decreasing => entries.iter().rev().skip(skip).take(count).cloned().collect(),
        _ => entries.iter().skip(skip).take(count).cloned().collect(),
    };
    (page, more)
}
