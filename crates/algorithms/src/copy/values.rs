//! Attributes, and values that hold references.

use std::borrow::Cow;
use std::collections::HashMap;

use model::datatype::ReferenceKind;
use model::heap::Heap;
use model::properties::CreationOrder;
use model::{Dataspace, Datatype, Index, ObjectKind, ObjectPath, Reference, ReferenceTarget, Result, Token};
use system::sync::Mutex;
use vol::{AttributeInfo, Container, Layer, LinkLocation, ObjectInfo, OpAttributeCreate, OpList};

use super::Copier;
use crate::descriptors::DescriptorPlan;

/// Returns whether elements of a type hold references, at any depth.
pub(super) fn has_references(datatype: &Datatype) -> bool {
    datatype.any(&|t| matches!(t, Datatype::Reference(_)))
}

/// A target where references lead to copies.
struct Retargeted<'a> {
    inner: &'a dyn Container,
    copies: &'a HashMap<Token, Token>,
    /// Source and target are one container: what has no copy is still there.
    is_one: bool,
}

impl Layer for Retargeted<'_> {
    fn inner(&self) -> &dyn Container {
        self.inner
    }

    fn reference_put(&self, kind: ReferenceKind, references: &[Reference]) -> Result<Vec<Vec<u8>>> {
        let references: Vec<Reference> = references.iter().map(|r| self.retarget(r)).collect();
        self.inner.reference_put(kind, &references)
    }
}

impl Retargeted<'_> {
    fn retarget(&self, reference: &Reference) -> Reference {
        let Some(old) = reference.token().filter(|_| reference.file.is_none()) else {
            return reference.clone();
        };
        let target = match (self.copies.get(&old), self.is_one) {
            (Some(&new), _) => with_token(&reference.target, new),
            (None, true) => reference.target.clone(),
            (None, false) => ReferenceTarget::Null,
        };
        Reference { target, file: None }
    }
}

fn with_token(target: &ReferenceTarget, to: Token) -> ReferenceTarget {
    match target {
        ReferenceTarget::Null => ReferenceTarget::Null,
        ReferenceTarget::Object(_) => ReferenceTarget::Object(to),
        ReferenceTarget::Region { selection, .. } => {
            ReferenceTarget::Region { dataset: to, selection: selection.clone() }
        }
        ReferenceTarget::Attribute { name, .. } => {
            ReferenceTarget::Attribute { object: to, name: name.clone() }
        }
    }
}

/// A source that notes where references lead.
struct ReferenceRecorder<'a> {
    inner: &'a dyn Container,
    found: &'a Mutex<Vec<Token>>,
}

impl Layer for ReferenceRecorder<'_> {
    fn inner(&self) -> &dyn Container {
        self.inner
    }

    fn reference_get(&self, kind: ReferenceKind, descriptors: &[&[u8]]) -> Result<Vec<Reference>> {
        let references = self.inner.reference_get(kind, descriptors)?;
        let mut found = self.found.lock();
        found.extend(references.iter().filter(|r| r.file.is_none()).filter_map(Reference::token));
        Ok(references)
    }
}

