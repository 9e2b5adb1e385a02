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
        /// Every method may be called from many threads at once. Tokens come from this container; a token
        /// of another one gives an error, not nonsense. Elements are in the *file datatype*: the container's own
        /// descriptors for variable-length values and references (see [`ContainerInfo::descriptors`]).
        pub trait Container: Send + Sync {
            $( $(#[$doc])*
            fn $name(&self $(, $arg: $ty)*) -> Result<$ret> {
                $( let _ = $arg; )*
                Err(Error::unsupported(stringify!($name).replace('_', " ")))
            } )*

            /// Returns the account that memory for the container's content is charged to, in this process. The handle that the
            /// registry returns knows it; connectors leave this as it is.
            fn budget(&self) -> Budget {
                Budget::default()
            }

            /// Follows the first user-defined link on a path, with the classes of the registry that opened the container. The
            /// handle that the registry returns knows them; connectors leave this as it is.
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

            /// Returns the collective transfers of a container that several processes have open together; `None` where
            /// one process has it open.
            fn collective(&self) -> Option<&dyn Collective> {
                None
            }

            /// Returns what starts operations without waiting for them; `None` where every operation is waited for.
            fn pipeline(&self) -> Option<&dyn Pipeline> {
                None
            }

            /// Begins writes that borrow their buffers until they are flushed; `None` where a write that waits must be copied, or
            /// none waits. A caller writes at once then.
            fn posting<'c, 'b: 'c>(&'c self) -> Option<Box<dyn Posting<'b> + 'c>> {
                None
            }
        }

        /// A container that forwards every operation to another, except those it writes itself.
        pub trait Layer: Send + Sync {
            /// Returns the inner container.
            fn inner(&self) -> &dyn Container;
            $( #[doc = concat!("Forwards [`Container::", stringify!($name), "`].")]
            fn $name(&self $(, $arg: $ty)*) -> Result<$ret> {
                self.inner().$name($($arg),*)
            } )*
            #[doc = "Forwards [`Container::budget`]."]
            fn budget(&self) -> Budget {
                self.inner().budget()
            }
            #[doc = "Forwards [`Container::follow_user_link`]."]
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
            fn info(&self) -> Arc<ContainerInfo>;
            /// Makes everything written so far one commit (`H5Fflush`).
            fn commit(&self, durability: Durability) -> ();
            /// Commits and closes; later operations fail.
            fn close(&self) -> ();
            /// Runs an operation that only one connector or layer has, by name. Callers use [`crate::call`] with an
            /// [`Extension`](crate::Extension); connectors answer with [`Optional`](crate::Optional).
            fn optional(&self, name: &str, request: &[u8]) -> Vec<u8>;
            /// Commits, and allows other processes to read the file while this one goes on writing to it
            /// (`H5Fstart_swmr_write`).
            fn start_swmr(&self) -> ();
            /// Verifies how the container is stored, below its objects, and returns what is wrong.
            fn storage_check(&self) -> Vec<StorageFinding>;
            /// Verifies as `storage_check` does and repairs what it can. No other caller may write to the container meanwhile.
            fn storage_repair(&self) -> Vec<StorageFinding>;
            /// Returns a listing of how the container is stored, for people.
            fn storage_show(&self) -> String;

            // --- objects ---
            /// Keeps an object alive while a handle is open, though it may lose its last link.
            fn retain(&self, object: Token) -> ();
            /// Undoes one `retain`.
            fn release(&self, object: Token) -> ();
            /// Returns the info of every object.
            fn object_info(&self, object: Token) -> ObjectInfo;
            /// Returns the kinds of many objects. A walk over a tree needs nothing else.
            fn object_kinds(&self, objects: &[Token]) -> Vec<ObjectKind>;
            /// Forgets what is cached of an object, so that the next read sees what other processes wrote (`H5Orefresh`).
            fn object_refresh(&self, object: Token) -> ();
            /// Copies an object inside this container.
            fn object_copy(&self, op: &OpObjectCopy) -> Token;
            /// Sets or removes the comment.
            fn object_set_comment(&self, object: Token, comment: Option<&str>) -> ();
            /// Adds to the reference count and returns it; at zero the object goes.
            fn object_adjust_references(&self, object: Token, by: i32) -> u32;

            // --- links and groups ---
            /// Creates a group.
            fn group_create(&self, op: &OpGroupCreate) -> Token;
            /// Returns the info of a group.
            fn group_info(&self, group: Token) -> GroupInfo;
            /// Creates a link.
            fn link_create(&self, op: &OpLinkCreate) -> ();
            /// Returns the link named `name`, or `None` if the group has no such link.
            fn link_get(&self, group: Token, name: &str) -> Option<Link>;
            /// Returns a page of the links of a group.
            fn link_list(&self, group: Token, op: &OpList) -> Page<Link>;
            /// Removes a link, and the object with its last one.
            fn link_delete(&self, group: Token, name: &str) -> ();
            /// Moves or copies a link.
            fn link_move(&self, op: &OpLinkMove) -> ();
            /// Follows a path in one go; [`crate::path::lookup`] walks it where this is unsupported.
            fn lookup(&self, op: &OpLookup) -> Lookup;

            // --- attributes ---
            /// Creates an attribute, which reads as zeros until it is written.
            fn attribute_create(&self, op: &OpAttributeCreate) -> ();
            /// Returns the info of the attribute named `name`, or `None` if the object has no such attribute.
            fn attribute_info(&self, object: Token, name: &str) -> Option<AttributeInfo>;
            /// Returns a page of the attributes of an object.
            fn attribute_list(&self, object: Token, op: &OpList) -> Page<AttributeInfo>;
            /// Returns the values of attributes, whole, in the file datatype.
            fn attribute_read(&self, object: Token, names: &[&str]) -> Vec<Vec<u8>>;
            /// Writes a whole value, in the file datatype. Blobs that only the old value used are released.
            fn attribute_write(&self, object: Token, name: &str, data: &[u8]) -> ();
            /// Removes an attribute.
            fn attribute_delete(&self, object: Token, name: &str) -> ();
            /// Renames an attribute.
            fn attribute_rename(&self, object: Token, from: &str, to: &str) -> ();

            // --- datasets ---
            /// Creates a dataset.
            fn dataset_create(&self, op: &OpDatasetCreate) -> Token;
            /// Returns the info of a dataset.
            fn dataset_info(&self, dataset: Token) -> Arc<DatasetInfo>;
            /// Returns how much storage a dataset takes, and where.
            fn dataset_storage(&self, dataset: Token) -> StorageInfo;
            /// Reads elements of one or more datasets.
            fn dataset_read(&self, reads: &mut [OpRead<'_>]) -> ();
            /// Writes elements of one or more datasets. In the same step, blobs that only the overwritten elements used are
            /// released: a caller that writes at the same time releases each of them once, and none that is in use.
            fn dataset_write(&self, writes: &[OpWrite<'_>]) -> ();
            /// Changes the extent.
            fn dataset_resize(&self, dataset: Token, dims: &[u64]) -> ();
            /// Returns a page of the chunks that are stored.
            fn chunk_list(&self, dataset: Token, skip: u64, count_max: u64) -> Page<ChunkInfo>;
            /// Returns a chunk as it is stored: its filter mask and bytes. `offset` are the coordinates of its first element.
            fn chunk_read(&self, dataset: Token, offset: &[u64]) -> (u32, Vec<u8>);
            /// Stores one chunk as given.
            fn chunk_write(&self, dataset: Token, offset: &[u64], filter_mask: u32, data: &[u8]) -> ();
            /// Returns where elements lie in a file, for one who reads them there. `Unsupported` where those of this dataset never lie there
            /// as they are, `Busy` where they do not now.
            fn elements_find(&self, op: &OpPlacement) -> Placement;
            /// As `elements_find`, for one who writes them there: what has no space gets some, with the fill value.
            fn elements_place(&self, op: &OpPlacement) -> Placement;
            /// Elements were written where they lie: what was kept of them is out of date.
            fn elements_changed(&self, op: &OpPlacement) -> ();

            /// Returns which elements of a dataset are stored, as blocks, where the connector keeps neither chunks nor one
            /// piece of the file.
            fn stored_blocks(&self, dataset: Token) -> Vec<StoredBlock>;
            /// Returns how the cache of decoded chunks did so far.
            fn chunk_cache_info(&self) -> ChunkCacheInfo;
            /// Gives a dataset a cache of decoded chunks of its own, with a capacity of `bytes`.
            fn chunk_cache_set(&self, dataset: Token, bytes: u64) -> ();

            // --- committed datatypes ---
            /// Commits a datatype.
            fn datatype_commit(&self, op: &OpDatatypeCommit) -> Token;
            /// Returns the type that was committed.
            fn datatype_get(&self, datatype: Token) -> Datatype;

            // --- maps ---
            /// Creates a map.
            fn map_create(&self, op: &OpMapCreate) -> Token;
            /// Returns the info of a map.
            fn map_info(&self, map: Token) -> MapInfo;
            /// Sets pairs. A key is the bytes of its element or, for a variable-length key, of its value. A key that comes twice
            /// has its last value, and the others are given up as any value that is replaced.
            fn map_put(&self, map: Token, pairs: &[(&[u8], &[u8])]) -> ();
            /// Values of keys, `None` where there is none.
            fn map_get(&self, map: Token, keys: &[&[u8]]) -> Vec<Option<Vec<u8>>>;
            /// Returns a page of the keys, sorted by their bytes: those after `after`, which need not be there any more, or the first ones.
            /// So no one who goes on after the last key that was seen misses one, whatever is set and deleted meanwhile.
            fn map_keys(&self, map: Token, after: Option<&[u8]>, count_max: u64) -> Page<Vec<u8>>;
            /// Removes a pair; `false` if there was none.
            fn map_delete(&self, map: Token, key: &[u8]) -> bool;

            // --- blobs and references: what descriptors in elements stand for ---
            /// Stores values; returns their identities one after another, each of `descriptors.varlen - 4` bytes.
            fn blob_put(&self, values: &[&[u8]]) -> Vec<u8>;
            /// Appends the values of `ids` to `out`, in order.
            fn blob_get(&self, ids: &[&[u8]], out: &mut Blobs) -> ();
            /// Releases values that no element uses: they were stored, and not written to any.
            fn blob_delete(&self, ids: &[&[u8]]) -> ();
            /// From now until [`blob_unpin`](Container::blob_unpin) of the same number, blobs that are released can still be read,
            /// so that what elements said before they were overwritten can be fetched. See [`Pin`](crate::Pin), which chooses the
            /// number.
            fn blob_pin(&self, pin: u64) -> ();
            /// Ends what `blob_pin` began.
            fn blob_unpin(&self, pin: u64) -> ();
            /// Returns the references that descriptors stand for.
            fn reference_get(&self, kind: ReferenceKind, descriptors: &[&[u8]]) -> Vec<Reference>;
            /// Descriptors for references.
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
