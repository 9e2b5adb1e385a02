//! The layer: each operation with its rules.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use model::datatype::ReferenceKind;
use model::{Error, LinkTarget, ObjectKind, Reference, Result, Token};
use system::sync::{Mutex, MutexGuard};
use vol::*;

use crate::check::lifetimes::{KnownTokens, TokenLifetimes};
use crate::check::{answers, arguments, caller, container};

/// Puts checks over containers.
#[derive(Debug, Clone, Copy, Default)]
pub struct CheckLayer;

impl LayerFactory for CheckLayer {
    fn info(&self) -> ConnectorInfo {
        ConnectorInfo {
            name: "check",
            value: 523,
            version: 1,
            capability: Capability::default(),
            about: "holds every call and every answer to the contract",
        }
    }

    fn check(&self, op: &WrapCheck<'_>) -> Result<()> {
        is_strict(op.parameters).map(drop)
    }

    fn wrap(&self, op: &Wrap<'_>) -> Result<Arc<dyn Container>> {
        let is_strict = is_strict(op.parameters)?;
        let known = Arc::new(KnownTokens::new(op.inner.clone()));
        let (inner, handles) = (op.inner.clone(), Mutex::default());
        let check = Check { inner, known: known.clone(), first: OnceLock::new(), handles, is_strict };
        Ok(Arc::new(Observed::new(Arc::new(check), TokenLifetimes::new(known))))
    }
}

/// Returns whether everything must be released before the container is closed.
fn is_strict(parameters: &Parameters) -> Result<bool> {
    parameters.only(&["handles"])?;
    match parameters.get("handles").unwrap_or("lenient") {
        "strict" => Ok(true),
        "lenient" => Ok(false),
        other => Err(Error::invalid("read parameter").with("handles", other)),
    }
}

struct Check {
    inner: Arc<dyn Container>,
    known: Arc<KnownTokens>,
    /// The first info of the container.
    first: OnceLock<Arc<ContainerInfo>>,
    /// How often objects are retained.
    handles: Mutex<HashMap<Token, u64>>,
    is_strict: bool,
}

impl Check {
    fn handles(&self) -> MutexGuard<'_, HashMap<Token, u64>> {
        self.handles.lock()
    }

    /// Returns the first info of the container.
    fn first_info(&self) -> Result<Arc<ContainerInfo>> {
        match self.first.get() {
            Some(info) => Ok(info.clone()),
            None => Layer::info(self),
        }
    }

    fn place(&self, operation: Operation, place: Option<&LinkLocation>) -> Result<()> {
        let Some(place) = place else { return Ok(()) };
        self.known.check(operation, place.group)?;
        arguments::link_name(operation, &place.name)
    }

    fn committed(&self, operation: Operation, committed: Option<Token>) -> Result<()> {
        committed.map_or(Ok(()), |token| self.known.check(operation, token))
    }

    fn keys<'k>(
        &self,
        operation: Operation,
        map: Token,
        keys: impl Iterator<Item = &'k [u8]>,
    ) -> Result<MapInfo> {
        let info = self.inner.map_info(map)?;
        keys.into_iter().try_for_each(|key| arguments::map_key(operation, &info, key))?;
        Ok(info)
    }
}

impl Layer for Check {
    fn inner(&self) -> &dyn Container {
        &*self.inner
    }

    fn info(&self) -> Result<Arc<ContainerInfo>> {
        let now = self.inner.info()?;
        answers::same_info(self.first.get_or_init(|| now.clone()), &now)?;
        Ok(now)
    }

    fn close(&self) -> Result<()> {
        let kept = self.handles().iter().next().map(|(token, times)| format!("{token} {times} times"));
        let rule = "what was retained is released before closing";
        let value = kept.as_deref().unwrap_or_default();
        caller(Operation::close, rule, !self.is_strict || kept.is_none(), value)?;
        self.inner.close()
    }

    fn retain(&self, object: Token) -> Result<()> {
        self.inner.retain(object)?;
        *self.handles().entry(object).or_insert(0) += 1;
        Ok(())
    }

    fn release(&self, object: Token) -> Result<()> {
        let is_retained = self.handles().contains_key(&object);
        caller(Operation::release, "only what is retained is released", is_retained, object)?;
        self.inner.release(object)?;
        let mut handles = self.handles();
        if let Some(times) = handles.get_mut(&object) {
            *times -= 1;
            if *times == 0 {
                handles.remove(&object);
            }
        }
        Ok(())
    }

    fn object_info(&self, object: Token) -> Result<ObjectInfo> {
        let info = self.inner.object_info(object)?;
        let rule = "an object has the token it was asked for by";
        container(Operation::object_info, rule, info.token == object, info.token)?;
        Ok(info)
    }

    fn object_kinds(&self, objects: &[Token]) -> Result<Vec<ObjectKind>> {
        objects.iter().try_for_each(|object| self.known.check(Operation::object_kinds, *object))?;
        let kinds = self.inner.object_kinds(objects)?;
        answers::count(Operation::object_kinds, objects.len(), kinds.len())?;
        Ok(kinds)
    }

