//! Links of groups, each under the dkey of its name, and pairs of maps, each under the dkey of its key.

use keyed::{During, Entries, Links, ObjectHeader, is_tracked, link_exists, stored};
use model::properties::GroupCreate;
use model::{CharacterSet, Error, Link, LinkTarget, ObjectKind, Result, text};
use objects::{Change, Condition, ObjectId, Phase, Update};
use vol::LinkLocation;

use crate::ObjectMapping;
use crate::identity;
use crate::keys::{self, ATTRIBUTES, INTERNAL, LINK, LINK_CHARSET, LINK_ORDER, MAP};

/// Returns whether a dkey of a group is a link: names have no slash, the mapping's own keys begin with one.
fn is_link(dkey: &[u8]) -> bool {
    !dkey.starts_with(b"/")
}

/// Returns the akey of a link or a pair.
fn akey_of(id: ObjectId) -> &'static [u8] {
    if identity::kind(id) == ObjectKind::Map { MAP } else { LINK }
}

impl Entries for ObjectMapping {
    fn keys(&self, id: ObjectId, from: &[u8], count_max: usize) -> Result<Vec<Vec<u8>>> {
        self.store.dkeys(id, from, count_max).during("list keys")
    }

    fn is_entry(&self, id: ObjectId, dkey: &[u8]) -> Result<bool> {
        match identity::kind(id) {
            ObjectKind::Group => Ok(is_link(dkey)),
            // A key of a map may be one of the mapping's own.
            _ if dkey == INTERNAL || dkey == ATTRIBUTES => self.has_entry(id, dkey),
            _ => Ok(true),
        }
    }

    fn has_entry(&self, id: ObjectId, dkey: &[u8]) -> Result<bool> {
        Ok(self.store.size(id, dkey, akey_of(id)).during("find key")?.is_some())
    }

    fn values(&self, id: ObjectId, keys: &[&[u8]], operation: &str) -> Result<Vec<Option<Vec<u8>>>> {
        let wanted: Vec<_> = keys.iter().map(|key| (id, *key, akey_of(id))).collect();
        self.store.get_many(&wanted).during(operation)
    }

    fn put_values(&self, map: ObjectId, pairs: &[(&[u8], &[u8])]) -> Result<()> {
        let changes: Vec<_> = pairs.iter().map(|(_, value)| [Change::Single(MAP, value)]).collect();
        let update = |((key, _), changes)| Update {
            object: map,
            dkey: key,
            changes,
            conditions: &[],
            phase: Phase::Content,
        };
        let changes = changes.iter().map(|change| &change[..]);
        let updates: Vec<Update<'_>> = pairs.iter().copied().zip(changes).map(update).collect();
        self.update_all(&updates).during("set map values")
    }

    fn remove_value(&self, map: ObjectId, key: &[u8]) -> Result<()> {
        let (changes, phase) = ([Change::Punch(MAP)], Phase::Content);
        let update = Update { object: map, dkey: key, changes: &changes, conditions: &[], phase };
        self.store.update(&update).during("delete map value")
    }
}

impl Links for ObjectMapping {
    /// A link is stored on the condition that there is none. In a group that tracks the order of creation the link has its
    /// place in that order before.
    fn put_link_checks_name(&self, group: &GroupCreate) -> bool {
        !is_tracked(group.link_order)
    }

    fn decode_target(value: &[u8]) -> Result<LinkTarget> {
        keys::link_target(value)
    }

    fn links(&self, group: &ObjectHeader<Self>, names: &[Vec<u8>]) -> Result<Vec<Link>> {
        let akeys: &[&[u8]] = match is_tracked(group.group()?.link_order) {
            true => &[LINK, LINK_CHARSET, LINK_ORDER],
            false => &[LINK, LINK_CHARSET],
        };
        let each = |name| akeys.iter().map(move |akey| (group.id, name, *akey));
        let wanted: Vec<_> = names.iter().flat_map(|name| each(&name[..])).collect();
        let found = self.store.get_many(&wanted).during("read links")?;
        let mut links = Vec::with_capacity(names.len());
        for (name, values) in names.iter().zip(found.chunks(akeys.len())) {
            links.extend(decode_link(name, values)?);
        }
        Ok(links)
    }

    fn link_order(&self, group: &ObjectHeader<Self>) -> Result<(u64, Option<u64>)> {
        let (next, count) = self.order_counts(group.id)?;
        Ok((next, Some(count)))
    }

    fn names_by_creation(&self, group: &ObjectHeader<Self>) -> Result<Vec<Vec<u8>>> {
        let group = group.id;
        let entries = self.order_entries(group)?;
        let wanted: Vec<_> = entries.iter().map(|(_, name)| (group, &name[..], LINK_ORDER)).collect();
        let found = self.store.get_many(&wanted).during("list links")?;
        let is_stored = |((place, _), found): &((u64, Vec<u8>), Option<Vec<u8>>)| {
            found.as_deref() == Some(&keys::number(*place)[..])
        };
        Ok(entries.into_iter().zip(found).filter(is_stored).map(|((_, name), _)| name).collect())
    }

    fn put_link(
        &self,
        (): &mut (),
        group: &ObjectHeader<Self>,
        place: &LinkLocation,
        target: &LinkTarget,
    ) -> Result<()> {
        let (name, value) = (text::as_bytes(&place.name), keys::link_value(target)?);
        let created = match is_tracked(group.group()?.link_order) {
            true => Some(keys::number(self.append_to_order(group.id, &name, &value)?)),
            false => None,
        };
        let mut changes = vec![Change::Single(LINK, &value)];
        changes.extend(created.as_ref().map(|created| Change::Single(LINK_ORDER, created)));
        if place.charset == CharacterSet::Utf8 {
            changes.push(Change::Single(LINK_CHARSET, &[1]));
        }
        let conditions = &[Condition::Absent(LINK)];
        let update =
            Update { object: group.id, dkey: &name, changes: &changes, conditions, phase: Phase::Link };
        self.store.update(&update).map_err(|error| match error {
            objects::Error::Condition(_) => link_exists(&place.name),
            error => stored("create link", &error),
        })
    }

    fn remove_link(&self, (): &mut (), group: &ObjectHeader<Self>, link: &Link) -> Result<()> {
        let dkey = text::as_bytes(&link.name);
        self.store.punch_dkey(group.id, &dkey, Phase::Link).during("delete link")?;
        let Some(created) = link.creation_order else { return Ok(()) };
        let place = u64::try_from(created)
            .map_err(|_| Error::corrupt("read creation order").with("order", created))?;
        self.take_from_order(group.id, place)
    }
}

/// Decodes a link from its values: link, character set and, if it is tracked, creation order.
fn decode_link(name: &[u8], values: &[Option<Vec<u8>>]) -> Result<Option<Link>> {
    let Some(Some(value)) = values.first() else { return Ok(None) };
    let name = text::from_bytes(name);
    let target = keys::link_target(value).map_err(|error| error.with("link", &name))?;
    let is_utf8 = matches!(values.get(1), Some(Some(charset)) if charset == &[1]);
    let creation_order = match values.get(2) {
        Some(Some(place)) => i64::try_from(keys::number_of(place, "creation order")?).ok(),
        _ => None,
    };
    let charset = if is_utf8 { CharacterSet::Utf8 } else { CharacterSet::Ascii };
    Ok(Some(Link { name, target, charset, creation_order }))
}
