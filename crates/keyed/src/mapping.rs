//! The traits that a mapping of HDF5 objects to keys of a store implements.
//!
//! A mapping decides under which keys, and in which bytes, everything is stored. It knows neither handles nor caches nor
//! reference counting as such: those are the business of [`Handle`], which calls the mapping.

use std::fmt::{Debug, Display};
use std::hash::Hash;
use std::ops::Range;
use std::sync::Arc;

use model::datatype::DescriptorSizes;
use model::properties::{DatasetCreate, GroupCreate};
use model::{CharacterSet, Dataspace, Datatype, Error, Limits, Link, LinkTarget, ObjectKind, Result, Token};
use vol::{Blobs, LinkLocation};

use crate::storage_check::{Findings, ReachableObjects};
use crate::{
    AttributeHeader, Body, ChunkRead, ChunkWrite, Dataset, Handle, ObjectHeader, PAGE, StoredChunk, after,
    descriptors,
};

/// The ID of a blob, as it stands in elements.
pub trait BlobId:
    Copy + Eq + Ord + Hash + Debug + Send + Sync + AsRef<[u8]> + for<'a> TryFrom<&'a [u8]> + 'static
{
}

impl<const N: usize> BlobId for [u8; N] {}

/// The IDs of objects and blobs.
pub trait Identities: Debug + Send + Sync + Sized + 'static {
    /// The ID of an object.
    type Id: Copy + Eq + Ord + Hash + Debug + Display + Send + Sync + 'static;
    /// The ID of a blob.
    type BlobId: BlobId;

    /// The root group.
    const ROOT: Self::Id;
    /// Sizes of variable-length values and references in elements: a length, and the ID of a blob.
    const DESCRIPTOR_SIZES: DescriptorSizes = descriptors::descriptor_sizes(size_of::<Self::BlobId>() as u32);

    /// Returns the token of an object.
    fn token(id: Self::Id) -> Token;

    /// Returns the ID of the object that `token` stands for. The object need not exist.
    ///
    /// # Errors
    /// Returns `NotFound` if no object of this mapping can have the token.
    fn id(token: Token) -> Result<Self::Id>;

    /// Returns a number that most objects do not share, to choose a lock by.
    fn number(id: Self::Id) -> u64;

    /// Returns the error for an object that does not exist.
    fn missing(id: Self::Id) -> Error {
        missing_token(Self::token(id))
    }

    /// Decodes a stored datatype.
    ///
    /// # Errors
    /// Returns `Corrupt` if the bytes are no datatype, or one whose variable-length values have another size than
    /// [`Identities::DESCRIPTOR_SIZES`] says.
    fn decode_datatype(bytes: &[u8], limits: &Limits) -> Result<Datatype> {
        descriptors::decode_type(bytes, &Self::DESCRIPTOR_SIZES, limits)
    }
}

/// Returns the error for a token that stands for no object.
pub fn missing_token(token: Token) -> Error {
    Error::not_found("find object").with("token", token)
}

/// Object headers, reference counts and comments.
pub trait Objects: Identities {
    /// Where the parts of an object are stored, if its ID does not say so.
    type Location: Copy + Debug + Send + Sync;
    /// Where an attribute is stored, if its object and name do not say so.
    type AttributeLocation: Clone + Debug + Send + Sync;
    /// Changes that belong to one operation. A store that changes several objects at once collects them here; for
    /// others it is empty, and each change is made when it is requested. The caller requests changes in an order that
    /// leaves nothing but unreachable objects and counts that are too high if the process ends in between.
    type Changes: Default + Debug;

    /// The connector's name.
    const NAME: &'static str;
    /// The version of the layout that is written.
    const VERSION: u32;

    /// Returns whether other processes may change the container at the same time.
    fn is_concurrent(&self) -> bool {
        false
    }

    /// Makes the collected changes, all or none.
    fn apply(&self, changes: Self::Changes, operation: &str) -> Result<()>;

