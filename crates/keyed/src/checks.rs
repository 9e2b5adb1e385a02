//! Checks of names, links and sizes.

use model::properties::CreationOrder;
use model::{Dataspace, Datatype, Error, LinkTarget, Order, Result};
use vol::OpList;

/// The first class of user-defined links; lower numbers belong to the library.
const USER_CLASS_MIN: u8 = 65;

/// Returns whether creation order is tracked.
pub fn is_tracked(order: CreationOrder) -> bool {
    order != CreationOrder::Untracked
}

/// Returns the error for a listing by creation order where it is not tracked.
pub(crate) fn untracked(operation: &str) -> Error {
    Error::invalid(operation).with("problem", "the order of creation is not tracked")
}

/// # Errors
/// Returns `Invalid` if `name` cannot be the name of an attribute.
pub(crate) fn check_attribute_name(name: &str) -> Result<()> {
    match name.is_empty() || name.contains('\0') {
        true => Err(Error::invalid("check attribute name").with("name", format!("{name:?}"))),
        false => Ok(()),
    }
}

/// # Errors
/// Returns `Invalid` if `target` cannot be the target of a link.
pub(crate) fn check_link_target(target: &LinkTarget) -> Result<()> {
    match target {
        LinkTarget::Soft(path) if path.is_empty() => Err(Error::invalid("create soft link to nothing")),
        LinkTarget::External { file, path } if file.is_empty() || path.is_empty() => {
            Err(Error::invalid("create external link to nothing"))
        }
        LinkTarget::User { class, .. } if *class < USER_CLASS_MIN => {
            Err(Error::invalid("create user-defined link").with("class", class))
        }
        _ => Ok(()),
    }
}

/// Returns the size of all elements of an extent in bytes.
///
/// # Errors
/// Returns `Limit` if it is larger than `u64::MAX`.
pub fn space_bytes(space: &Dataspace, datatype: &Datatype) -> Result<u64> {
    let count = space.element_count()?;
    let bytes = count.checked_mul(u64::from(datatype.size()));
    bytes.ok_or_else(|| Error::limit("count bytes").with("elements", count))
}

/// Returns a page of `entries`, which are in increasing order, and whether more follow.
pub(crate) fn slice<T: Clone>(entries: &[T], op: &OpList) -> (Vec<T>, bool) {
    let skip = usize::try_from(op.skip).unwrap_or(usize::MAX);
    let count = usize::try_from(op.count_max).unwrap_or(usize::MAX);
    let more = entries.len() > skip.saturating_add(count);
    let page = match op.order {
        Order::Decreasing => entries.iter().rev().skip(skip).take(count).cloned().collect(),
        _ => entries.iter().skip(skip).take(count).cloned().collect(),
    };
    (page, more)
}
