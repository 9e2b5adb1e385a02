//! Links of groups, each under the dkey of its name, and pairs of maps, each under the dkey of its key.

use std::collections::HashMap;

use keyed::{During, Entries, Links, ObjectHeader, PAGE, is_tracked, link_exists, stored};
use model::properties::GroupCreate;
use model::{CharacterSet, Error, Link, LinkTarget, ObjectKind, Result, text};
use objects::{Change, Condition, ObjectId, Phase, Update};
use vol::LinkLocation;

use crate::ObjectMapping;
use crate::identity;
use crate::keys::{self, ATTRIBUTES, EMPTY_KEY, INTERNAL, LINK, LINK_CHARSET, LINK_ORDER, Spelling};

/// Returns whether a dkey of a group is a link: names have no slash, the mapping's own keys begin with one.
fn is_link(dkey: &[u8]) -> bool {
    !dkey.starts_with(b"/")
}

/// The dkey that older programs gave the empty key of a map. Stores that cannot have it say that it is absent.
const OLD_EMPTY_KEY: &[u8] = b"";

impl ObjectMapping {
    /// Returns the dkey and the akey of a link or a pair.
    fn location_of<'k>(&self, id: ObjectId, key: &'k [u8]) -> (&'k [u8], &'static [u8]) {
        match (key, identity::kind(id)) {
            // No link has an empty name.
            ([], _) => (INTERNAL, EMPTY_KEY),
            (key, ObjectKind::Map) => (key, self.spelling.map()),
            (key, _) => (key, LINK),
        }
    }

    /// Returns whether a map has a pair with the empty key, in the place that this program gives it.
    fn has_empty_key(&self, id: ObjectId) -> Result<bool> {
        let is_map = identity::kind(id) == ObjectKind::Map;
        Ok(is_map && self.store.size(id, INTERNAL, EMPTY_KEY).during("find key")?.is_some())
    }

    /// Returns the value of a map's empty key as older programs stored it.
    fn old_empty_value(&self, id: ObjectId, operation: &str) -> Result<Option<Vec<u8>>> {
        match identity::kind(id) {
            ObjectKind::Map => Ok(self
                .store
                .get(id, OLD_EMPTY_KEY, &[self.spelling.map()])
                .during(operation)?
                .pop()
                .flatten()),
            _ => Ok(None),
        }
    }

    /// Removes the empty key of a map as older programs stored it.
    fn remove_old_empty(&self, map: ObjectId, operation: &str) -> Result<()> {
        self.store.punch_dkey(map, OLD_EMPTY_KEY, Phase::Content).during(operation)
    }
}

impl Entries for ObjectMapping {
    fn keys(&self, id: ObjectId, from: &[u8], count_max: usize) -> Result<Vec<Vec<u8>>> {
        let mut keys = self.store.dkeys(id, from, count_max).during("list keys")?;
        if from.is_empty() && keys.first().is_none_or(|key| !key.is_empty()) && self.has_empty_key(id)? {
            keys.insert(0, Vec::new());
            keys.truncate(count_max);
        }
        Ok(keys)
    }

    fn has_ordered_keys(&self) -> bool {
        self.store.is_ordered()
    }

    fn each_keys(&self, id: ObjectId, visit: &mut dyn FnMut(Vec<Vec<u8>>) -> Result<()>) -> Result<()> {
        let mut anchor = None;
        if self.has_empty_key(id)? {
            visit(vec![Vec::new()])?;
        }
        loop {
            let page = self.store.list_dkeys(id, anchor.as_ref(), PAGE).during("list keys")?;
            visit(page.items)?;
            match page.next {
                Some(next) => anchor = Some(next),
                None => return Ok(()),
            }
        }
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
        let (place, akey) = self.location_of(id, dkey);
        let is_there = self.store.size(id, place, akey).during("find key")?.is_some();
        Ok(is_there || dkey.is_empty() && self.old_empty_value(id, "find key")?.is_some())
    }

