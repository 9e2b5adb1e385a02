//! Attributes.

use model::dataspace::{Format, Version};
use model::datatype::SlotSizes;
use model::{Error, Result, Within};
use vol::OpAttributeCreate;

use super::Writer;
use super::draft::Attributes;
use crate::file::File;
use crate::format::Address;
use crate::format::attribute::{Part, RawAttribute};
use crate::format::shared::SharedAt;

/// Datatype messages of compounds and arrays are written in this version from HDF5 1.8 on.
pub(super) const DATATYPE_VERSION: u8 = 3;

impl Writer {
    pub(crate) fn attribute_create(&mut self, file: &File, op: &OpAttributeCreate) -> Result<()> {
        if op.name.is_empty() || op.name.contains('\0') {
            return Err(Error::invalid("create attribute").with("name", format!("{:?}", op.name)));
        }
        op.datatype.validate(&file.store.limits)?;
        let datatype = op.datatype.with_slots(&SlotSizes::native(self.sizes.offset as u32));
        let bytes = op.space.element_count()?.saturating_mul(u64::from(datatype.size()));
        let bytes = bytes.within(file.store.limits.metadata_bytes_max, "attribute")?;
        let part = match op.committed {
            None => Part { shared: false, bytes: datatype.encode(DATATYPE_VERSION)? },
            Some(token) => {
                let at = Address(token.to_u64());
                self.check_committed(file, at, &datatype)?;
                self.adjust_references(file, at, 1)?;
                Part { shared: true, bytes: SharedAt::Object(at).encode(self.sizes)? }
            }
        };
        let format = Format { length_bytes: self.sizes.length as u8 };
        let space = Part { shared: false, bytes: op.space.encode(Version::V2, &format)? };
        let raw = RawAttribute {
            name: op.name.clone(),
            charset: op.charset,
            datatype: part,
            dataspace: space,
            data: vec![0; bytes],
        };
        let draft = self.draft(file, Address(op.object.to_u64()))?;
        if draft.attributes.find(&op.name).is_some() {
            return Err(Error::exists("create attribute").with("name", &op.name));
        }
        let order = draft.tracks_attribute_order().then_some(draft.attributes.next);
        draft.attributes.next = draft.attributes.next.saturating_add(u16::from(order.is_some()));
        draft.attributes.list.push((raw, order));
        draft.is_dirty = true;
        Ok(())
    }

    pub(crate) fn attribute_write(
        &mut self,
        file: &File,
        object: Address,
        name: &str,
        data: &[u8],
    ) -> Result<()> {
        let draft = self.draft(file, object)?;
        let at = draft.attributes.place(name)?;
        let old = &mut draft.attributes.list[at].0.data;
        if old.len() != data.len() {
            return Err(Error::invalid("write attribute")
                .with("bytes", data.len())
                .with("wanted", old.len()));
        }
        old.copy_from_slice(data);
        draft.is_dirty = true;
        Ok(())
    }

    pub(crate) fn attribute_delete(&mut self, file: &File, object: Address, name: &str) -> Result<()> {
        let draft = self.draft(file, object)?;
        let at = draft.attributes.place(name)?;
        let (removed, _) = draft.attributes.list.remove(at);
        draft.is_dirty = true;
        if removed.datatype.shared
            && let SharedAt::Object(at) = SharedAt::decode(&removed.datatype.bytes, self.sizes)?
        {
            self.adjust_references(file, at, -1)?;
        }
        Ok(())
    }

    pub(crate) fn attribute_rename(
        &mut self,
        file: &File,
        object: Address,
        from: &str,
        to: &str,
    ) -> Result<()> {
        let draft = self.draft(file, object)?;
        let at = draft.attributes.place(from)?;
        if draft.attributes.find(to).is_some_and(|other| other != at) {
            return Err(Error::exists("rename attribute").with("name", to));
        }
        if to.is_empty() || to.contains('\0') {
            return Err(Error::invalid("rename attribute").with("name", format!("{to:?}")));
        }
        let raw = &mut draft.attributes.list[at].0;
        raw.name = to.to_owned();
        if !to.is_ascii() {
            raw.charset = model::CharacterSet::Utf8;
        }
        draft.is_dirty = true;
        Ok(())
    }
}

impl Attributes {
    pub(crate) fn find(&self, name: &str) -> Option<usize> {
        self.list.iter().position(|(a, _)| a.name == name)
    }

    fn place(&self, name: &str) -> Result<usize> {
        self.find(name).ok_or_else(|| Error::not_found("find attribute").with("name", name))
    }
}