    fn object_copy(&self, op: &OpObjectCopy) -> Result<Token> {
        self.place(Operation::object_copy, Some(&op.place))?;
        self.inner.object_copy(op)
    }

    fn group_create(&self, op: &OpGroupCreate) -> Result<Token> {
        self.place(Operation::group_create, op.place.as_ref())?;
        self.inner.group_create(op)
    }

    fn link_create(&self, op: &OpLinkCreate) -> Result<()> {
        self.place(Operation::link_create, Some(&op.place))?;
        if let LinkTarget::Hard(token) = op.target {
            self.known.check(Operation::link_create, token)?;
        }
        self.inner.link_create(op)
    }

    fn link_get(&self, group: Token, name: &str) -> Result<Option<model::Link>> {
        let link = self.inner.link_get(group, name)?;
        let other = link.as_ref().map(|link| &link.name).filter(|found| *found != name);
        let value = other.map_or("", String::as_str);
        container(Operation::link_get, "a link has the name it was asked for by", other.is_none(), value)?;
        Ok(link)
    }

    fn link_list(&self, group: Token, op: &OpList) -> Result<Page<model::Link>> {
        let page = self.inner.link_list(group, op)?;
        answers::listing(Operation::link_list, &page, op)?;
        Ok(page)
    }

    fn link_move(&self, op: &OpLinkMove) -> Result<()> {
        self.place(Operation::link_move, Some(&op.to))?;
        self.inner.link_move(op)
    }

    fn attribute_create(&self, op: &OpAttributeCreate) -> Result<()> {
        arguments::attribute_name(Operation::attribute_create, &op.name)?;
        self.committed(Operation::attribute_create, op.committed)?;
        self.inner.attribute_create(op)
    }

    fn attribute_list(&self, object: Token, op: &OpList) -> Result<Page<AttributeInfo>> {
        let page = self.inner.attribute_list(object, op)?;
        answers::listing(Operation::attribute_list, &page, op)?;
        Ok(page)
    }

    fn attribute_read(&self, object: Token, names: &[&str]) -> Result<Vec<Vec<u8>>> {
        let values = self.inner.attribute_read(object, names)?;
        answers::count(Operation::attribute_read, names.len(), values.len())?;
        for (name, value) in names.iter().zip(&values) {
            if let Some(info) = self.inner.attribute_info(object, name)? {
                let wanted = arguments::space_bytes(Operation::attribute_read, &info.space, &info.datatype)?;
                let rule = "a value has the bytes of its type and extent";
                container(Operation::attribute_read, rule, wanted == value.len() as u64, value.len())?;
            }
        }
        Ok(values)
    }

    fn attribute_write(&self, object: Token, name: &str, data: &[u8]) -> Result<()> {
        if let Some(info) = self.inner.attribute_info(object, name)? {
            let wanted = arguments::space_bytes(Operation::attribute_write, &info.space, &info.datatype)?;
            let rule = "a value has the bytes of its type and extent";
            arguments::length(Operation::attribute_write, rule, wanted, data.len())?;
        }
        self.inner.attribute_write(object, name, data)
    }

    fn attribute_rename(&self, object: Token, from: &str, to: &str) -> Result<()> {
        arguments::attribute_name(Operation::attribute_rename, to)?;
        self.inner.attribute_rename(object, from, to)
    }

    fn dataset_create(&self, op: &OpDatasetCreate) -> Result<Token> {
        self.place(Operation::dataset_create, op.place.as_ref())?;
        self.committed(Operation::dataset_create, op.committed)?;
        arguments::fill_value(op, &*self.first_info()?)?;
        self.inner.dataset_create(op)
    }

