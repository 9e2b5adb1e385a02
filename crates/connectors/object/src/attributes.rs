//! Attributes: all of an object's under one dkey, so that one call changes everything that belongs to one of them.

use std::sync::Arc;

use keyed::{
    AttributeHeader, Attributes, During, Identities, NewAttribute, ObjectHeader, Objects, is_tracked,
    missing_attribute, stored, value_bytes,
};
use model::{Error, Limits, Result, encode, text};
use objects::{Change, Condition, ObjectId, Phase, Update};

use crate::ObjectMapping;
use crate::headers::committed;
use crate::keys::{self, ATTRIBUTE_COUNT, ATTRIBUTE_NEXT, ATTRIBUTES, AttributePart};
use crate::listing;

/// The akeys of an attribute's header.
const HEADER: [AttributePart; 5] = [
    AttributePart::Datatype,
    AttributePart::Dataspace,
    AttributePart::Creation,
    AttributePart::Order,
    AttributePart::Committed,
];
/// All akeys of an attribute.
const ALL: [AttributePart; 6] = [
    AttributePart::Datatype,
    AttributePart::Dataspace,
    AttributePart::Creation,
    AttributePart::Order,
    AttributePart::Committed,
    AttributePart::Value,
];

/// Akeys of parts of attributes: all parts of one, then those of the next.
struct Akeys {
    bytes: Vec<u8>,
    lengths: Vec<usize>,
}

