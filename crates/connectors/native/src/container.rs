//! The contract's operations on an open file.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use model::datatype::{ReferenceKind, SlotSizes};
use model::{Context, Datatype, Error, Index, Link, Order, Reference, Result, Token};
use vol::{
    AttributeInfo, Blobs, Capability, ChunkInfo, Container, ContainerInfo, DatasetInfo, GroupInfo,
    ObjectInfo, OpList, OpRead, Page, StorageInfo, Times,
};

use crate::chunk;
use crate::file::File;
use crate::format::Address;
use crate::format::global_heap::HeapId;
use crate::format::header::kind;
use crate::format::layout::{Chunked, Layout};
use crate::listing;
use crate::object::header::Header;
use crate::object::{attribute, dataset, group, reference};

/// What this connector can do with a file.
pub(crate) const CAPABILITY: Capability =
    Capability { write: false, maps: false, object_copy: false, ..Capability::ALL };

/// An open HDF5 file.
#[derive(Debug)]
pub struct NativeContainer {
    file: Arc<File>,
    info: Arc<ContainerInfo>,
    listing: Mutex<Option<Listing>>,
}

/// The links of the group that was listed last, sorted: pages of one listing come one after another.
#[derive(Debug, Clone)]
struct Listing {
    group: Token,
    op: (Index, Order),
    links: Arc<Vec<Link>>,
}

impl NativeContainer {
    pub(crate) fn new(file: Arc<File>) -> Result<Arc<Self>> {
        let info = Arc::new(describe(&file)?);
        Ok(Arc::new(NativeContainer { file, info, listing: Mutex::new(None) }))
    }

    fn header(&self, token: Token) -> Result<Arc<Header>> {
        self.file.header_of(token)
    }

    fn chunked(&self, token: Token) -> Result<(Arc<dataset::Dataset>, Chunked)> {
        let dataset = self.file.dataset(token)?;
        match &dataset.layout {
            Layout::Chunked(layout) => {
                let layout = layout.clone();
                Ok((dataset, layout))
            }
            _ => Err(Error::invalid("list chunks").with("problem", "dataset is not chunked")),
        }
    }

    fn last_listing(&self) -> MutexGuard<'_, Option<Listing>> {
        self.listing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn links(&self, group: Token, op: &OpList) -> Result<Arc<Vec<Link>>> {
        let key = (op.index, op.order);
        if let Some(last) = &*self.last_listing()
            && last.group == group
            && last.op == key
        {
            return Ok(last.links.clone());
        }
        let mut links =
            group::links(&self.file, &*self.header(group)?).during_at("list links", group.to_u64())?;
        listing::sort(&mut links, op)?;
        let links = Arc::new(links);
        let listing = Listing { group, op: key, links: links.clone() };
        *self.last_listing() = Some(listing);
        Ok(links)
    }
}

fn describe(file: &File) -> Result<ContainerInfo> {
    let root = file.store.superblock.root;
    let header = file.header(root).during("open root group")?;
    let create = group::creation(file, &header).during("open root group")?;
    let sizes = file.store.sizes();
    let superblock = &file.store.superblock;
    Ok(ContainerInfo {
        connector: "native".to_owned(),
        capability: CAPABILITY,
        writable: false,
        root: Token::from_u64(root.0),
        slots: SlotSizes::native(sizes.offset as u32),
        create: file.creation(create),
        storage_bytes: Some(file.store.file_bytes()?),
        versions: vec![
            ("superblock", u32::from(superblock.version)),
            ("free list", 0),
            ("symbol table", 0),
            ("object header", 0),
        ],
        warnings: file.warnings.clone(),
    })
}

fn times(header: &Header) -> Option<Times> {
    if let Some([access, modification, change, birth]) = header.prefix.times {
        return Some(Times { access, modification, change, birth });
    }
    let message = header.message(kind::TIME)?;
    let change = u32::from_le_bytes(*message.body.get(4..8)?.first_chunk()?);
    // libhdf5 tells this one time as the change of metadata, and no other.
    Some(Times { access: 0, modification: 0, change, birth: 0 })
}

fn comment(header: &Header) -> Option<String> {
    let body = &header.message(kind::COMMENT)?.body;
    let end = body.iter().position(|&b| b == 0).unwrap_or(body.len());
    Some(model::text::from_bytes(&body[..end]))
}

impl Container for NativeContainer {
    fn info(&self) -> Result<Arc<ContainerInfo>> {
        Ok(self.info.clone())
    }

    fn commit(&self, _durability: vol::Durability) -> Result<()> {
        Ok(())
    }

    fn close(&self) -> Result<()> {
        Ok(())
    }

    fn retain(&self, _object: Token) -> Result<()> {
        Ok(())
    }

    fn release(&self, _object: Token) -> Result<()> {
        Ok(())
    }

