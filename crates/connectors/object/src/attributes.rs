//! Attributes: all of an object's under one dkey, so that one call changes everything that belongs to one of them.

use std::sync::Arc;

pub(crate) use keyed::space_bytes;
use keyed::{Values, check_attribute_name as check_name};
use model::{Datatype, Error, Index, Result, Within, encode, text};
use objects::{Change, Condition, ObjectId, Phase, Update};
use vol::{AttributeInfo, OpAttributeCreate, OpList, Page};

use crate::described::{Described, committed};
use crate::error::{During, stored};
use crate::identity;
use crate::keys::{self, ATTRIBUTE_COUNT, ATTRIBUTE_NEXT, ATTRIBUTES, Part};
use crate::links::{is_tracked, slice, untracked};
use crate::listing::{View, each_akey};
use crate::opening::Opening;
use crate::shared::NewAttribute;
use crate::slots::{self, BlobId};

fn missing(name: &str) -> Error {
    Error::not_found("find attribute").with("name", name)
}

/// The akeys of everything that [`AttributeInfo`] tells.
const INFO: [Part; 5] = [Part::Datatype, Part::Dataspace, Part::Creation, Part::Order, Part::Committed];
/// All akeys of an attribute.
const ALL: [Part; 6] =
    [Part::Datatype, Part::Dataspace, Part::Creation, Part::Order, Part::Committed, Part::Value];

/// Akeys of parts of attributes: all parts of one, then those of the next.
struct Akeys {
    bytes: Vec<u8>,
    lengths: Vec<usize>,
}

impl Akeys {
    fn of(names: &[impl AsRef<[u8]>], parts: &[Part]) -> Akeys {
        let count = names.len() * parts.len();
        let (mut bytes, mut lengths) = (Vec::with_capacity(16 * count), Vec::with_capacity(count));
        for name in names.iter().map(AsRef::as_ref) {
            for part in parts {
                bytes.extend_from_slice(part.prefix());
                bytes.extend_from_slice(name);
                lengths.push(part.prefix().len() + name.len());
            }
        }
        Akeys { bytes, lengths }
    }

    fn all(&self) -> Vec<&[u8]> {
        let mut rest = &self.bytes[..];
        let next = |length: &usize| rest.split_off(..*length).unwrap_or_default();
        self.lengths.iter().map(next).collect()
    }
}

/// The place and count of attributes before one is added or after one went.
struct Counts {
    next: u64,
    count: u64,
}

