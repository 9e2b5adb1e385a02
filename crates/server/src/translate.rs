//! Tokens that a client gave to objects before they were there, in both directions.

use std::collections::HashMap;
use std::sync::Arc;

use model::datatype::ReferenceKind;
use model::spread::Spread;
use model::{Budget, Charge, Error, Link, LinkTarget, ObjectKind, Reference, ReferenceTarget, Result, Token};
use protocol::{is_queued_token, queued_sequence, queued_token};
use system::sync::Mutex;
use vol::*;

/// The meaning of the client's tokens.
#[derive(Debug, Default)]
struct Names {
    /// The objects that operations made, by their growing numbers; `None` if an operation failed.
    made: Vec<(u64, Option<Token>)>,
    /// The numbers of what was made, of the first `known` of them: most clients never ask.
    given: HashMap<Token, u64, Spread>,
    known: usize,
    charge: Option<Charge>,
}

/// Bytes of one name in both directions.
const NAME_BYTES: u64 = 128;

/// A container whose client names what it makes.
pub(crate) struct Translated {
    inner: Arc<dyn Container>,
    names: Mutex<Names>,
    budget: Budget,
}

impl Translated {
    pub(crate) fn new(inner: Arc<dyn Container>, budget: Budget) -> Self {
        Translated { inner, names: Mutex::default(), budget }
    }

    /// Memory for one more name.
    pub(crate) fn promise(&self) -> Result<()> {
        let names = &mut *self.names.lock();
        let bytes = (names.made.len() as u64 + 1) * NAME_BYTES;
        match &mut names.charge {
            Some(charge) => charge.resize(bytes, "tokens of queued operations"),
            none => {
                *none = Some(self.budget.charge(bytes, "tokens of queued operations")?);
                Ok(())
            }
        }
    }

    /// Notes the object that the operation of this number made, or that it failed.
    pub(crate) fn made(&self, sequence: u64, real: Option<Token>) {
        let names = &mut *self.names.lock();
        // Numbers come in their order, unless a client starts operations on several connections.
        let at = names.made.partition_point(|(number, _)| *number < sequence);
        names.made.insert(at, (sequence, real));
        if at < names.known {
            names.known += 1;
            real.map(|real| names.given.insert(real, sequence));
        }
    }

    /// Returns what a token of the client means.
    pub(crate) fn real(&self, token: Token) -> Result<Token> {
        let Some(sequence) = queued_sequence(token) else { return Ok(token) };
        let names = self.names.lock();
        let found = names.made.binary_search_by_key(&sequence, |(number, _)| *number);
        let failed = || {
            let error = Error::not_found("find object").with("object", token);
            error.with("problem", "it was to be made by an operation that failed, or that never came")
        };
        found.ok().and_then(|at| names.made[at].1).ok_or_else(failed)
    }

    fn given(&self, token: Token) -> Token {
        let names = &mut *self.names.lock();
        for (sequence, real) in &names.made[names.known..] {
            real.map(|real| names.given.insert(real, *sequence));
        }
        names.known = names.made.len();
        names.given.get(&token).map_or(token, |sequence| queued_token(*sequence))
    }

    fn real_place(&self, place: &LinkLocation) -> Result<LinkLocation> {
        Ok(LinkLocation { group: self.real(place.group)?, ..place.clone() })
    }

    fn real_place_if(&self, place: &Option<LinkLocation>) -> Result<Option<LinkLocation>> {
        place.as_ref().map(|place| self.real_place(place)).transpose()
    }

    fn given_link(&self, link: Link) -> Link {
        match link.target {
            LinkTarget::Hard(token) => Link { target: LinkTarget::Hard(self.given(token)), ..link },
            _ => link,
        }
    }

    fn given_attribute(&self, info: AttributeInfo) -> AttributeInfo {
        AttributeInfo { committed: info.committed.map(|token| self.given(token)), ..info }
    }

