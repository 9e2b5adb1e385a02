//! The container: one open file as a service. One table gives the trait, the forwarding layer and the check
//! that the layer forwards everything.

use std::sync::Arc;

use model::datatype::ReferenceKind;
use model::{Budget, Datatype, Error, Link, ObjectKind, Reference, Result, Token};

use crate::{
    AttributeInfo, Blobs, ChunkCacheInfo, ChunkInfo, Collective, ContainerInfo, DatasetInfo, Durability,
    FollowedLink, GroupInfo, Lookup, MapInfo, ObjectInfo, OpAttributeCreate, OpDatasetCreate,
    OpDatatypeCommit, OpGroupCreate, OpLinkCreate, OpLinkMove, OpList, OpLookup, OpMapCreate, OpObjectCopy,
    OpPlacement, OpRead, OpWrite, Page, Pipeline, Placement, Posting, StorageFinding, StorageInfo,
    StoredBlock,
};

macro_rules! operations {
    ($( $(#[$doc:meta])* fn $name:ident(&self $(, $arg:ident : $ty:ty)*) -> $ret:ty; )*) => {
        /// An open container. Methods that a connector does not implement return `Unsupported`.
        ///
        /// Every method may be called from many threads at once. Tokens come from this container; a token of another
        /// one gives an error, not nonsense. Elements are in the *file datatype*: the container's own descriptors for
        /// variable-length values and references (see [`ContainerInfo::descriptors`]).
        ///
        /// Any method may return `Corrupt` if what is stored breaks the rules of its format, `Limit` if it goes beyond
        /// the caller's [limits](model::Limits), and `Io` if the storage fails. Methods that change the container
        /// return `Denied` if it is open for reading. The sections below name what else a method returns.
        pub trait Container: Send + Sync {
            $( $(#[$doc])*
            fn $name(&self $(, $arg: $ty)*) -> Result<$ret> {
                $( let _ = $arg; )*
                Err(Error::unsupported(stringify!($name).replace('_', " ")))
            } )*

            /// Returns the account that memory for the container's content is charged to, in this process. The handle that
            /// the registry returns implements this; connectors do not.
            fn budget(&self) -> Budget {
                Budget::default()
            }

            /// Follows the first user-defined link on a path, with the classes of the registry that opened the container.
            /// The handle that the registry returns implements this; connectors do not.
            ///
            /// # Errors
            /// Returns `Unsupported` if the class of the link is not registered.
            fn follow_user_link(&self, op: &OpLookup) -> Result<FollowedLink> {
                Err(Error::unsupported("follow user-defined link").with("path", &op.path))
            }

            /// Returns whether the elements of a dataset may be read and written by the calling thread only: its file, or a
            /// filter of it, belongs to a program that may hold a lock which other threads would wait for.
            fn is_serial(&self, dataset: Token) -> bool {
                let _ = dataset;
                false
            }

            /// Returns the collective transfers of a container that several processes have open together, or `None` if one
            /// process has it open.
            fn collective(&self) -> Option<&dyn Collective> {
                None
            }

            /// Returns the pipeline that starts operations without waiting for them, or `None` if the caller waits for every
            /// operation.
            fn pipeline(&self) -> Option<&dyn Pipeline> {
                None
            }

            /// Begins writes that borrow their buffers until they are flushed. Returns `None` if a write that waits must be
            /// copied or no write waits; then the caller writes at once.
            fn posting<'c, 'b: 'c>(&'c self) -> Option<Box<dyn Posting<'b> + 'c>> {
                None
            }
        }

        /// A container that forwards every operation to an inner one, except those that it implements itself.
        pub trait Layer: Send + Sync {
            /// Returns the inner container.
            fn inner(&self) -> &dyn Container;
            $( #[doc = concat!("Forwards [`Container::", stringify!($name), "`].")]
            ///
            /// # Errors
            /// Returns the error of the inner container.
            fn $name(&self $(, $arg: $ty)*) -> Result<$ret> {
                self.inner().$name($($arg),*)
            } )*
            #[doc = "Forwards [`Container::budget`]."]
            fn budget(&self) -> Budget {
                self.inner().budget()
            }
            #[doc = "Forwards [`Container::follow_user_link`]."]
            ///
            /// # Errors
            /// Returns the error of the inner container.
            fn follow_user_link(&self, op: &OpLookup) -> Result<FollowedLink> {
                self.inner().follow_user_link(op)
            }
            #[doc = "Forwards [`Container::is_serial`]."]
            fn is_serial(&self, dataset: Token) -> bool {
                self.inner().is_serial(dataset)
            }
            #[doc = "Returns `None`: a layer does not see collective transfers, so that all are independent ones."]
            fn collective(&self) -> Option<&dyn Collective> {
                None
            }
            #[doc = "Returns `None`: a layer does not see operations that are started below it, so that all are waited for."]
            fn pipeline(&self) -> Option<&dyn Pipeline> {
                None
            }
            #[doc = "Returns `None`: a layer does not see writes that wait below it, so that all are made at once."]
            fn posting<'c, 'b: 'c>(&'c self) -> Option<Box<dyn Posting<'b> + 'c>> {
                None
            }
        }

        #[deny(clippy::missing_trait_methods)]
        impl<L: Layer> Container for L {
            $( fn $name(&self $(, $arg: $ty)*) -> Result<$ret> {
                Layer::$name(self $(, $arg)*)
            } )*
            fn budget(&self) -> Budget {
                Layer::budget(self)
            }
            fn follow_user_link(&self, op: &OpLookup) -> Result<FollowedLink> {
                Layer::follow_user_link(self, op)
            }
            fn is_serial(&self, dataset: Token) -> bool {
                Layer::is_serial(self, dataset)
            }
            fn collective(&self) -> Option<&dyn Collective> {
                Layer::collective(self)
            }
            fn pipeline(&self) -> Option<&dyn Pipeline> {
                Layer::pipeline(self)
            }
            fn posting<'c, 'b: 'c>(&'c self) -> Option<Box<dyn Posting<'b> + 'c>> {
                Layer::posting(self)
            }
        }

        crate::observe::observed! { $( fn $name(&self $(, $arg: $ty)*) -> $ret; )* }
        crate::handle::handled! { $( fn $name(&self $(, $arg: $ty)*) -> $ret; )* }
    };
}