impl Opening {
    /// Changes attributes of an object in one piece.
    fn change_attributes(
        &self,
        object: ObjectId,
        changes: &[Change<'_>],
        conditions: &[Condition<'_>],
    ) -> objects::Result<()> {
        let phase = Phase::Description;
        self.store().update(&Update { object, dkey: ATTRIBUTES, changes, conditions, phase })
    }

    /// The same, for counters that processes share.
    fn change_counted(
        &self,
        object: ObjectId,
        counts: &Counts,
        changes: &[Change<'_>],
        conditions: &[Condition<'_>],
    ) -> objects::Result<()> {
        if !self.shared.is_concurrent {
            return self.change_attributes(object, changes, conditions);
        }
        let (next, count) = (keys::number(counts.next), keys::number(counts.count));
        let mut all = conditions.to_vec();
        match counts.next {
            0 => all.push(Condition::Absent(ATTRIBUTE_NEXT)),
            _ => all.extend([
                Condition::Equals(ATTRIBUTE_NEXT, &next),
                Condition::Equals(ATTRIBUTE_COUNT, &count),
            ]),
        }
        let phase = Phase::Description;
        self.store().update_now(&Update { object, dkey: ATTRIBUTES, changes, conditions: &all, phase })
    }

    fn attribute_counts(&self, object: ObjectId) -> Result<Counts> {
        let wanted = [ATTRIBUTE_NEXT, ATTRIBUTE_COUNT];
        let found = self.store().get(object, ATTRIBUTES, &wanted).during("read attribute order")?;
        let number = |at: usize| match found.get(at) {
            Some(Some(bytes)) => keys::number_of(bytes, "attribute order"),
            _ => Ok(0),
        };
        Ok(Counts { next: number(0)?, count: number(1)? })
    }

    pub(crate) fn make_attribute(&self, object: &Described, op: &OpAttributeCreate) -> Result<()> {
        check_name(&op.name)?;
        let datatype = self.file_type(&op.datatype, op.committed)?;
        let value_bytes = space_bytes(&op.space, &datatype)?;
        let value_bytes = value_bytes.within(self.limits().metadata_bytes_max, "attribute")?;
        let form = (datatype, op.space.clone(), op.charset);
        let parts = self.shared.last_attribute.attribute(&form)?;
        let name = text::as_bytes(&op.name);
        let akeys = Akeys::of(&[&name], &[Part::Datatype, Part::Dataspace, Part::Creation, Part::Committed]);
        let akeys = akeys.all();
        let committed = op.committed.as_ref().map(|token| &token.0[..]);
        let values = [Some(&parts.datatype[..]), Some(&parts.space), Some(&parts.creation), committed];
        let changes = akeys.iter().zip(values).filter_map(|(akey, value)| Some(Change::Single(akey, value?)));
        let changes: Vec<Change<'_>> = changes.collect();
        let mut structure = self.shared.structure();
        let conditions = [Condition::Absent(akeys[0])];
        if let Some(committed) = op.committed {
            if self.store().size(object.id, ATTRIBUTES, akeys[0]).during("make attribute")?.is_some() {
                return Err(Error::exists("make attribute").with("name", &op.name));
            }
            self.add_reference(&mut structure, identity::object(committed)?)?;
        }
        let done = match is_tracked(object.object().attribute_order) {
            true => self.put_in_order(object.id, &name, &changes, &conditions).map(Some),
            false => {
                let done = self.change_attributes(object.id, &changes, &conditions);
                done.map(|()| None).map_err(|error| made(&error))
            }
        };
        self.shared.listings.changed(object.id);
        let place = done.map_err(|error| error.with("name", &op.name))?;
        let (datatype, space, charset) = form;
        let info = AttributeInfo {
            name: op.name.clone(),
            charset,
            creation_order: place.and_then(|place| u32::try_from(place).ok()),
            datatype,
            committed: op.committed,
            space,
        };
        self.shared.note_new_attribute(NewAttribute { object: object.id, info, bytes: value_bytes });
        Ok(())
    }

    /// Makes an attribute and gives it its place in the order of creation.
    fn put_in_order(
        &self,
        object: ObjectId,
        name: &[u8],
        changes: &[Change<'_>],
        conditions: &[Condition<'_>],
    ) -> Result<u64> {
        let datatype_akey = Part::Datatype.of(name);
        let order_akey = Part::Order.of(name);
        self.retried("make attribute", &mut || {
            if self.store().size(object, ATTRIBUTES, &datatype_akey).during("make attribute")?.is_some() {
                return Err(Error::exists("make attribute"));
            }
            let counts = self.attribute_counts(object)?;
            let (place, count) = (keys::number(counts.next), keys::number(counts.count.saturating_add(1)));
            let next = counts.next.checked_add(1).ok_or_else(|| Error::limit("order attributes"))?;
            let (next, name_akey) = (keys::number(next), keys::attribute_order(counts.next));
            let mut all = changes.to_vec();
            all.extend([
                Change::Single(&order_akey, &place),
                Change::Single(&name_akey, name),
                Change::Single(ATTRIBUTE_NEXT, &next),
                Change::Single(ATTRIBUTE_COUNT, &count),
            ]);
            Ok((self.change_counted(object, &counts, &all, conditions), counts.next))
        })
    }

    pub(crate) fn attribute(&self, object: &Described, name: &str) -> Result<Option<AttributeInfo>> {
        if let Some(info) = self.shared.new_attribute(object.id, name, |new| new.info.clone()) {
            return Ok(Some(info));
        }
        let name = text::as_bytes(name);
        // Many that are asked for are about to be made. Where every look is a message, all parts are better one.
        let is_absent = !self.shared.is_concurrent && {
            let found = self.store().size(object.id, ATTRIBUTES, &Part::Datatype.of(&name));
            found.during("read attributes")?.is_none()
        };
        if is_absent { Ok(None) } else { Ok(self.attribute_infos(object, &[name])?.pop()) }
    }

    /// What attributes of these names tell; names without one are left out.
    fn attribute_infos(&self, object: &Described, names: &[impl AsRef<[u8]>]) -> Result<Vec<AttributeInfo>> {
        let akeys = Akeys::of(names, &INFO);
        let found = self.store().get(object.id, ATTRIBUTES, &akeys.all()).during("read attributes")?;
        let is_ordered = is_tracked(object.object().attribute_order);
        let mut infos = Vec::with_capacity(names.len());
        for (name, values) in names.iter().zip(found.chunks(INFO.len())) {
            let [Some(datatype), Some(space), creation, order, shared] = values else { continue };
            let creation_order = match order {
                Some(order) if is_ordered => u32::try_from(keys::number_of(order, "creation order")?).ok(),
                _ => None,
            };
            infos.push(AttributeInfo {
                name: text::from_bytes(name.as_ref()),
                charset: creation
                    .as_deref()
                    .map_or(Ok(Default::default()), encode::decode_attribute_create)?,
                creation_order,
                datatype: slots::decode_type(datatype, self.limits())?,
                committed: shared.as_deref().map(committed).transpose()?,
                space: encode::decode_space_of(space, self.limits())?,
            });
        }
        Ok(infos)
    }

    /// Names of an object's attributes, by their bytes.
    pub(crate) fn attribute_names(&self, object: ObjectId) -> Result<Arc<Vec<Vec<u8>>>> {
        self.shared.listings.snapshot(object, View::Attributes, || {
            let prefix = Part::Datatype.prefix();
            let mut names = Vec::new();
            each_akey(self.store(), object, ATTRIBUTES, prefix, |akey| {
                names.extend(akey.strip_prefix(prefix).map(<[u8]>::to_vec));
                Ok(akey.starts_with(prefix))
            })?;
            Ok(names)
        })
    }

    pub(crate) fn attribute_count(&self, object: &Described) -> Result<u64> {
        match is_tracked(object.object().attribute_order) {
            true => Ok(self.attribute_counts(object.id)?.count),
            false => Ok(self.attribute_names(object.id)?.len() as u64),
        }
    }

    pub(crate) fn list_attributes(&self, object: &Described, op: &OpList) -> Result<Page<AttributeInfo>> {
        let names = self.attribute_names(object.id)?;
        if op.index == Index::Name {
            let (names, more) = slice(&names, op);
            return Ok(Page { entries: self.attribute_infos(object, &names)?, more });
        }
        if !is_tracked(object.object().attribute_order) {
            return Err(untracked("list attributes"));
        }
        let mut infos = self.attribute_infos(object, &names)?;
        infos.sort_by_key(|info| info.creation_order);
        let (entries, more) = slice(&infos, op);
        Ok(Page { entries, more })
    }

    pub(crate) fn attribute_values(&self, object: &Described, names: &[&str]) -> Result<Vec<Vec<u8>>> {
        const PARTS: [Part; 3] = [Part::Value, Part::Datatype, Part::Dataspace];
        let encoded: Vec<_> = names.iter().map(|name| text::as_bytes(name)).collect();
        let akeys = Akeys::of(&encoded, &PARTS);
        let mut found = self.store().get(object.id, ATTRIBUTES, &akeys.all()).during("read attributes")?;
        let mut values = Vec::with_capacity(names.len());
        for (name, found) in names.iter().zip(found.chunks_mut(PARTS.len())) {
            let [value, Some(datatype), Some(space)] = found else { return Err(missing(name)) };
            let datatype = slots::decode_type(datatype, self.limits())?;
            let bytes = space_bytes(&encode::decode_space_of(space, self.limits())?, &datatype)?;
            let bytes = bytes.within(self.limits().metadata_bytes_max, "attribute")?;
            // Nobody wrote an attribute that has no value: it is zeros.
            let value = value.take().unwrap_or_else(|| vec![0; bytes]);
            if value.len() != bytes {
                return Err(Error::corrupt("read attribute").with("name", name).with("bytes", value.len()));
            }
            values.push(value);
        }
        Ok(values)
    }

    /// Bytes of an attribute's value, and its type.
    fn value_bytes(&self, object: &Described, name: &str) -> Result<(usize, Datatype)> {
        let akeys = Akeys::of(&[text::as_bytes(name)], &[Part::Datatype, Part::Dataspace]);
        let found = self.store().get(object.id, ATTRIBUTES, &akeys.all()).during("read attribute")?;
        let [Some(datatype), Some(space)] = &found[..] else { return Err(missing(name)) };
        let datatype = slots::decode_type(datatype, self.limits())?;
        let bytes = space_bytes(&encode::decode_space_of(space, self.limits())?, &datatype)?;
        Ok((bytes.within(self.limits().metadata_bytes_max, "attribute")?, datatype))
    }

    pub(crate) fn write_attribute(&self, object: &Described, name: &str, data: &[u8]) -> Result<()> {
        let _structure = self.shared.structure();
        let (bytes, datatype) =
            match self.shared.new_attribute(object.id, name, |new| (new.bytes, new.info.datatype.clone())) {
                Some(known) => known,
                None => self.value_bytes(object, name)?,
            };
        if bytes != data.len() {
            return Err(Error::invalid("write attribute").with("bytes", data.len()).with("wanted", bytes));
        }
        let akey = Part::Value.of(&text::as_bytes(name));
        let old = self.blobs_of_value(object.id, &datatype, &akey)?;
        self.change_attributes(object.id, &[Change::Single(&akey, data)], &[]).during("write attribute")?;
        if old.is_empty() {
            return Ok(());
        }
        // What the new value uses too stays.
        let kept = self.blobs_in(&datatype, data)?;
        self.drop_blobs(&old.into_iter().filter(|id| !kept.contains(id)).collect::<Vec<_>>())
    }

    fn blobs_of_value(&self, object: ObjectId, datatype: &Datatype, akey: &[u8]) -> Result<Vec<BlobId>> {
        if !datatype.has_slots() {
            return Ok(Vec::new());
        }
        let found = self.store().get(object, ATTRIBUTES, &[akey]).during("read attribute")?;
        match found.into_iter().next().flatten() {
            Some(value) => self.blobs_in(datatype, &value),
            None => Ok(Vec::new()),
        }
    }

    pub(crate) fn delete_attribute(&self, object: &Described, name: &str) -> Result<()> {
        let mut structure = self.shared.structure();
        self.shared.forget_new_attribute();
        let info = self.attribute(object, name)?.ok_or_else(|| missing(name))?;
        let bytes = text::as_bytes(name);
        let blobs = self.blobs_of_value(object.id, &info.datatype, &Part::Value.of(&bytes))?;
        let akeys = ALL.map(|part| part.of(&bytes));
        let gone: Vec<Change<'_>> = akeys.iter().map(|akey| Change::Punch(akey)).collect();
        match info.creation_order {
            Some(place) => self.take_attribute(object.id, place.into(), &gone)?,
            None => self.change_attributes(object.id, &gone, &[]).during("delete attribute")?,
        }
        self.shared.listings.changed(object.id);
        self.drop_blobs(&blobs)?;
        match info.committed {
            Some(committed) => self.drop_reference(&mut structure, identity::object(committed)?),
            None => Ok(()),
        }
    }

    fn take_attribute(&self, object: ObjectId, place: u64, gone: &[Change<'_>]) -> Result<()> {
        let name_akey = keys::attribute_order(place);
        self.retried("delete attribute", &mut || {
            let counts = self.attribute_counts(object)?;
            let count = keys::number(counts.count.saturating_sub(1));
            let mut all = gone.to_vec();
            all.extend([Change::Punch(&name_akey), Change::Single(ATTRIBUTE_COUNT, &count)]);
            Ok((self.change_counted(object, &counts, &all, &[]), ()))
        })
    }

    pub(crate) fn rename_attribute(&self, object: &Described, from: &str, to: &str) -> Result<()> {
        check_name(to)?;
        let _structure = self.shared.structure();
        self.shared.forget_new_attribute();
        let info = self.attribute(object, from)?.ok_or_else(|| missing(from))?;
        let (old, new) = (text::to_bytes(from), text::to_bytes(to));
        let (old_akeys, new_akeys) = (ALL.map(|part| part.of(&old)), ALL.map(|part| part.of(&new)));
        let wanted: Vec<&[u8]> = old_akeys.iter().map(Vec::as_slice).collect();
        let values = self.store().get(object.id, ATTRIBUTES, &wanted).during("rename attribute")?;
        let mut changes: Vec<Change<'_>> = old_akeys.iter().map(|akey| Change::Punch(akey)).collect();
        let moved = new_akeys.iter().zip(&values);
        changes.extend(moved.filter_map(|(akey, value)| Some(Change::Single(akey, value.as_deref()?))));
        let name_akey = info.creation_order.map(|place| keys::attribute_order(place.into()));
        changes.extend(name_akey.as_ref().map(|akey| Change::Single(akey, &new)));
        let done = self.change_attributes(object.id, &changes, &[Condition::Absent(&new_akeys[0])]);
        self.shared.listings.changed(object.id);
        done.map_err(|error| match error {
            objects::Error::Condition(_) => Error::exists("rename attribute").with("name", to),
            error => stored("rename attribute", &error),
        })
    }

    /// Committed datatypes that an object's attributes use, once for each use.
    pub(crate) fn committed_in_attributes(&self, object: &Described) -> Result<Vec<ObjectId>> {
        let mut akeys = Vec::new();
        let prefix = Part::Committed.prefix();
        each_akey(self.store(), object.id, ATTRIBUTES, prefix, |akey| {
            if akey.starts_with(prefix) {
                akeys.push(akey.to_vec());
            }
            Ok(akey.starts_with(prefix))
        })?;
        let wanted: Vec<&[u8]> = akeys.iter().map(Vec::as_slice).collect();
        let found = self.store().get(object.id, ATTRIBUTES, &wanted).during("read attributes")?;
        found.iter().flatten().map(|token| identity::object(committed(token)?)).collect()
    }

    /// Blobs that the values of an object's attributes use.
    pub(crate) fn blobs_in_attributes(&self, object: &Described) -> Result<Vec<BlobId>> {
        let names = self.attribute_names(object.id)?;
        let mut blobs = Vec::new();
        for info in self.attribute_infos(object, &names)? {
            let akey = Part::Value.of(&text::as_bytes(&info.name));
            blobs.extend(self.blobs_of_value(object.id, &info.datatype, &akey)?);
        }
        Ok(blobs)
    }
}

fn made(error: &objects::Error) -> Error {
    match error {
        objects::Error::Condition(_) => Error::exists("make attribute"),
        error => stored("make attribute", error),
    }
}