    fn reference(&self, reference: Reference, name: impl Fn(Token) -> Result<Token>) -> Result<Reference> {
        // Tokens of other files are those of other files.
        if reference.file.is_some() {
            return Ok(reference);
        }
        let target = match reference.target {
            ReferenceTarget::Null => ReferenceTarget::Null,
            ReferenceTarget::Object(token) => ReferenceTarget::Object(name(token)?),
            ReferenceTarget::Region { dataset, selection } => {
                ReferenceTarget::Region { dataset: name(dataset)?, selection }
            }
            ReferenceTarget::Attribute { object, name: attribute } => {
                ReferenceTarget::Attribute { object: name(object)?, name: attribute }
            }
        };
        Ok(Reference { target, ..reference })
    }
}

/// Operations whose first argument is a token and whose answer has none.
macro_rules! by_token {
    ($( fn $name:ident($token:ident $(, $arg:ident: $ty:ty)*) -> $ret:ty; )*) => {
        $( fn $name(&self, $token: Token $(, $arg: $ty)*) -> Result<$ret> {
            self.inner.$name(self.real($token)? $(, $arg)*)
        } )*
    };
}

impl Layer for Translated {
    fn inner(&self) -> &dyn Container {
        &*self.inner
    }

    by_token! {
        fn retain(object) -> ();
        fn release(object) -> ();
        fn object_set_comment(object, comment: Option<&str>) -> ();
        fn object_adjust_references(object, by: i32) -> u32;
        fn group_info(group) -> GroupInfo;
        fn link_delete(group, name: &str) -> ();
        fn attribute_read(object, names: &[&str]) -> Vec<Vec<u8>>;
        fn attribute_write(object, name: &str, data: &[u8]) -> ();
        fn attribute_delete(object, name: &str) -> ();
        fn attribute_rename(object, from: &str, to: &str) -> ();
        fn object_refresh(object) -> ();
        fn dataset_storage(dataset) -> StorageInfo;
        fn stored_blocks(dataset) -> Vec<StoredBlock>;
        fn chunk_cache_set(dataset, bytes: u64) -> ();
        fn dataset_resize(dataset, dims: &[u64]) -> ();
        fn chunk_list(dataset, skip: u64, count_max: u64) -> Page<ChunkInfo>;
        fn chunk_read(dataset, offset: &[u64]) -> (u32, Vec<u8>);
        fn chunk_write(dataset, offset: &[u64], filter_mask: u32, data: &[u8]) -> ();
        fn datatype_get(datatype) -> model::Datatype;
        fn map_info(map) -> MapInfo;
        fn map_put(map, pairs: &[(&[u8], &[u8])]) -> ();
        fn map_get(map, keys: &[&[u8]]) -> Vec<Option<Vec<u8>>>;
        fn map_keys(map, after: Option<&[u8]>, count_max: u64) -> Page<Vec<u8>>;
        fn map_delete(map, key: &[u8]) -> bool;
    }

    fn object_info(&self, object: Token) -> Result<ObjectInfo> {
        let info = self.inner.object_info(self.real(object)?)?;
        Ok(ObjectInfo { token: self.given(info.token), ..info })
    }

    fn object_kinds(&self, objects: &[Token]) -> Result<Vec<ObjectKind>> {
        let real: Vec<Token> = objects.iter().map(|object| self.real(*object)).collect::<Result<_>>()?;
        self.inner.object_kinds(&real)
    }

    fn object_copy(&self, op: &OpObjectCopy) -> Result<Token> {
        let (object, place) = (self.real(op.object)?, self.real_place(&op.place)?);
        self.inner.object_copy(&OpObjectCopy { object, place, ..op.clone() })
    }

    fn group_create(&self, op: &OpGroupCreate) -> Result<Token> {
        if op.place.as_ref().is_none_or(|place| !is_queued_token(place.group)) {
            return self.inner.group_create(op);
        }
        self.inner.group_create(&OpGroupCreate { place: self.real_place_if(&op.place)?, ..op.clone() })
    }

    fn link_create(&self, op: &OpLinkCreate) -> Result<()> {
        let target = match &op.target {
            LinkTarget::Hard(token) => LinkTarget::Hard(self.real(*token)?),
            target => target.clone(),
        };
        self.inner.link_create(&OpLinkCreate { place: self.real_place(&op.place)?, target })
    }

    fn link_get(&self, group: Token, name: &str) -> Result<Option<Link>> {
        let link = self.inner.link_get(self.real(group)?, name)?;
        Ok(link.map(|link| self.given_link(link)))
    }