/// Expands to `$callback! { … }` with every operation of a container: the one table that the [`Container`] trait, layers,
/// handles and the wire format are generated from. The types of the table must be in scope where it is expanded.
#[macro_export]
macro_rules! for_each_operation {
    ($callback:ident) => {
        $callback! {
            // --- the container itself ---
            /// Returns the info of this container: its connector, capabilities and root group.
            ///
            /// # Errors
            /// Returns an error if the container is closed, or if its root group cannot be read.
            fn info(&self) -> Arc<ContainerInfo>;
            /// Commits everything that was written so far (`H5Fflush`). A container that is open for reading has
            /// nothing to commit.
            ///
            /// # Errors
            /// Returns the error of the storage. Changes that were not committed stay pending, and the next commit
            /// includes them.
            fn commit(&self, durability: Durability) -> ();
            /// Commits and closes the container. Later operations fail.
            ///
            /// # Errors
            /// Returns the error of the commit, or of removing locks and consistency flags.
            fn close(&self) -> ();
            /// Runs an operation that only one connector or layer has, by name. Callers use [`crate::call`] with an
            /// [`Extension`](crate::Extension); connectors answer with [`Optional`](crate::Optional).
            ///
            /// # Errors
            /// Returns `Unsupported` if no connector or layer of the stack has the operation, and otherwise the error
            /// of the operation.
            fn optional(&self, name: &str, request: &[u8]) -> Vec<u8>;
            /// Commits, and allows other processes to read the file while this one goes on writing to it
            /// (`H5Fstart_swmr_write`).
            ///
            /// # Errors
            /// Returns `Unsupported` if the connector has no SWMR mode, and `Invalid` if the file has an older format.
            fn start_swmr(&self) -> ();
            /// Verifies how the container is stored, below its objects, and returns what is wrong.
            ///
            /// # Errors
            /// Returns the error of reading the storage. A problem of what is stored is no error, but a finding.
            fn storage_check(&self) -> Vec<StorageFinding>;
            /// Verifies as `storage_check` does and repairs what it can. No other caller may write to the container meanwhile.
            ///
            /// # Errors
            /// Returns the error of reading or writing the storage. Problems that cannot be repaired stay findings.
            fn storage_repair(&self) -> Vec<StorageFinding>;
            /// Returns a listing of how the container is stored, for people.
            ///
            /// # Errors
            /// Returns the error of reading the storage.
            fn storage_show(&self) -> String;

            // --- objects ---
            /// Keeps an object until the matching [`release`](Container::release), even if its last link is removed
            /// meanwhile.
            ///
            /// # Errors
            /// Returns `NotFound` if there is no such object.
            fn retain(&self, object: Token) -> ();
            /// Undoes one [`retain`](Container::retain). An object without links and handles is removed.
            ///
            /// # Errors
            /// Returns `Invalid` if this container did not retain the object.
            fn release(&self, object: Token) -> ();
            /// Returns the info that every object has.
            ///
            /// # Errors
            /// Returns `NotFound` if there is no such object.
            fn object_info(&self, object: Token) -> ObjectInfo;
            /// Returns the kinds of many objects, which is all that a walk over a tree needs.
            ///
            /// # Errors
            /// Returns `NotFound` if one of the objects does not exist.
            fn object_kinds(&self, objects: &[Token]) -> Vec<ObjectKind>;
            /// Forgets what is cached of an object, so that the next read sees what other processes wrote (`H5Orefresh`).
            ///
            /// # Errors
            /// Returns `Unsupported` if the connector cannot read an object again.
            fn object_refresh(&self, object: Token) -> ();
            /// Copies an object inside this container. On an error nothing of the copy stays.
            ///
            /// # Errors
            /// Returns `NotFound` if there is no such object, and `Exists` if the name of the copy is taken.
            fn object_copy(&self, op: &OpObjectCopy) -> Token;
            /// Sets the comment of an object, or removes it if `comment` is `None`.
            ///
            /// # Errors
            /// Returns `NotFound` if there is no such object, and `Unsupported` if the connector stores no comments.
            fn object_set_comment(&self, object: Token, comment: Option<&str>) -> ();
            /// Adds `by` to the reference count of an object and returns the new count. At zero the object is removed.
            ///
            /// # Errors
            /// Returns `NotFound` if there is no such object, and `Invalid` if the count would be negative or the root
            /// group would be removed.
            fn object_adjust_references(&self, object: Token, by: i32) -> u32;

            // --- links and groups ---
            /// Creates a group and returns its token.
            ///
            /// # Errors
            /// Returns `Exists` if the name is taken, and `Invalid` if it cannot name a link.
            fn group_create(&self, op: &OpGroupCreate) -> Token;
            /// Returns the info of a group.
            ///
            /// # Errors
            /// Returns `NotFound` if there is no such object, and `Invalid` if it is not a group.
            fn group_info(&self, group: Token) -> GroupInfo;
            /// Creates a link.
            ///
            /// # Errors
            /// Returns `Exists` if the name is taken, `NotFound` if a hard link's object does not exist, `Invalid` if
            /// the name, the target or the class of a user-defined link is not valid, and `Unsupported` for a kind of
            /// link that the connector lacks.
            fn link_create(&self, op: &OpLinkCreate) -> ();
            /// Returns the link named `name`, or `None` if the group has no such link.
            ///
            /// # Errors
            /// Returns `NotFound` if there is no such object, and `Invalid` if it is not a group.
            fn link_get(&self, group: Token, name: &str) -> Option<Link>;
            /// Returns a page of the links of a group.
            ///
            /// # Errors
            /// Returns `NotFound` if there is no such object, and `Invalid` if it is not a group or does not track the
            /// order of creation that `op` asks for.
            fn link_list(&self, group: Token, op: &OpList) -> Page<Link>;
            /// Removes a link. An object whose last link it was is removed too, unless it is retained.
            ///
            /// # Errors
            /// Returns `NotFound` if the group has no such link.
            fn link_delete(&self, group: Token, name: &str) -> ();
            /// Moves a link, or copies it if `op.copy` is set. The object stays where it is.
            ///
            /// # Errors
            /// Returns `NotFound` if there is no such link, and `Exists` if the new name is taken.
            fn link_move(&self, op: &OpLinkMove) -> ();
            /// Follows a path in one call. [`crate::path::lookup`] walks it link by link where this is unsupported.
            ///
            /// # Errors
            /// Returns `NotFound` if a link on the path is missing, `Invalid` if the path goes on behind an object
            /// that is not a group, and `Limit` if there are more links to follow than `op.traversals_max`.
            fn lookup(&self, op: &OpLookup) -> Lookup;

            // --- attributes ---
            /// Creates an attribute, which reads as zeros until it is written.
            ///
            /// # Errors
            /// Returns `Exists` if the name is taken, `NotFound` if there is no such object, `Invalid` if the name or
            /// the type is not valid, and `Limit` if the attribute is too large.
            fn attribute_create(&self, op: &OpAttributeCreate) -> ();
            /// Returns the info of the attribute named `name`, or `None` if the object has no such attribute.
            ///
            /// # Errors
            /// Returns `NotFound` if there is no such object.
            fn attribute_info(&self, object: Token, name: &str) -> Option<AttributeInfo>;
            /// Returns a page of the attributes of an object.
            ///
            /// # Errors
            /// Returns `NotFound` if there is no such object, and `Invalid` if it does not track the order of creation
            /// that `op` asks for.
            fn attribute_list(&self, object: Token, op: &OpList) -> Page<AttributeInfo>;
            /// Returns the whole values of attributes, in the file datatype.
            ///
            /// # Errors
            /// Returns `NotFound` if the object or one of the attributes does not exist.
            fn attribute_read(&self, object: Token, names: &[&str]) -> Vec<Vec<u8>>;
            /// Writes the whole value of an attribute, in the file datatype. Blobs that only the old value used are
            /// released.
            ///
            /// # Errors
            /// Returns `NotFound` if there is no such attribute, and `Invalid` if `data` has not the length of the
            /// value.
            fn attribute_write(&self, object: Token, name: &str, data: &[u8]) -> ();
            /// Removes an attribute.
            ///
            /// # Errors
            /// Returns `NotFound` if there is no such attribute.
            fn attribute_delete(&self, object: Token, name: &str) -> ();
            /// Renames an attribute.
            ///
            /// # Errors
            /// Returns `NotFound` if there is no attribute named `from`, and `Exists` if there is one named `to`.
            fn attribute_rename(&self, object: Token, from: &str, to: &str) -> ();

            // --- datasets ---
            /// Creates a dataset and returns its token.
            ///
            /// # Errors
            /// Returns `Exists` if the name is taken, `Invalid` if the properties, the extent or the type are not
            /// valid, `NotFound` if the committed datatype does not exist, `Limit` if the type or a chunk is too
            /// large, and `Unsupported` for properties that the connector lacks.
            fn dataset_create(&self, op: &OpDatasetCreate) -> Token;
            /// Returns the info of a dataset.
            ///
            /// # Errors
            /// Returns `NotFound` if there is no such object, and `Invalid` if it is not a dataset.
            fn dataset_info(&self, dataset: Token) -> Arc<DatasetInfo>;
            /// Returns how much storage a dataset uses, and where in the container's file it is.
            ///
            /// # Errors
            /// Returns `NotFound` if there is no such object, and `Invalid` if it is not a dataset.
            fn dataset_storage(&self, dataset: Token) -> StorageInfo;
            /// Reads elements of one or more datasets.
            ///
            /// # Errors
            /// Returns `NotFound` or `Invalid` if one of the objects is not a dataset, and `Invalid` if a selection
            /// does not fit its extent or a buffer has not the length of its elements; then nothing is read. For data
            /// in other files, returns `Denied` if the caller gave no resolver.
            fn dataset_read(&self, reads: &mut [OpRead<'_>]) -> ();
            /// Writes elements of one or more datasets. In the same step, blobs that only the overwritten elements used are
            /// released: a caller that writes at the same time releases each of them once, and none that is in use.
            ///
            /// # Errors
            /// Returns `NotFound` or `Invalid` if one of the objects is not a dataset, and `Invalid` if a selection
            /// does not fit its extent or a buffer has not the length of its elements; then nothing is written. For
            /// data in other files, returns `Denied` if they may not be written.
            fn dataset_write(&self, writes: &[OpWrite<'_>]) -> ();
            /// Changes the extent of a dataset. New elements have the fill value.
            ///
            /// # Errors
            /// Returns `Invalid` if the rank differs, if a dimension would be larger than its maximum, or if the
            /// layout does not allow it.
            fn dataset_resize(&self, dataset: Token, dims: &[u64]) -> ();
            /// Returns a page of the chunks that are stored.
            ///
            /// # Errors
            /// Returns `Invalid` if the dataset is not chunked, and `Unsupported` if the connector does not store
            /// chunks.
            fn chunk_list(&self, dataset: Token, skip: u64, count_max: u64) -> Page<ChunkInfo>;
            /// Returns a chunk as it is stored: its filter mask and bytes. `offset` are the coordinates of its first element.
            ///
            /// # Errors
            /// Returns `NotFound` if the chunk is not stored, and `Invalid` if the dataset is not chunked or no chunk
            /// starts at `offset`.
            fn chunk_read(&self, dataset: Token, offset: &[u64]) -> (u32, Vec<u8>);
            /// Stores one chunk as it is given, after its filters.
            ///
            /// # Errors
            /// Returns `Invalid` if the dataset is not chunked, if no chunk starts at `offset`, or if `data` has not
            /// the length of a chunk of a dataset without filters.
            fn chunk_write(&self, dataset: Token, offset: &[u64], filter_mask: u32, data: &[u8]) -> ();
            /// Returns where elements lie in a file, for a caller that reads them there.
            ///
            /// # Errors
            /// Returns `Unsupported` if elements of this dataset never lie in one file as they are, `Busy` if they do
            /// not at the moment, `Limit` if the selection touches too many chunks, and `Invalid` if it does not fit
            /// the extent.
            fn elements_find(&self, op: &OpPlacement) -> Placement;
            /// Returns where elements lie in a file, for a caller that writes them there. Elements without space get
            /// some, filled with the fill value.
            ///
            /// # Errors
            /// Returns the errors of [`elements_find`](Container::elements_find) and of allocating space.
            fn elements_place(&self, op: &OpPlacement) -> Placement;
            /// Forgets what is cached of elements, after a caller wrote them where they lie.
            ///
            /// # Errors
            /// Returns `Unsupported` as [`elements_find`](Container::elements_find) does.
            fn elements_changed(&self, op: &OpPlacement) -> ();

            /// Returns the blocks of elements of a dataset that are stored, for connectors that keep neither chunks
            /// nor one contiguous range of a file.
            ///
            /// # Errors
            /// Returns `Unsupported` for other connectors, and `NotFound` or `Invalid` if the object is not a dataset.
            fn stored_blocks(&self, dataset: Token) -> Vec<StoredBlock>;
            /// Returns statistics of the cache of decoded chunks.
            ///
            /// # Errors
            /// Returns `Unsupported` if the connector has no such cache.
            fn chunk_cache_info(&self) -> ChunkCacheInfo;
            /// Gives a dataset a cache of decoded chunks of its own, with a capacity of `bytes`.
            ///
            /// # Errors
            /// Returns `Unsupported` if the connector has no such cache, and `Invalid` if the dataset is not chunked.
            fn chunk_cache_set(&self, dataset: Token, bytes: u64) -> ();

            // --- committed datatypes ---
            /// Commits a datatype and returns its token.
            ///
            /// # Errors
            /// Returns `Exists` if the name is taken, and `Unsupported` if the connector stores no committed
            /// datatypes.
            fn datatype_commit(&self, op: &OpDatatypeCommit) -> Token;
            /// Returns a committed datatype.
            ///
            /// # Errors
            /// Returns `NotFound` if there is no such object, and `Invalid` if it is not a committed datatype.
            fn datatype_get(&self, datatype: Token) -> Datatype;

            // --- maps ---
            /// Creates a map and returns its token.
            ///
            /// # Errors
            /// Returns `Exists` if the name is taken, `Invalid` if keys would hold references or nested
            /// variable-length values, and `Unsupported` if the connector stores no maps.
            fn map_create(&self, op: &OpMapCreate) -> Token;
            /// Returns the info of a map.
            ///
            /// # Errors
            /// Returns `NotFound` if there is no such object, and `Invalid` if it is not a map.
            fn map_info(&self, map: Token) -> MapInfo;
            /// Sets the values of keys. A key is the bytes of its element or, for a variable-length key, of its value.
            /// If a key comes twice, its last value counts, and earlier ones are released as any value that is
            /// replaced.
            ///
            /// # Errors
            /// Returns `Invalid` if a key or a value has the wrong length; then no pair is set.
            fn map_put(&self, map: Token, pairs: &[(&[u8], &[u8])]) -> ();
            /// Returns the values of keys, each `None` if the map has no such key.
            ///
            /// # Errors
            /// Returns `Invalid` if a key has the wrong length or the object is not a map.
            fn map_get(&self, map: Token, keys: &[&[u8]]) -> Vec<Option<Vec<u8>>>;
            /// Returns a page of the keys, sorted by their bytes: those after `after`, which need not exist any more,
            /// or the first ones. A caller that continues after the last key it has seen misses no key that stays,
            /// whatever is set and deleted meanwhile.
            ///
            /// # Errors
            /// Returns `NotFound` if there is no such object, and `Invalid` if it is not a map.
            fn map_keys(&self, map: Token, after: Option<&[u8]>, count_max: u64) -> Page<Vec<u8>>;
            /// Removes a key and its value, and returns whether the map had the key.
            ///
            /// # Errors
            /// Returns `Invalid` if the key has the wrong length or the object is not a map.
            fn map_delete(&self, map: Token, key: &[u8]) -> bool;

            // --- blobs and references: what descriptors in elements stand for ---
            /// Stores values and returns their identities one after another, each of `descriptors.varlen - 4` bytes.
            ///
            /// # Errors
            /// Returns `Limit` if a value is larger than `Limits::blob_bytes_max`.
            fn blob_put(&self, values: &[&[u8]]) -> Vec<u8>;
            /// Appends the values of `ids` to `out`, in order.
            ///
            /// # Errors
            /// Returns `NotFound` if there is no such value, `Invalid` if an identity has the wrong length, and
            /// `Limit` if the values do not fit the account of `out`.
            fn blob_get(&self, ids: &[&[u8]], out: &mut Blobs) -> ();
            /// Removes values that no element uses: they were stored, but not written to any element.
            ///
            /// # Errors
            /// Returns `NotFound` if there is no such value, and `Invalid` if an identity has the wrong length.
            fn blob_delete(&self, ids: &[&[u8]]) -> ();
            /// Keeps released blobs readable until [`blob_unpin`](Container::blob_unpin) with the same number, so that
            /// a caller can fetch the values of elements that are overwritten meanwhile. [`Pin`](crate::Pin) chooses
            /// the number.
            ///
            /// # Errors
            /// Returns `Unsupported` if the connector never removes a blob that was in use.
            fn blob_pin(&self, pin: u64) -> ();
            /// Undoes a [`blob_pin`](Container::blob_pin).
            ///
            /// # Errors
            /// Returns an error only if the container cannot be reached.
            fn blob_unpin(&self, pin: u64) -> ();
            /// Returns the references that descriptors stand for.
            ///
            /// # Errors
            /// Returns `Invalid` if a descriptor has the wrong length, and `NotFound` or `Corrupt` if it stands for
            /// nothing that is stored.
            fn reference_get(&self, kind: ReferenceKind, descriptors: &[&[u8]]) -> Vec<Reference>;
            /// Stores references and returns their descriptors.
            ///
            /// # Errors
            /// Returns `Invalid` if descriptors of this kind cannot hold a reference, and `Unsupported` if the
            /// connector lacks the kind.
            fn reference_put(&self, kind: ReferenceKind, references: &[Reference]) -> Vec<Vec<u8>>;
        }
    };
}

for_each_operation!(operations);

impl std::fmt::Debug for dyn Container {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.info() {
            Ok(info) => write!(f, "Container({}, root {})", info.connector, info.root),
            Err(error) => write!(f, "Container({error})"),
        }
    }
}
