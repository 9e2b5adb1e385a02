//! Counters and orders that should follow from the links and attributes that are there.

use model::{Result, text};
use objects::Change;

use super::walk::Walk;
use crate::described::Described;
use crate::error::During;
use crate::keys::{self, ATTRIBUTE_COUNT, ATTRIBUTES, LINK_ORDER, ORDER, ORDER_COUNT};
use crate::links::is_tracked;

impl Walk<'_> {
    /// The order of a group's links, of which there are `count`.
    pub(super) fn order(&mut self, group: &Described, count: u64) -> Result<()> {
        if !is_tracked(group.group()?.link_order) {
            return Ok(());
        }
        let (opening, id) = (self.opening, group.id);
        for (place, link) in opening.order_entries(id)? {
            let found = opening.store().get(id, &link, &[LINK_ORDER]).during("check order")?.pop().flatten();
            if found.as_deref() == Some(&keys::number(place)[..]) {
                continue;
            }
            let problem = format!("place {place} has \"{}\", which is not there", text::from_bytes(&link));
            self.note(id, "link creation order", problem, || {
                let (name, target) = (keys::order_name(place), keys::order_target(place));
                Walk::put(opening, id, ORDER, &[Change::Punch(&name), Change::Punch(&target)])
            })?;
        }
        let (_, counted) = opening.order_counts(id)?;
        if counted == count {
            return Ok(());
        }
        self.note(id, "link count", format!("it says {counted} links and has {count}"), || {
            let count = keys::number(count);
            Walk::put(opening, id, ORDER, &[Change::Single(ORDER_COUNT, &count)])
        })
    }

    /// The number of attributes, where it is kept.
    pub(super) fn attribute_count(&mut self, object: &Described) -> Result<()> {
        if !is_tracked(object.object().attribute_order) {
            return Ok(());
        }
        let (opening, id) = (self.opening, object.id);
        let count = opening.attribute_names(id)?.len() as u64;
        let counted = opening.attribute_count(object)?;
        if counted == count {
            return Ok(());
        }
        self.note(id, "attribute count", format!("it says {counted} attributes and has {count}"), || {
            let count = keys::number(count);
            Walk::put(opening, id, ATTRIBUTES, &[Change::Single(ATTRIBUTE_COUNT, &count)])
        })
    }
}