    fn link_list(&self, group: Token, op: &OpList) -> Result<Page<Link>> {
        let Page { entries, more } = self.inner.link_list(self.real(group)?, op)?;
        Ok(Page { entries: entries.into_iter().map(|link| self.given_link(link)).collect(), more })
    }

    fn link_move(&self, op: &OpLinkMove) -> Result<()> {
        let (from, to) = (self.real(op.from)?, self.real_place(&op.to)?);
        self.inner.link_move(&OpLinkMove { from, to, ..op.clone() })
    }

    fn lookup(&self, op: &OpLookup) -> Result<Lookup> {
        match self.inner.lookup(&OpLookup { from: self.real(op.from)?, ..op.clone() })? {
            Lookup::Object(token) => Ok(Lookup::Object(self.given(token))),
            other => Ok(other),
        }
    }

    fn attribute_create(&self, op: &OpAttributeCreate) -> Result<()> {
        let committed = op.committed.map(|token| self.real(token)).transpose()?;
        let object = self.real(op.object)?;
        self.inner.attribute_create(&OpAttributeCreate { object, committed, ..op.clone() })
    }

    fn attribute_info(&self, object: Token, name: &str) -> Result<Option<AttributeInfo>> {
        let info = self.inner.attribute_info(self.real(object)?, name)?;
        Ok(info.map(|info| self.given_attribute(info)))
    }

    fn attribute_list(&self, object: Token, op: &OpList) -> Result<Page<AttributeInfo>> {
        let Page { entries, more } = self.inner.attribute_list(self.real(object)?, op)?;
        Ok(Page { entries: entries.into_iter().map(|info| self.given_attribute(info)).collect(), more })
    }

    fn dataset_create(&self, op: &OpDatasetCreate) -> Result<Token> {
        let committed = op.committed.map(|token| self.real(token)).transpose()?;
        let place = self.real_place_if(&op.place)?;
        self.inner.dataset_create(&OpDatasetCreate { place, committed, ..op.clone() })
    }

    fn dataset_info(&self, dataset: Token) -> Result<Arc<DatasetInfo>> {
        let info = self.inner.dataset_info(self.real(dataset)?)?;
        match info.committed {
            None => Ok(info),
            Some(token) => {
                Ok(Arc::new(DatasetInfo { committed: Some(self.given(token)), ..(*info).clone() }))
            }
        }
    }

    fn dataset_read(&self, reads: &mut [OpRead<'_>]) -> Result<()> {
        for read in reads.iter_mut() {
            read.dataset = self.real(read.dataset)?;
        }
        self.inner.dataset_read(reads)
    }

    fn dataset_write(&self, writes: &[OpWrite<'_>]) -> Result<()> {
        let real = |write: &OpWrite<'_>| self.real(write.dataset);
        let datasets: Vec<Token> = writes.iter().map(real).collect::<Result<_>>()?;
        let named = writes.iter().zip(datasets);
        let writes: Vec<OpWrite<'_>> = named
            .map(|(write, dataset)| OpWrite { dataset, selection: write.selection, from: write.from })
            .collect();
        self.inner.dataset_write(&writes)
    }

    fn datatype_commit(&self, op: &OpDatatypeCommit) -> Result<Token> {
        self.inner.datatype_commit(&OpDatatypeCommit { place: self.real_place_if(&op.place)?, ..op.clone() })
    }

    fn map_create(&self, op: &OpMapCreate) -> Result<Token> {
        self.inner.map_create(&OpMapCreate { place: self.real_place_if(&op.place)?, ..op.clone() })
    }

    fn reference_get(&self, kind: ReferenceKind, descriptors: &[&[u8]]) -> Result<Vec<Reference>> {
        let references = self.inner.reference_get(kind, descriptors)?;
        references.into_iter().map(|r| self.reference(r, |token| Ok(self.given(token)))).collect()
    }

    fn reference_put(&self, kind: ReferenceKind, references: &[Reference]) -> Result<Vec<Vec<u8>>> {
        let real: Vec<Reference> = references
            .iter()
            .map(|r| self.reference(r.clone(), |token| self.real(token)))
            .collect::<Result<_>>()?;
        self.inner.reference_put(kind, &real)
    }
}