    /// Makes all changes durable and, if the container is shared with other processes, sees theirs.
    fn flush(&self) -> Result<()>;

    /// From now on reads see what other processes committed before this call.
    fn refresh(&self) -> Result<()> {
        Ok(())
    }

    /// Prepares the last flush of a container that is closed, for example by returning reserved numbers.
    fn before_close(&self) -> Result<()> {
        Ok(())
    }

    /// Reads the header of an object.
    ///
    /// # Errors
    /// Returns `NotFound` if there is no such object, and `Corrupt` if its header cannot be decoded.
    fn read_header(&self, id: Self::Id, limits: &Limits) -> Result<ObjectHeader<Self>>;

    /// Returns the kinds of objects.
    ///
    /// # Errors
    /// Returns `NotFound` if one of them does not exist.
    fn kinds(&self, ids: &[Self::Id]) -> Result<Vec<ObjectKind>>;

    /// Returns the ID and location of a new object, which is not stored yet. What the ID says of its creation properties is set
    /// in `body`.
    ///
    /// # Errors
    /// Returns `Invalid` if the storage has no such object class.
    fn new_object(&self, body: &mut Body) -> Result<(Self::Id, Self::Location)>;

    /// Changes the creation properties of a new dataset to what the mapping can store of them.
    fn adapt_dataset(&self, create: &mut DatasetCreate, space: &Dataspace, datatype: &Datatype) {
        let _ = (create, space, datatype);
    }

    /// Returns the shape of chunks in which a dataset without chunked layout is stored.
    fn automatic_chunks(&self, space: &Dataspace, datatype: &Datatype) -> Vec<u64>;

    /// Stores a new object with its reference count.
    fn put_object(
        &self,
        changes: &mut Self::Changes,
        header: &ObjectHeader<Self>,
        references: u64,
    ) -> Result<()>;

    /// Removes an object with all its keys. `attributes` are the attributes that it has.
    fn remove_object(
        &self,
        changes: &mut Self::Changes,
        header: &ObjectHeader<Self>,
        attributes: &[Arc<AttributeHeader<Self>>],
    ) -> Result<()>;

    /// Stores the new extent of a dataset, whose chunks were cut to it. Returns whether it was stored: not if another
    /// process changed the extent since the header was read.
    fn put_extent(&self, header: &ObjectHeader<Self>, resized: &Dataset) -> Result<bool>;

    /// Returns the reference count of an object: its hard links, and the users of a committed datatype.
    ///
    /// # Errors
    /// Returns `NotFound` if there is no such object.
    fn references(&self, changes: &Self::Changes, id: Self::Id) -> Result<u64>;

    /// Adds `by` to the reference count of an object, and returns the new count.
    ///
    /// # Errors
    /// Returns `Invalid` if the count would be negative or larger than `u32::MAX`.
    fn change_references(&self, changes: &mut Self::Changes, id: Self::Id, by: i64) -> Result<u64>;

    /// Replaces the reference count of an object, to repair it.
    fn put_references(&self, id: Self::Id, count: u64) -> Result<()>;

    /// Returns the reference count and the comment of an object.
    fn read_status(&self, header: &ObjectHeader<Self>) -> Result<(u64, Option<String>)>;

    /// Sets or removes the comment of an object.
    fn put_comment(&self, header: &ObjectHeader<Self>, comment: Option<&str>) -> Result<()>;
}

/// Keys of groups and maps: the names of links, and the keys of pairs.
pub trait Entries: Objects {
    /// Returns up to `count_max` keys of a group or a map in byte order, from `from` on.
    fn keys(&self, id: Self::Id, from: &[u8], count_max: usize) -> Result<Vec<Vec<u8>>>;

    /// Returns whether the store finds keys in byte order, so that [`Entries::keys`] costs what it returns. Otherwise each
    /// call enumerates all keys, and a caller that needs many pages sorts them once.
    fn has_ordered_keys(&self) -> bool {
        true
    }