    fn dataset_read(&self, reads: &mut [OpRead<'_>]) -> Result<()> {
        for read in reads.iter() {
            self.known.check(Operation::dataset_read, read.dataset)?;
            let info = self.inner.dataset_info(read.dataset)?;
            arguments::transfer(Operation::dataset_read, &info, read.selection, read.into.len())?;
        }
        self.inner.dataset_read(reads)
    }

    fn dataset_write(&self, writes: &[OpWrite<'_>]) -> Result<()> {
        for write in writes {
            self.known.check(Operation::dataset_write, write.dataset)?;
            let info = self.inner.dataset_info(write.dataset)?;
            arguments::transfer(Operation::dataset_write, &info, write.selection, write.from.len())?;
        }
        self.inner.dataset_write(writes)
    }

    fn dataset_resize(&self, dataset: Token, dims: &[u64]) -> Result<()> {
        let rank = self.inner.dataset_info(dataset)?.space.rank();
        let rule = "the rank of a dataset does not change";
        caller(
            Operation::dataset_resize,
            rule,
            dims.len() == rank,
            format!("{} instead of {rank}", dims.len()),
        )?;
        self.inner.dataset_resize(dataset, dims)
    }

    fn chunk_list(&self, dataset: Token, skip: u64, count_max: u64) -> Result<Page<ChunkInfo>> {
        let page = self.inner.chunk_list(dataset, skip, count_max)?;
        answers::page(Operation::chunk_list, &page, count_max)?;
        Ok(page)
    }

    fn chunk_read(&self, dataset: Token, offset: &[u64]) -> Result<(u32, Vec<u8>)> {
        let info = self.inner.dataset_info(dataset)?;
        arguments::chunk_offset(Operation::chunk_read, &info, offset)?;
        self.inner.chunk_read(dataset, offset)
    }

    fn chunk_write(&self, dataset: Token, offset: &[u64], filter_mask: u32, data: &[u8]) -> Result<()> {
        let info = self.inner.dataset_info(dataset)?;
        arguments::chunk_offset(Operation::chunk_write, &info, offset)?;
        self.inner.chunk_write(dataset, offset, filter_mask, data)
    }

    fn datatype_commit(&self, op: &OpDatatypeCommit) -> Result<Token> {
        self.place(Operation::datatype_commit, op.place.as_ref())?;
        self.inner.datatype_commit(op)
    }

    fn map_create(&self, op: &OpMapCreate) -> Result<Token> {
        self.place(Operation::map_create, op.place.as_ref())?;
        self.inner.map_create(op)
    }

    fn map_put(&self, map: Token, pairs: &[(&[u8], &[u8])]) -> Result<()> {
        let info = self.keys(Operation::map_put, map, pairs.iter().map(|(key, _)| *key))?;
        for (_, value) in pairs {
            let rule = "a value has the bytes of its type";
            arguments::length(Operation::map_put, rule, info.value.size().into(), value.len())?;
        }
        self.inner.map_put(map, pairs)
    }

    fn map_get(&self, map: Token, keys: &[&[u8]]) -> Result<Vec<Option<Vec<u8>>>> {
        let info = self.keys(Operation::map_get, map, keys.iter().copied())?;
        let values = self.inner.map_get(map, keys)?;
        answers::count(Operation::map_get, keys.len(), values.len())?;
        let wrong = values.iter().flatten().find(|value| value.len() as u64 != u64::from(info.value.size()));
        let (rule, bytes) = ("a value has the bytes of its type", wrong.map_or(0, Vec::len));
        container(Operation::map_get, rule, wrong.is_none(), bytes)?;
        Ok(values)
    }

    fn map_keys(&self, map: Token, after: Option<&[u8]>, count_max: u64) -> Result<Page<Vec<u8>>> {
        let page = self.inner.map_keys(map, after, count_max)?;
        answers::page(Operation::map_keys, &page, count_max)?;
        let keys: Vec<&[u8]> = after.into_iter().chain(page.entries.iter().map(Vec::as_slice)).collect();
        let rule = "keys come after the one that was given, in the order of their bytes";
        let is_right = keys.windows(2).all(|pair| pair[0] < pair[1]);
        container(Operation::map_keys, rule, is_right, page.entries.len())?;
        Ok(page)
    }

    fn map_delete(&self, map: Token, key: &[u8]) -> Result<bool> {
        self.keys(Operation::map_delete, map, std::iter::once(key))?;
        self.inner.map_delete(map, key)
    }

    fn blob_put(&self, values: &[&[u8]]) -> Result<Vec<u8>> {
        let ids = self.inner.blob_put(values)?;
        let wanted = arguments::blob_id_bytes(&*self.first_info()?).saturating_mul(values.len());
        let rule = "identities have the bytes that info() promises";
        container(Operation::blob_put, rule, ids.len() == wanted, ids.len())?;
        Ok(ids)
    }

    fn blob_get(&self, ids: &[&[u8]], out: &mut Blobs) -> Result<()> {
        arguments::identities(Operation::blob_get, ids, &*self.first_info()?)?;
        let before = out.len();
        self.inner.blob_get(ids, out)?;
        answers::count(Operation::blob_get, ids.len(), out.len().saturating_sub(before))
    }

    fn blob_delete(&self, ids: &[&[u8]]) -> Result<()> {
        arguments::identities(Operation::blob_delete, ids, &*self.first_info()?)?;
        self.inner.blob_delete(ids)
    }

    fn reference_get(&self, kind: ReferenceKind, descriptors: &[&[u8]]) -> Result<Vec<Reference>> {
        let references = self.inner.reference_get(kind, descriptors)?;
        answers::count(Operation::reference_get, descriptors.len(), references.len())?;
        Ok(references)
    }

    fn reference_put(&self, kind: ReferenceKind, references: &[Reference]) -> Result<Vec<Vec<u8>>> {
        let descriptors = self.inner.reference_put(kind, references)?;
        answers::count(Operation::reference_put, references.len(), descriptors.len())?;
        let wanted = self.first_info()?.descriptors.of_reference(kind) as usize;
        let wrong = descriptors.iter().map(Vec::len).find(|len| *len != wanted);
        let rule = "descriptors have the bytes that info() promises";
        container(Operation::reference_put, rule, wrong.is_none(), wrong.unwrap_or(0))?;
        Ok(descriptors)
    }
}