    fn values(&self, id: ObjectId, keys: &[&[u8]], operation: &str) -> Result<Vec<Option<Vec<u8>>>> {
        let wanted = keys.iter().map(|key| self.location_of(id, key));
        let wanted: Vec<_> = wanted.map(|(dkey, akey)| (id, dkey, akey)).collect();
        let mut found = self.store.get_many(&wanted).during(operation)?;
        for (key, value) in keys.iter().zip(&mut found) {
            if key.is_empty() && value.is_none() {
                *value = self.old_empty_value(id, operation)?;
            }
        }
        Ok(found)
    }

    fn put_values(&self, map: ObjectId, pairs: &[(&[u8], &[u8])]) -> Result<()> {
        let akey = |key: &[u8]| self.location_of(map, key).1;
        let changes: Vec<_> = pairs.iter().map(|(key, value)| [Change::Single(akey(key), value)]).collect();
        let phase = Phase::Content;
        let mut updates: Vec<Update<'_>> = Vec::with_capacity(pairs.len());
        for ((key, _), changes) in pairs.iter().zip(&changes) {
            let (dkey, _) = self.location_of(map, key);
            updates.push(Update { object: map, dkey, changes, conditions: &[], phase });
        }
        self.update_all(&updates).during("set map values")?;
        match pairs.iter().any(|(key, _)| key.is_empty()) {
            true => self.remove_old_empty(map, "set map values"),
            false => Ok(()),
        }
    }

    fn remove_value(&self, map: ObjectId, key: &[u8]) -> Result<()> {
        if key.is_empty() {
            self.remove_old_empty(map, "delete map value")?;
        }
        let (dkey, akey) = self.location_of(map, key);
        let (changes, phase) = ([Change::Punch(akey)], Phase::Content);
        let update = Update { object: map, dkey, changes: &changes, conditions: &[], phase };
        self.store.update(&update).during("delete map value")
    }
}

/// Links without keys of ours: their places stand in the order of creation only.
impl ObjectMapping {
    /// Returns the names of an order whose links are there, without a place that a link had before.
    fn linked(&self, group: ObjectId, entries: Vec<(u64, Vec<u8>)>) -> Result<Vec<Vec<u8>>> {
        let places: HashMap<Vec<u8>, u64> =
            entries.iter().map(|(place, name)| (name.clone(), *place)).collect();
        let current = entries.into_iter().filter(|(place, name)| places.get(name) == Some(place));
        let names: Vec<Vec<u8>> = current.map(|(_, name)| name).collect();
        let wanted: Vec<_> = names.iter().map(|name| (group, &name[..], LINK)).collect();
        let found = self.store.get_many(&wanted).during("list links")?;
        let is_there = |(name, found): (Vec<u8>, Option<_>)| found.is_some().then_some(name);
        Ok(names.into_iter().zip(found).filter_map(is_there).collect())
    }

    /// Returns links with their places in the order of creation.
    fn with_places(&self, group: ObjectId, mut links: Vec<Link>) -> Result<Vec<Link>> {
        let entries = self.order_entries(group)?;
        let places: HashMap<Vec<u8>, u64> = entries.into_iter().map(|(place, name)| (name, place)).collect();
        for link in &mut links {
            let place = places.get(&*text::as_bytes(&link.name));
            link.creation_order = place.and_then(|place| i64::try_from(*place).ok());
        }
        Ok(links)
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
        match self.spelling {
            Spelling::Daos if is_tracked(group.group()?.link_order) => self.with_places(group.id, links),
            _ => Ok(links),
        }
    }

    fn link_order(&self, group: &ObjectHeader<Self>) -> Result<(u64, Option<u64>)> {
        let (next, count) = self.order_counts(group.id)?;
        Ok((next, Some(count)))
    }

    fn names_by_creation(&self, group: &ObjectHeader<Self>) -> Result<Vec<Vec<u8>>> {
        let group = group.id;
        let entries = self.order_entries(group)?;
        if self.spelling == Spelling::Daos {
            return self.linked(group, entries);
        }
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
        if self.spelling == Spelling::Design {
            changes.extend(created.as_ref().map(|created| Change::Single(LINK_ORDER, created)));
            if place.charset == CharacterSet::Utf8 {
                changes.push(Change::Single(LINK_CHARSET, &[1]));
            }
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
        self.take_from_order(group.id, &dkey, place)
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