    /// Visits all keys of a group or a map in the order of the store, some at a time.
    fn each_keys(&self, id: Self::Id, visit: &mut dyn FnMut(Vec<Vec<u8>>) -> Result<()>) -> Result<()> {
        let mut from = Vec::new();
        loop {
            let keys = self.keys(id, &from, PAGE)?;
            let Some(last) = keys.last() else { return Ok(()) };
            from = after(last);
            visit(keys)?;
        }
    }

    /// Returns whether a key that [`Entries::keys`] returned is a link or pair, and not the mapping's own.
    fn is_entry(&self, id: Self::Id, key: &[u8]) -> Result<bool> {
        let _ = (id, key);
        Ok(true)
    }

    /// Returns whether a group or map has a link or pair with this key.
    fn has_entry(&self, id: Self::Id, key: &[u8]) -> Result<bool>;

    /// Returns the stored links of a group or values of a map; `None` for each key that there is none of.
    fn values(&self, id: Self::Id, keys: &[&[u8]], operation: &str) -> Result<Vec<Option<Vec<u8>>>>;

    /// Sets pairs of a map. No key occurs twice.
    fn put_values(&self, map: Self::Id, pairs: &[(&[u8], &[u8])]) -> Result<()>;

    /// Removes a pair of a map.
    fn remove_value(&self, map: Self::Id, key: &[u8]) -> Result<()>;
}

/// Links of groups.
pub trait Links: Entries {
    /// Returns whether [`Links::put_link`] reports a name that is in use before it changes anything.
    fn put_link_checks_name(&self, group: &GroupCreate) -> bool {
        let _ = group;
        false
    }

    /// Decodes the target of a link from a value that [`Entries::values`] returned.
    fn decode_target(value: &[u8]) -> Result<LinkTarget>;

    /// Returns the links with these names, in their order. Names without a link are left out.
    fn links(&self, group: &ObjectHeader<Self>, names: &[Vec<u8>]) -> Result<Vec<Link>>;

    /// Returns the next creation order of a group that tracks it, and the number of its links if that is stored.
    fn link_order(&self, group: &ObjectHeader<Self>) -> Result<(u64, Option<u64>)>;

    /// Returns the names of links in the order of their creation, for a group that tracks it.
    fn names_by_creation(&self, group: &ObjectHeader<Self>) -> Result<Vec<Vec<u8>>>;

    /// Stores a new link. The reference count of its target is not changed.
    ///
    /// # Errors
    /// Returns `Exists` if the mapping finds that the name is in use.
    fn put_link(
        &self,
        changes: &mut Self::Changes,
        group: &ObjectHeader<Self>,
        place: &LinkLocation,
        target: &LinkTarget,
    ) -> Result<()>;

    /// Removes a link. The reference count of its target is not changed.
    fn remove_link(&self, changes: &mut Self::Changes, group: &ObjectHeader<Self>, link: &Link)
    -> Result<()>;
}

/// An attribute that is created.
#[derive(Debug)]
pub struct NewAttribute {
    /// The datatype as it is stored.
    pub datatype: Datatype,
    /// The dataspace.
    pub space: Dataspace,
    /// The character set of the name.
    pub charset: CharacterSet,
    /// The committed datatype that the attribute shares.
    pub committed: Option<Token>,
    /// Size of the value in bytes.
    pub bytes: usize,
}

/// Attributes of objects.
pub trait Attributes: Objects {
    /// Returns the names of an object's attributes, in byte order.
    fn attribute_names(&self, object: &ObjectHeader<Self>) -> Result<Vec<Vec<u8>>>;

    /// Returns the number of an object's attributes if it is stored.
    fn attribute_count(&self, object: &ObjectHeader<Self>) -> Result<Option<u64>> {
        let _ = object;
        Ok(None)
    }

    /// Returns the headers of attributes, `None` for each name that the object has no attribute of.
    fn attributes(
        &self,
        object: &ObjectHeader<Self>,
        names: &[&[u8]],
        limits: &Limits,
    ) -> Result<Vec<Option<Arc<AttributeHeader<Self>>>>>;

