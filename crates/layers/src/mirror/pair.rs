//! The primary and one target: tokens, places and values of one in terms of the other.

use std::sync::Arc;

use algorithms::transfer::{Elements, from_file_type, to_file_type};
use model::convert::Conversions;
use model::datatype::ReferenceKind;
use model::heap::Heap;
use model::properties::FillValue;
use model::{Datatype, Error, Reference, ReferenceTarget, Result, Selection, Token};
use vol::{Container, Layer, LinkLocation, OpDatasetCreate, OpWrite};

use crate::mirror::targets::Mirror;
use crate::mirror::tokens::{Tokens, walk};

/// Paths from one object to the next that are followed to find one.
const STEPS_MAX: u32 = 64;
/// Links in such a path.
const TRAVERSALS_MAX: u32 = 64;

/// The primary and one target.
pub(crate) struct Pair<'m> {
    pub(crate) mirror: &'m Mirror,
    pub(crate) target: Arc<dyn Container>,
    pub(crate) tokens: Arc<Tokens>,
}

impl Pair<'_> {
    fn primary(&self) -> &dyn Container {
        &*self.mirror.primary
    }

    /// Returns the token of an object in the target.
    pub(crate) fn token(&self, object: Token) -> Result<Token> {
        if let Some(known) = self.tokens.get(object) {
            return Ok(known);
        }
        if let Some(found) = self.follow(object, STEPS_MAX) {
            return Ok(found);
        }
        let roots = (self.mirror.root, self.target.info()?.root);
        self.learn(roots)?;
        let missing = || Error::not_found("find object of the primary in the target").with("token", object);
        self.tokens.get(object).ok_or_else(missing)
    }

    /// Looks for an object where it was found in the primary.
    fn follow(&self, object: Token, steps: u32) -> Option<Token> {
        if object == self.mirror.root {
            return self.target.info().ok().map(|info| info.root);
        }
        if let Some(known) = self.tokens.get(object) {
            return Some(known);
        }
        let (group, path) = self.mirror.found.get(object)?;
        let group = self.follow(group, steps.checked_sub(1)?)?;
        let token = vol::path::token(&*self.target, group, &path, TRAVERSALS_MAX).ok()?;
        self.tokens.set(object, token);
        Some(token)
    }

    /// Learns the tokens of all objects under two groups that hold the same.
    pub(crate) fn learn(&self, (group, same): (Token, Token)) -> Result<()> {
        let meet = &mut |object, same| self.tokens.set(object, same);
        walk((self.primary(), group), (&*self.target, same), meet)
    }

    pub(crate) fn place(&self, place: &LinkLocation) -> Result<LinkLocation> {
        Ok(LinkLocation { group: self.token(place.group)?, ..place.clone() })
    }

    pub(crate) fn place_or_none(&self, place: Option<&LinkLocation>) -> Result<Option<LinkLocation>> {
        place.map(|place| self.place(place)).transpose()
    }

    pub(crate) fn token_or_none(&self, object: Option<Token>) -> Result<Option<Token>> {
        object.map(|object| self.token(object)).transpose()
    }

    fn retargeted(&self) -> Retargeted<'_> {
        Retargeted { pair: self }
    }

    /// Returns a value in the primary's file datatype, in the memory datatype.
    fn detached(&self, datatype: &Datatype, raw: &[u8], heap: &mut Heap) -> Result<(Datatype, Vec<u8>)> {
        let memory = datatype.memory_type();
        let values = from_file_type(self.primary(), datatype, raw, &memory, &Conversions::default(), heap)?;
        Ok((memory, values))
    }

    /// Returns a value in the primary's file datatype, in the target's.
    pub(crate) fn value(&self, datatype: &Datatype, raw: &[u8]) -> Result<Vec<u8>> {
        if !datatype.has_descriptors() {
            return Ok(raw.to_vec());
        }
        let mut heap = Heap::new();
        let (memory, values) = self.detached(datatype, raw, &mut heap)?;
        let stored = datatype.with_descriptors(&self.target.info()?.descriptors);
        let target = self.retargeted();
        to_file_type(&target, &memory, &values, &stored, &Conversions::default(), &mut heap)
    }

    /// Writes elements that are in the primary's file datatype.
    pub(crate) fn write(&self, write: &OpWrite<'_>) -> Result<()> {
        let dataset = self.token(write.dataset)?;
        let (selection, from) = (write.selection, write.from);
        let info = self.primary().dataset_info(write.dataset)?;
        if !info.datatype.has_descriptors() {
            return self.target.dataset_write(&[OpWrite { dataset, selection, from }]);
        }
        let mut heap = Heap::new();
        let (memory, values) = self.detached(&info.datatype, from, &mut heap)?;
        let there = self.target.dataset_info(dataset)?;
        let (container, conversions) = (&self.retargeted(), &Conversions::default());
        let (file_type, space) = (&there.datatype, &there.space);
        let transfer = vol::Transfer::Independent;
        Elements { container, dataset, file_type, space, selection, conversions, transfer }
            .write(&memory, &values, &mut heap)
    }

    /// Copies elements that are in the primary already.
    pub(crate) fn copy_elements(&self, dataset: Token, selection: &Selection) -> Result<()> {
        let info = self.primary().dataset_info(dataset)?;
        let count = selection.element_count(info.space.dims())?;
        let bytes =
            count.checked_mul(info.datatype.size().into()).and_then(|bytes| usize::try_from(bytes).ok());
        let mut elements = vec![0; bytes.ok_or_else(|| Error::limit("copy elements").with("count", count))?];
        let _pin = vol::Pin::of(self.primary(), &info.datatype)?;
        let read = vol::OpRead { dataset, selection, into: &mut elements };
        self.primary().dataset_read(&mut [read])?;
        self.write(&OpWrite { dataset, selection, from: &elements })
    }

    /// Returns what makes the same dataset in the target.
    pub(crate) fn dataset(&self, op: &OpDatasetCreate) -> Result<OpDatasetCreate> {
        let mut op = op.clone();
        op.place = self.place_or_none(op.place.as_ref())?;
        op.committed = self.token_or_none(op.committed)?;
        if let FillValue::Value(value) = &op.create.fill.value {
            let stored = op.datatype.with_descriptors(&self.primary().info()?.descriptors);
            op.create.fill.value = FillValue::Value(self.value(&stored, value)?);
        }
        Ok(op)
    }
}

/// A target where references of the primary lead to its own objects.
struct Retargeted<'p> {
    pair: &'p Pair<'p>,
}

impl Layer for Retargeted<'_> {
    fn inner(&self) -> &dyn Container {
        &*self.pair.target
    }

    fn reference_put(&self, kind: ReferenceKind, references: &[Reference]) -> Result<Vec<Vec<u8>>> {
        let own: Vec<Reference> = references.iter().map(|reference| self.retarget(reference)).collect();
        self.pair.target.reference_put(kind, &own)
    }
}

impl Retargeted<'_> {
    fn retarget(&self, reference: &Reference) -> Reference {
        let Some(old) = reference.token().filter(|_| reference.file.is_none()) else {
            return reference.clone();
        };
        // An object that is gone has no counterpart: such a reference leads nowhere in the target either.
        let target = self.pair.token(old).map_or(ReferenceTarget::Null, |new| match &reference.target {
            ReferenceTarget::Region { selection, .. } => {
                ReferenceTarget::Region { dataset: new, selection: selection.clone() }
            }
            ReferenceTarget::Attribute { name, .. } => {
                ReferenceTarget::Attribute { object: new, name: name.clone() }
            }
            _ => ReferenceTarget::Object(new),
        });
        Reference { target, file: None }
    }
}
