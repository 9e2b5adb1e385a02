//! Attributes.

use model::dataspace::Format;
use model::datatype::DescriptorSizes;
use model::{Datatype, Error, Result, Within};
use vol::OpAttributeCreate;

use super::Writer;
use super::object_cache::ObjectCache;
use super::values::Replaced;
use crate::format::Address;
use crate::format::attribute::{AttributePart, RawAttribute};
use crate::format::shared::SharedAt;
use crate::object::attribute::raw_value_type;

impl Writer {
    pub(crate) fn attribute_create(&mut self, op: &OpAttributeCreate) -> Result<()> {
        if op.name.is_empty() || op.name.contains('\0') {
            return Err(Error::invalid("create attribute").with("name", format!("{:?}", op.name)));
        }
        op.datatype.validate(&self.reader.store.limits)?;
        let datatype =
            op.datatype.with_descriptors(&DescriptorSizes::native(self.storage.sizes.offset as u32));
        let bytes = op.space.element_count()?.saturating_mul(u64::from(datatype.size()));
        let bytes = bytes.within(self.reader.store.limits.metadata_bytes_max, "attribute")?;
        let part = match op.committed {
            None => AttributePart { shared: false, bytes: self.versions.encode_datatype(&datatype)? },
            Some(token) => {
                let at = Address(token.to_u64());
                self.check_committed(at, &datatype)?;
                self.adjust_references(at, 1)?;
                AttributePart { shared: true, bytes: SharedAt::Object(at).encode(self.storage.sizes)? }
            }
        };
        let format = Format { length_bytes: self.storage.sizes.length as u8 };
        let space =
            AttributePart { shared: false, bytes: op.space.encode(self.versions.dataspace(), &format)? };
        let raw = RawAttribute {
            name: op.name.clone(),
            charset: op.charset,
            datatype: part,
            dataspace: space,
            data: vec![0; bytes],
        };
        let object = Address(op.object.to_u64());
        let (reader, prefix) = (self.reader.clone(), self.objects.load(object)?.prefix.clone());
        let tracked = prefix.attribute_order_tracked;
        let attributes = self.objects.attributes_mut(object)?;
        if attributes.contains(&reader, &prefix, &op.name)? {
            return Err(Error::exists("create attribute").with("name", &op.name));
        }
        let order = tracked.then_some(attributes.next);
        attributes.next = attributes.next.saturating_add(u16::from(tracked));
        // Such a type is read back as it was written.
        let is_number =
            matches!(datatype, Datatype::Integer(_) | Datatype::Float(_)) && op.committed.is_none();
        attributes.insert(raw, order, is_number.then(|| (datatype, op.space.clone())));
        Ok(())
    }

    pub(crate) fn attribute_write(&mut self, object: Address, name: &str, data: &[u8]) -> Result<()> {
        let (reader, prefix) = (self.reader.clone(), self.objects.load(object)?.prefix.clone());
        let kept = self
            .objects
            .attributes_mut(object)?
            .change(&reader, &prefix, name)?
            .ok_or_else(|| missing(name))?;
        if kept.decoded.is_some() && kept.raw.data.len() == data.len() {
            kept.raw.data.copy_from_slice(data);
            return Ok(());
        }
        let (datatype, wanted) = raw_value_type(&reader, &kept.raw)?;
        if wanted != data.len() {
            return Err(Error::invalid("write attribute").with("bytes", data.len()).with("wanted", wanted));
        }
        let old = std::mem::replace(&mut kept.raw.data, data.to_vec());
        self.release_replaced(&Replaced { datatype: &datatype, old: &old, new: data, fill: None })
    }

    pub(crate) fn attribute_delete(&mut self, object: Address, name: &str) -> Result<()> {
        let (reader, prefix) = (self.reader.clone(), self.objects.load(object)?.prefix.clone());
        let removed = self.objects.attributes_mut(object)?.remove(&reader, &prefix, name)?;
        let removed = removed.ok_or_else(|| missing(name))?;
        if removed.datatype.shared
            && let SharedAt::Object(at) = SharedAt::decode(&removed.datatype.bytes, self.storage.sizes)?
        {
            self.adjust_references(at, -1)?;
        }
        Ok(())
    }
}

impl ObjectCache {
    pub(crate) fn attribute_rename(&mut self, object: Address, from: &str, to: &str) -> Result<()> {
        let (reader, prefix) = (self.reader.clone(), self.load(object)?.prefix.clone());
        let attributes = self.attributes_mut(object)?;
        if !attributes.contains(&reader, &prefix, from)? {
            return Err(missing(from));
        }
        if from != to && attributes.contains(&reader, &prefix, to)? {
            return Err(Error::exists("rename attribute").with("name", to));
        }
        if to.is_empty() || to.contains('\0') {
            return Err(Error::invalid("rename attribute").with("name", format!("{to:?}")));
        }
        attributes.rename(&reader, &prefix, from, to)
    }
}

fn missing(name: &str) -> Error {
    Error::not_found("find attribute").with("name", name)
}