impl Copier<'_> {
    /// Converts elements in the source's file datatype to elements in the target's.
    pub(super) fn convert<'r>(
        &self,
        target: &dyn Container,
        datatype: &Datatype,
        raw: &'r [u8],
    ) -> Result<Cow<'r, [u8]>> {
        if !datatype.has_descriptors() {
            return Ok(Cow::Borrowed(raw));
        }
        let (memory, mut heap) = (datatype.memory_type(), Heap::new());
        let values = DescriptorPlan::new(datatype, &memory).detach(self.source, raw, &mut heap)?;
        let stored = datatype.with_descriptors(&self.target.info()?.descriptors);
        DescriptorPlan::new(&stored, &memory).attach(target, &values, &heap).map(Cow::Owned)
    }

    fn all_attributes(&self, object: &ObjectInfo) -> Result<Vec<AttributeInfo>> {
        let tracked = object.create.attribute_order != CreationOrder::Untracked;
        let index = if tracked { Index::CreationOrder } else { Index::Name };
        let op = OpList { index, count_max: u64::MAX, ..OpList::default() };
        Ok(self.source.attribute_list(object.token, &op)?.entries)
    }

    pub(super) fn attributes(&mut self, object: &ObjectInfo, new: Token, path: &ObjectPath) -> Result<()> {
        let all = self.all_attributes(object)?;
        for info in &all {
            let made = self.make_attribute(object, new, info);
            self.or_lost(path, &format!("attribute {}", info.name), made)?;
        }
        if all.iter().any(|info| has_references(&info.datatype)) {
            self.refers(object.token, new);
        }
        Ok(())
    }

    fn make_attribute(&mut self, object: &ObjectInfo, new: Token, info: &AttributeInfo) -> Result<()> {
        let op = OpAttributeCreate {
            object: new,
            name: info.name.clone(),
            charset: info.charset,
            datatype: info.datatype.clone(),
            committed: self.shared(info.committed)?,
            space: info.space.clone(),
        };
        self.target.attribute_create(&op)?;
        if has_references(&info.datatype) {
            Ok(())
        } else {
            self.attribute_value(object.token, new, info, self.target)
        }
    }

    /// Notes again that values of an object hold references, when an earlier run created its copy.
    pub(super) fn refers_again(&mut self, object: &ObjectInfo, new: Token) -> Result<()> {
        let in_elements = object.kind == ObjectKind::Dataset
            && has_references(&self.source.dataset_info(object.token)?.datatype);
        let in_attributes = !self.context.options.without_attributes
            && self.all_attributes(object)?.iter().any(|info| has_references(&info.datatype));
        if in_elements || in_attributes {
            self.refers(object.token, new);
        }
        Ok(())
    }

    fn attribute_value(
        &self,
        old: Token,
        new: Token,
        info: &AttributeInfo,
        target: &dyn Container,
    ) -> Result<()> {
        if info.space == Dataspace::Null {
            return Ok(());
        }
        let raw = self.source.attribute_read(old, &[&info.name])?.pop().unwrap_or_default();
        target.attribute_write(new, &info.name, &self.convert(target, &info.datatype, &raw)?)
    }

    /// Notes that values of this object are copied last.
    pub(super) fn refers(&mut self, old: Token, new: Token) {
        if self.referring.last() != Some(&(old, new)) {
            self.referring.push((old, new));
        }
    }

    /// Writes the values of an object that hold references, now that copies are known.
    pub(super) fn values_with_references(&self, old: Token, new: Token) -> Result<()> {
        let target = Retargeted { inner: self.target, copies: &self.copies, is_one: self.is_one };
        self.write_referring(old, new, &target)
    }

    fn write_referring(&self, old: Token, new: Token, target: &dyn Container) -> Result<()> {
        let object = self.source.object_info(old)?;
        if !self.context.options.without_attributes {
            for info in self.all_attributes(&object)?.iter().filter(|i| has_references(&i.datatype)) {
                self.attribute_value(old, new, info, target)?;
            }
        }
        if object.kind == ObjectKind::Dataset && has_references(&self.source.dataset_info(old)?.datatype) {
            self.copy_elements(old, new, target, (&ObjectPath::start(""), 0))?;
        }
        Ok(())
    }

    /// Copies what references point to, and what references in those copies point to.
    pub(super) fn copy_referenced(&mut self) -> Result<()> {
        let mut next = 0;
        while let Some(&(old, _)) = self.referring.get(next) {
            next += 1;
            for token in self.referenced_by(old)? {
                if !self.copies.contains_key(&token) && self.source.object_info(token).is_ok() {
                    let place = self.place_of_pointed()?;
                    let path = ObjectPath::start("").join(&place.name);
                    self.object(token, Some(place), &path)?;
                    self.drain()?;
                }
            }
        }
        Ok(())
    }

    /// Objects that only references lead to are linked in the root group, under a name such as libhdf5 gives them. Its
    /// number is no token: copies of one object in two storages, as a mirror makes them, have one name.
    fn place_of_pointed(&self) -> Result<LinkLocation> {
        let number = self.copies.len();
        let mut place = LinkLocation::new(self.target.info()?.root, format!("~obj_pointed_by_{number}"));
        while self.target.link_get(place.group, &place.name)?.is_some() {
            place.name.push('~');
        }
        Ok(place)
    }

    fn referenced_by(&self, old: Token) -> Result<Vec<Token>> {
        let found = Mutex::new(Vec::new());
        let source = ReferenceRecorder { inner: self.source, found: &found };
        let look = |datatype: &Datatype, raw: &[u8]| {
            let memory = datatype.memory_type();
            DescriptorPlan::new(datatype, &memory).detach(&source, raw, &mut Heap::new()).map(|_| ())
        };
        let object = self.source.object_info(old)?;
        if !self.context.options.without_attributes {
            for info in self.all_attributes(&object)?.iter().filter(|i| has_references(&i.datatype)) {
                let raw = self.source.attribute_read(old, &[&info.name])?;
                raw.iter().try_for_each(|raw| look(&info.datatype, raw))?;
            }
        }
        if object.kind == ObjectKind::Dataset && has_references(&self.source.dataset_info(old)?.datatype) {
            self.each_piece(old, 0, &mut |datatype, _, raw| look(datatype, raw))?;
        }
        Ok(found.into_inner())
    }
}