impl Akeys {
    fn of(names: &[impl AsRef<[u8]>], parts: &[AttributePart]) -> Akeys {
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

/// The counters of an object's attributes.
struct Counters {
    /// The next creation order.
    next: u64,
    /// The number of attributes.
    count: u64,
}

fn tracks_order(object: &ObjectHeader<ObjectMapping>) -> bool {
    is_tracked(object.object().attribute_order)
}

impl ObjectMapping {
    /// Changes attributes of an object in one call.
    fn change_attributes(
        &self,
        object: ObjectId,
        changes: &[Change<'_>],
        conditions: &[Condition<'_>],
    ) -> objects::Result<()> {
        let phase = Phase::Description;
        self.store.update(&Update { object, dkey: ATTRIBUTES, changes, conditions, phase })
    }

    /// Changes attributes of an object in one call. If other processes write too, the counters must be as they were read.
    fn change_counted(
        &self,
        object: ObjectId,
        counters: &Counters,
        changes: &[Change<'_>],
        conditions: &[Condition<'_>],
    ) -> objects::Result<()> {
        if !self.is_concurrent() {
            return self.change_attributes(object, changes, conditions);
        }
        let (next, count) = (keys::number(counters.next), keys::number(counters.count));
        let mut all = conditions.to_vec();
        match counters.next {
            0 => all.push(Condition::Absent(ATTRIBUTE_NEXT)),
            _ => all.extend([
                Condition::Equals(ATTRIBUTE_NEXT, &next),
                Condition::Equals(ATTRIBUTE_COUNT, &count),
            ]),
        }
        let phase = Phase::Description;
        self.store.update_now(&Update { object, dkey: ATTRIBUTES, changes, conditions: &all, phase })
    }

    fn attribute_counters(&self, object: ObjectId) -> Result<Counters> {
        let wanted = [ATTRIBUTE_NEXT, ATTRIBUTE_COUNT];
        let found = self.store.get(object, ATTRIBUTES, &wanted).during("read attribute order")?;
        let number = |at: usize| match found.get(at) {
            Some(Some(bytes)) => keys::number_of(bytes, "attribute order"),
            _ => Ok(0),
        };
        Ok(Counters { next: number(0)?, count: number(1)? })
    }

    /// Stores an attribute with its creation order, and returns that.
    fn put_in_order(
        &self,
        object: ObjectId,
        name: &[u8],
        changes: &[Change<'_>],
        conditions: &[Condition<'_>],
    ) -> Result<u64> {
        let datatype_akey = AttributePart::Datatype.of(name);
        let order_akey = AttributePart::Order.of(name);
        self.retried("create attribute", &mut || {
            if self.store.size(object, ATTRIBUTES, &datatype_akey).during("create attribute")?.is_some() {
                return Err(Error::exists("create attribute"));
            }
            let counters = self.attribute_counters(object)?;
            let (place, count) =
                (keys::number(counters.next), keys::number(counters.count.saturating_add(1)));
            let next = counters.next.checked_add(1).ok_or_else(|| Error::limit("order attributes"))?;
            let (next, name_akey) = (keys::number(next), keys::attribute_order(counters.next));
            let mut all = changes.to_vec();
            all.extend([
                Change::Single(&order_akey, &place),
                Change::Single(&name_akey, name),
                Change::Single(ATTRIBUTE_NEXT, &next),
                Change::Single(ATTRIBUTE_COUNT, &count),
            ]);
            Ok((self.change_counted(object, &counters, &all, conditions), counters.next))
        })
    }

    /// Removes an attribute and its place in the order of creation.
    fn take_from_attribute_order(&self, object: ObjectId, place: u64, gone: &[Change<'_>]) -> Result<()> {
        let name_akey = keys::attribute_order(place);
        self.retried("delete attribute", &mut || {
            let counters = self.attribute_counters(object)?;
            let count = keys::number(counters.count.saturating_sub(1));
            let mut all = gone.to_vec();
            all.extend([Change::Punch(&name_akey), Change::Single(ATTRIBUTE_COUNT, &count)]);
            Ok((self.change_counted(object, &counters, &all, &[]), ()))
        })
    }

    /// Decodes the header of an attribute from its values, or returns `None` if it does not exist.
    fn decode_attribute(
        &self,
        object: &ObjectHeader<Self>,
        values: &[Option<Vec<u8>>],
        limits: &Limits,
    ) -> Result<Option<Arc<AttributeHeader<Self>>>> {
        let [Some(datatype), Some(space), creation, order, shared] = values else { return Ok(None) };
        let creation_order = match order {
            Some(order) if tracks_order(object) => Some(keys::number_of(order, "creation order")?),
            _ => None,
        };
        let datatype = Self::decode_datatype(datatype, limits)?;
        let space = encode::decode_space_of(space, limits)?;
        let bytes = value_bytes(&space, &datatype, limits)?;
        let charset = creation.as_deref().map_or(Ok(Default::default()), encode::decode_attribute_create)?;
        let committed = shared.as_deref().map(committed).transpose()?;
        let new = NewAttribute { datatype, space, charset, committed, bytes };
        Ok(Some(Arc::new(AttributeHeader::new((), new, creation_order))))
    }
}

impl Attributes for ObjectMapping {
    fn attribute_names(&self, object: &ObjectHeader<Self>) -> Result<Vec<Vec<u8>>> {
        let prefix = AttributePart::Datatype.prefix();
        let akeys = listing::akeys(&*self.store, object.id, ATTRIBUTES, prefix)?;
        Ok(akeys.into_iter().map(|mut akey| akey.split_off(prefix.len())).collect())
    }

    fn attribute_count(&self, object: &ObjectHeader<Self>) -> Result<Option<u64>> {
        match tracks_order(object) {
            true => Ok(Some(self.attribute_counters(object.id)?.count)),
            false => Ok(None),
        }
    }

    fn attributes(
        &self,
        object: &ObjectHeader<Self>,
        names: &[&[u8]],
        limits: &Limits,
    ) -> Result<Vec<Option<Arc<AttributeHeader<Self>>>>> {
        // Many that are looked up are about to be created. If every look-up is a message, all parts are better one.
        if let [name] = names
            && !self.is_concurrent()
            && !self.has_attribute(object, name)?
        {
            return Ok(vec![None]);
        }
        let akeys = Akeys::of(names, &HEADER);
        let found = self.store.get(object.id, ATTRIBUTES, &akeys.all()).during("read attributes")?;
        found.chunks(HEADER.len()).map(|values| self.decode_attribute(object, values, limits)).collect()
    }

    fn has_attribute(&self, object: &ObjectHeader<Self>, name: &[u8]) -> Result<bool> {
        let found = self.store.size(object.id, ATTRIBUTES, &AttributePart::Datatype.of(name));
        Ok(found.during("read attributes")?.is_some())
    }

    fn put_attribute(
        &self,
        (): &mut (),
        object: &ObjectHeader<Self>,
        name: &[u8],
        new: NewAttribute,
    ) -> Result<AttributeHeader<Self>> {
        let form = (new.datatype, new.space, new.charset);
        let parts = self.last_attribute.attribute(&form)?;
        let akeys = Akeys::of(
            &[name],
            &[
                AttributePart::Datatype,
                AttributePart::Dataspace,
                AttributePart::Creation,
                AttributePart::Committed,
            ],
        );
        let akeys = akeys.all();
        let committed = new.committed.as_ref().map(|token| &token.0[..]);
        let values = [Some(&parts.datatype[..]), Some(&parts.space), Some(&parts.creation), committed];
        let changes = akeys.iter().zip(values).filter_map(|(akey, value)| Some(Change::Single(akey, value?)));
        let changes: Vec<Change<'_>> = changes.collect();
        let conditions = [Condition::Absent(akeys[0])];
        let creation_order = match tracks_order(object) {
            true => Some(self.put_in_order(object.id, name, &changes, &conditions)?),
            false => {
                let done = self.change_attributes(object.id, &changes, &conditions);
                done.map_err(|error| created(&error))?;
                None
            }
        };
        let (datatype, space, charset) = form;
        Ok(AttributeHeader::new((), NewAttribute { datatype, space, charset, ..new }, creation_order))
    }

    fn read_attributes(
        &self,
        object: &ObjectHeader<Self>,
        names: &[&str],
        limits: &Limits,
    ) -> Result<Vec<Vec<u8>>> {
        const PARTS: [AttributePart; 3] =
            [AttributePart::Value, AttributePart::Datatype, AttributePart::Dataspace];
        let encoded: Vec<_> = names.iter().map(|name| text::as_bytes(name)).collect();
        let akeys = Akeys::of(&encoded, &PARTS);
        let mut found = self.store.get(object.id, ATTRIBUTES, &akeys.all()).during("read attributes")?;
        let mut values = Vec::with_capacity(names.len());
        for (name, found) in names.iter().zip(found.chunks_mut(PARTS.len())) {
            let [value, Some(datatype), Some(space)] = found else { return Err(missing_attribute(name)) };
            let datatype = Self::decode_datatype(datatype, limits)?;
            let bytes = value_bytes(&encode::decode_space_of(space, limits)?, &datatype, limits)?;
            // An attribute that was never written has no value: it is zeros.
            let value = value.take().unwrap_or_else(|| vec![0; bytes]);
            if value.len() != bytes {
                return Err(Error::corrupt("read attribute").with("name", name).with("bytes", value.len()));
            }
            values.push(value);
        }
        Ok(values)
    }

    fn read_attribute(
        &self,
        object: &ObjectHeader<Self>,
        name: &[u8],
        _attribute: &AttributeHeader<Self>,
    ) -> Result<Option<Vec<u8>>> {
        let akey = AttributePart::Value.of(name);
        let found = self.store.get(object.id, ATTRIBUTES, &[&akey]).during("read attribute")?;
        Ok(found.into_iter().next().flatten())
    }

    fn write_attribute(
        &self,
        object: &ObjectHeader<Self>,
        name: &[u8],
        _attribute: &AttributeHeader<Self>,
        value: &[u8],
    ) -> Result<()> {
        // What has no value is read as one without bytes.
        if value.is_empty() {
            return Ok(());
        }
        let change = Change::Single(&AttributePart::Value.of(name), value);
        self.change_attributes(object.id, &[change], &[]).during("write attribute")
    }

    fn remove_attribute(
        &self,
        (): &mut (),
        object: &ObjectHeader<Self>,
        name: &[u8],
        attribute: &AttributeHeader<Self>,
    ) -> Result<()> {
        let akeys = ALL.map(|part| part.of(name));
        let gone: Vec<Change<'_>> = akeys.iter().map(|akey| Change::Punch(akey)).collect();
        match attribute.creation_order {
            Some(place) => self.take_from_attribute_order(object.id, place, &gone),
            None => self.change_attributes(object.id, &gone, &[]).during("delete attribute"),
        }
    }

    fn rename_attribute(
        &self,
        object: &ObjectHeader<Self>,
        from: &[u8],
        to: &[u8],
        attribute: &AttributeHeader<Self>,
    ) -> Result<()> {
        let (old_akeys, new_akeys) = (ALL.map(|part| part.of(from)), ALL.map(|part| part.of(to)));
        let wanted: Vec<&[u8]> = old_akeys.iter().map(Vec::as_slice).collect();
        let values = self.store.get(object.id, ATTRIBUTES, &wanted).during("rename attribute")?;
        let mut changes: Vec<Change<'_>> = old_akeys.iter().map(|akey| Change::Punch(akey)).collect();
        let moved = new_akeys.iter().zip(&values);
        changes.extend(moved.filter_map(|(akey, value)| Some(Change::Single(akey, value.as_deref()?))));
        let name_akey = attribute.creation_order.map(keys::attribute_order);
        changes.extend(name_akey.as_ref().map(|akey| Change::Single(akey, to)));
        let done = self.change_attributes(object.id, &changes, &[Condition::Absent(&new_akeys[0])]);
        done.map_err(|error| match error {
            objects::Error::Condition(_) => {
                Error::exists("rename attribute").with("name", text::from_bytes(to))
            }
            error => stored("rename attribute", &error),
        })
    }
}

fn created(error: &objects::Error) -> Error {
    match error {
        objects::Error::Condition(_) => Error::exists("create attribute"),
        error => stored("create attribute", error),
    }
}