    /// Returns whether an object has an attribute with this name.
    fn has_attribute(&self, object: &ObjectHeader<Self>, name: &[u8]) -> Result<bool>;

    /// Stores a new attribute without a value, and returns its header.
    ///
    /// # Errors
    /// Returns `Exists` if the object has an attribute with this name.
    fn put_attribute(
        &self,
        changes: &mut Self::Changes,
        object: &ObjectHeader<Self>,
        name: &[u8],
        new: NewAttribute,
    ) -> Result<AttributeHeader<Self>>;

    /// Returns the values of attributes; one that was never written is zeros.
    ///
    /// # Errors
    /// Returns `NotFound` if the object has no attribute with one of the names.
    fn read_attributes(
        &self,
        object: &ObjectHeader<Self>,
        names: &[&str],
        limits: &Limits,
    ) -> Result<Vec<Vec<u8>>>;

    /// Returns the value of an attribute, or `None` if it was never written.
    fn read_attribute(
        &self,
        object: &ObjectHeader<Self>,
        name: &[u8],
        attribute: &AttributeHeader<Self>,
    ) -> Result<Option<Vec<u8>>>;

    /// Replaces the value of an attribute. `value` has the size that the header says.
    fn write_attribute(
        &self,
        object: &ObjectHeader<Self>,
        name: &[u8],
        attribute: &AttributeHeader<Self>,
        value: &[u8],
    ) -> Result<()>;

    /// Removes an attribute. The reference count of its committed datatype is not changed.
    fn remove_attribute(
        &self,
        changes: &mut Self::Changes,
        object: &ObjectHeader<Self>,
        name: &[u8],
        attribute: &AttributeHeader<Self>,
    ) -> Result<()>;

    /// Renames an attribute.
    ///
    /// # Errors
    /// Returns `Exists` if the object has an attribute named `to`.
    fn rename_attribute(
        &self,
        object: &ObjectHeader<Self>,
        from: &[u8],
        to: &[u8],
        attribute: &AttributeHeader<Self>,
    ) -> Result<()>;
}

/// Chunks of datasets. A chunk of a dataset without filters holds elements, of which any may be absent; one of a dataset
/// with filters holds one value.
pub trait Chunks: Objects {
    /// Whether filtered chunks are stored in blobs, which [`Chunks::chunk_blobs`] names.
    const HAS_CHUNK_BLOBS: bool = false;

    /// Returns whether the store is remote, so that one call with many requests is better than many calls.
    fn is_remote(&self) -> bool {
        false
    }