    fn object_info(&self, object: Token) -> Result<ObjectInfo> {
        let header = self.header(object)?;
        Ok(ObjectInfo {
            token: object,
            kind: header.object_kind()?,
            references: header.references()?,
            attributes: attribute::count(&self.file, &header)?,
            times: times(&header),
            create: attribute::object_create(&self.file, &header)?,
            comment: comment(&header),
        })
    }

    fn group_info(&self, group: Token) -> Result<GroupInfo> {
        group::info(&self.file, &*self.header(group)?)
    }

    fn link_get(&self, group: Token, name: &str) -> Result<Option<Link>> {
        group::find(&self.file, &*self.header(group)?, name)
    }

    fn link_list(&self, group: Token, op: &OpList) -> Result<Page<Link>> {
        Ok(listing::page(&self.links(group, op)?, op))
    }

    fn attribute_info(&self, object: Token, name: &str) -> Result<Option<AttributeInfo>> {
        let found = attribute::find(&self.file, &*self.header(object)?, name)?;
        Ok(found.map(|a| a.info))
    }

    fn attribute_list(&self, object: Token, op: &OpList) -> Result<Page<AttributeInfo>> {
        let all = attribute::all(&self.file, &*self.header(object)?)?;
        let mut infos: Vec<AttributeInfo> = all.into_iter().map(|a| a.info).collect();
        listing::sort(&mut infos, op)?;
        Ok(listing::page(&infos, op))
    }

    fn attribute_read(&self, object: Token, names: &[&str]) -> Result<Vec<Vec<u8>>> {
        let header = self.header(object)?;
        let one = |name: &&str| {
            let found = attribute::find(&self.file, &header, name)?;
            found.map(|a| a.data).ok_or_else(|| Error::not_found("read attribute").with("name", name))
        };
        names.iter().map(one).collect()
    }

    fn dataset_info(&self, dataset: Token) -> Result<Arc<DatasetInfo>> {
        Ok(self.file.dataset(dataset)?.info.clone())
    }

    fn dataset_storage(&self, dataset: Token) -> Result<StorageInfo> {
        chunk::storage(&self.file, &*self.file.dataset(dataset)?)
    }

    /// `chunk index address`: a dataset's token; answers the address (8 bytes, little-endian) or nothing.
    fn optional(&self, operation: &str, arguments: &[u8]) -> Result<Vec<u8>> {
        let unknown = || Error::unsupported("optional operation").with("name", operation);
        let token = arguments.try_into().map(Token).map_err(|_| unknown())?;
        match operation {
            "chunk index address" => {
                let address = self.chunked(token)?.1.address;
                Ok(address.map_or_else(Vec::new, |at| at.0.to_le_bytes().to_vec()))
            }
            _ => Err(unknown()),
        }
    }

    fn dataset_read(&self, reads: &mut [OpRead<'_>]) -> Result<()> {
        for op in reads {
            let dataset = self.file.dataset(op.dataset)?;
            chunk::read(&self.file, &dataset, op.selection, op.into)
                .during_at("read dataset", op.dataset.to_u64())?;
        }
        Ok(())
    }

    fn chunk_list(&self, dataset: Token, skip: u64, count_max: u64) -> Result<Page<ChunkInfo>> {
        let (dataset, layout) = self.chunked(dataset)?;
        chunk::list(&self.file, &dataset, &layout, skip, count_max)
    }

    fn chunk_read(&self, dataset: Token, offset: &[u64]) -> Result<(u32, Vec<u8>)> {
        let (dataset, layout) = self.chunked(dataset)?;
        chunk::read_raw(&self.file, &dataset, &layout, offset)
    }

    fn datatype_get(&self, datatype: Token) -> Result<Datatype> {
        Ok(dataset::datatype(&self.file, &*self.header(datatype)?)?.0)
    }

    fn blob_get(&self, ids: &[&[u8]], out: &mut Blobs) -> Result<()> {
        let sizes = self.file.store.sizes();
        let mut last: Option<(Address, Arc<crate::object::global_heap::Collection>)> = None;
        for id in ids {
            let id = HeapId::decode(&mut model::bytes::Cursor::new(id, "heap ID"), sizes)?;
            let Some(id) = id else {
                out.push(&[]);
                continue;
            };
            if last.as_ref().is_none_or(|(address, _)| *address != id.collection) {
                last = Some((id.collection, self.file.collection(id.collection)?));
            }
            if let Some((_, collection)) = &last {
                out.push(collection.object(id)?);
            }
        }
        Ok(())
    }

    fn reference_get(&self, kind: ReferenceKind, slots: &[&[u8]]) -> Result<Vec<Reference>> {
        slots.iter().map(|slot| reference::decode(&self.file, kind, slot)).collect()
    }
}
