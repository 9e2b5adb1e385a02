//! Links of groups and pairs of maps: pairs of their key-value stores.

use iod_storage::{Batch, Id, Phase};
use keyed::{Entries, Links, ObjectHeader, is_tracked};
use model::{CharacterSet, Error, Link, LinkTarget, Result, text};
use vol::LinkLocation;

use crate::IodMapping;
use crate::error::During;
use crate::keys::{self, LINK_NEXT, LINK_PLACE, LinkInfo};
use crate::mapping::Changes;

impl Entries for IodMapping {
    fn keys(&self, id: Id, from: &[u8], count_max: usize) -> Result<Vec<Vec<u8>>> {
        self.storage.keys(id, from, count_max).during("list keys")
    }

    fn has_ordered_keys(&self) -> bool {
        self.storage.is_ordered()
    }

    fn each_keys(&self, id: Id, visit: &mut dyn FnMut(Vec<Vec<u8>>) -> Result<()>) -> Result<()> {
        let all = self.storage.keys_with_prefix(id, b"").during("list keys")?;
        all.chunks(keyed::PAGE).try_for_each(|keys| visit(keys.to_vec()))
    }

    fn has_entry(&self, id: Id, key: &[u8]) -> Result<bool> {
        Ok(self.value(id, key, "find key")?.is_some())
    }

    fn values(&self, id: Id, keys: &[&[u8]], operation: &str) -> Result<Vec<Option<Vec<u8>>>> {
        self.storage.get(id, keys).during(operation)
    }

    fn put_values(&self, map: Id, pairs: &[(&[u8], &[u8])]) -> Result<()> {
        let mut batch = Batch::new();
        for (key, value) in pairs {
            batch.put(map, *key, *value);
        }
        self.apply_batch(&batch, "set map values")
    }

    fn remove_value(&self, map: Id, key: &[u8]) -> Result<()> {
        let mut batch = Batch::new();
        batch.remove(map, key);
        self.apply_batch(&batch, "delete map value")
    }
}

impl Links for IodMapping {
    fn decode_target(value: &[u8]) -> Result<LinkTarget> {
        keys::link_target(value)
    }

    fn links(&self, group: &ObjectHeader<Self>, names: &[Vec<u8>]) -> Result<Vec<Link>> {
        let wanted: Vec<&[u8]> = names.iter().map(Vec::as_slice).collect();
        let values = self.storage.get(group.id, &wanted).during("read links")?;
        let keys: Vec<Vec<u8>> = names.iter().map(|name| keys::link_info(name)).collect();
        let wanted: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
        let infos = self.storage.get(group.location.metadata, &wanted).during("read links")?;
        let mut links = Vec::with_capacity(names.len());
        for ((name, value), info) in names.iter().zip(values).zip(infos) {
            if let Some(value) = value {
                links.push(decode_link(name, &value, info.as_deref())?);
            }
        }
        Ok(links)
    }

    fn link_order(&self, group: &ObjectHeader<Self>) -> Result<(u64, Option<u64>)> {
        Ok((self.counter(group, LINK_NEXT)?, None))
    }

    fn names_by_creation(&self, group: &ObjectHeader<Self>) -> Result<Vec<Vec<u8>>> {
        let metadata = group.location.metadata;
        let places = self.storage.keys_with_prefix(metadata, LINK_PLACE).during("list links")?;
        let mut names = Vec::with_capacity(places.len());
        for places in places.chunks(keyed::PAGE) {
            let wanted: Vec<&[u8]> = places.iter().map(Vec::as_slice).collect();
            names.extend(self.storage.get(metadata, &wanted).during("list links")?.into_iter().flatten());
        }
        Ok(names)
    }

    fn put_link(
        &self,
        changes: &mut Changes,
        group: &ObjectHeader<Self>,
        place: &LinkLocation,
        target: &LinkTarget,
    ) -> Result<()> {
        let (batch, metadata) = (&mut changes.batch, group.location.metadata);
        // Where a flush is not one commit, the place of a link is there before it and goes after it.
        batch.phase(Phase::Description);
        let name = text::to_bytes(&place.name);
        let mut info = LinkInfo { place: None, is_utf8: place.charset == CharacterSet::Utf8 };
        if is_tracked(group.group()?.link_order) {
            // The next of all places that were ever taken, so that none is taken twice.
            let order = self.counter(group, LINK_NEXT)?;
            let next = order.checked_add(1).ok_or_else(|| Error::limit("order links"))?;
            batch.put(metadata, LINK_NEXT, keys::number(next).to_vec());
            batch.put(metadata, keys::link_place(order), name.clone());
            info.place = Some(order);
        }
        if info != LinkInfo::default() {
            batch.put(metadata, keys::link_info(&name), info.to_bytes().to_vec());
        }
        batch.phase(Phase::Link).put(group.id, name, keys::link_value(target)?);
        Ok(())
    }

    fn remove_link(&self, changes: &mut Changes, group: &ObjectHeader<Self>, link: &Link) -> Result<()> {
        let (batch, metadata) = (&mut changes.batch, group.location.metadata);
        let name = text::to_bytes(&link.name);
        batch.phase(Phase::Link).remove(group.id, name.clone()).phase(Phase::Removal);
        if let Some(created) = link.creation_order {
            let place = u64::try_from(created)
                .map_err(|_| Error::corrupt("read creation order").with("order", created))?;
            batch.remove(metadata, keys::link_place(place));
        }
        batch.remove(metadata, keys::link_info(&name));
        Ok(())
    }
}

fn decode_link(name: &[u8], value: &[u8], info: Option<&[u8]>) -> Result<Link> {
    let name = text::from_bytes(name);
    let broken = |error: Error| error.with("link", &name);
    let target = keys::link_target(value).map_err(broken)?;
    let info = info.map_or(Ok(LinkInfo::default()), LinkInfo::of).map_err(broken)?;
    let creation_order = info.place.and_then(|place| i64::try_from(place).ok());
    let charset = if info.is_utf8 { CharacterSet::Utf8 } else { CharacterSet::Ascii };
    Ok(Link { name, target, charset, creation_order })
}