    /// Reads elements. Those that were never written leave their bytes unchanged.
    fn fetch(&self, id: Self::Id, dataset: &Dataset, reads: &mut [ChunkRead<'_>]) -> Result<()>;
    /// Writes elements.
    fn update(&self, id: Self::Id, dataset: &Dataset, writes: &[ChunkWrite<'_>]) -> Result<()>;
    /// Makes elements of a chunk absent again.
    fn punch(&self, id: Self::Id, start: &[u64], ranges: &[Range<u64>]) -> Result<()>;

    /// Returns filtered chunks as stored; `None` for each that is not stored.
    fn stored(&self, id: Self::Id, dataset: &Dataset, starts: &[&[u64]]) -> Result<Vec<Option<StoredChunk>>>;
    /// Replaces one filtered chunk, for all processes at once, if it is still stored as `old` says. Returns whether it was.
    ///
    /// A store that no other process changes meanwhile replaces it in any case.
    fn replace(
        &self,
        id: Self::Id,
        dataset: &Dataset,
        start: &[u64],
        old: Option<&StoredChunk>,
        new: StoredChunk,
    ) -> Result<bool> {
        let _ = old;
        self.store(id, dataset, &[start], &[new]).map(|()| true)
    }

    /// Replaces filtered chunks.
    fn store(&self, id: Self::Id, dataset: &Dataset, starts: &[&[u64]], chunks: &[StoredChunk])
    -> Result<()>;
    /// Returns the filter masks and sizes in bytes of filtered chunks.
    fn stored_sizes(&self, id: Self::Id, dataset: &Dataset, starts: &[&[u64]]) -> Result<Vec<(u32, u64)>>;

    /// Returns whether anything of a chunk is stored.
    fn has(&self, id: Self::Id, dataset: &Dataset, start: &[u64]) -> Result<bool>;
    /// Removes a chunk.
    fn remove(&self, id: Self::Id, dataset: &Dataset, start: &[u64]) -> Result<()>;
    /// Returns the first elements of the chunks that are stored, in C order.
    fn starts(&self, id: Self::Id, dataset: &Dataset) -> Result<Vec<Vec<u64>>>;

    /// Returns the blobs that hold the filtered chunks of a dataset.
    fn chunk_blobs(&self, id: Self::Id, dataset: &Dataset) -> Result<Vec<Self::BlobId>> {
        let _ = (id, dataset);
        Ok(Vec::new())
    }
}

/// Blobs: the variable-length values and references that elements name.
pub trait BlobStore: Identities {
    /// Stores values, and returns their IDs one after another.
    fn put_blobs(&self, values: &[&[u8]]) -> Result<Vec<u8>>;

    /// Appends the values of blobs to `out`.
    ///
    /// # Errors
    /// Returns `NotFound` if there is no such blob, and `Invalid` if an ID has another size.
    fn get_blobs(&self, ids: &[&[u8]], limits: &Limits, out: &mut Blobs) -> Result<()>;

    /// Returns the ID of a blob that is stored.
    ///
    /// # Errors
    /// Returns `NotFound` if there is no such blob, and `Invalid` if the ID has another size.
    fn find_blob(&self, id: &[u8], operation: &str) -> Result<Self::BlobId>;

    /// Removes blobs. One that is not stored is no error.
    fn remove_blobs(&self, ids: &[Self::BlobId]) -> Result<()>;
}

/// The mapping's part of `storage_check` and `storage_show`.
pub trait StorageReport: Objects {
    /// The words of findings for the reference count, and for the references that it counts.
    const REFERENCES: (&'static str, &'static str);

    /// Returns the name of an object in findings.
    fn describe(id: Self::Id) -> String;

    /// Returns everything that is stored under an ID.
    fn stored_ids(&self) -> Result<Vec<Self::Id>>;

    /// Returns an error if the index of the store is damaged.
    fn verify_index(&self) -> Result<()>;

    /// Adds what else belongs to a reachable object to `reached`.
    fn reach(
        header: &ObjectHeader<Self>,
        attributes: &[Arc<AttributeHeader<Self>>],
        reached: &mut ReachableObjects<Self>,
    ) {
        let _ = (header, attributes, reached);
    }

    /// Compares what is stored about an object's links and attributes with the links and attributes that it has.
    /// `links` is their number if the object is a group.
    fn check_object(
        handle: &Handle<Self>,
        header: &ObjectHeader<Self>,
        links: Option<u64>,
        findings: &mut Findings,
    ) -> Result<()>
    where
        Self: Mapping,
    {
        let _ = (handle, header, links, findings);
        Ok(())
    }

    /// Compares what is stored with what can be reached.
    fn check_unreached(
        handle: &Handle<Self>,
        reached: &ReachableObjects<Self>,
        findings: &mut Findings,
    ) -> Result<()>
    where
        Self: Mapping;

    /// Returns everything that is stored as text.
    fn show(handle: &Handle<Self>) -> Result<String>
    where
        Self: Mapping;
}

/// A mapping of HDF5 containers to keys of a store.
pub trait Mapping: Objects + Links + Attributes + Chunks + BlobStore + StorageReport {}

impl<M: Objects + Links + Attributes + Chunks + BlobStore + StorageReport> Mapping for M {}
