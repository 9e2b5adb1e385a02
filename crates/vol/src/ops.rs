//! Arguments of operations: one struct each, so that arguments cannot be swapped and fields can be added.

use std::sync::Arc;

use model::properties::{DatasetCreate, FileCreate, GroupCreate, ObjectCreate};
use model::{CharacterSet, Dataspace, Datatype, Index, LinkTarget, Order, Selection, Token};

use crate::{Container, FileAccess, Parameters, Registry};

/// Arguments of [`Connector::create`](crate::Connector::create).
#[derive(Debug, Clone)]
pub struct ContainerCreate<'a> {
    /// The path part of the location.
    pub path: &'a str,
    /// The engine that the location names (`rados` in `object+rados:`).
    pub engine: Option<&'a str>,
    /// Creation properties.
    pub create: &'a FileCreate,
    /// Access properties.
    pub access: &'a FileAccess,
    /// Whether an existing container is replaced.
    pub truncate: bool,
    /// The registry that creates inner containers, for connectors that store theirs inside another one.
    pub registry: &'a Registry,
}

impl<'a> ContainerCreate<'a> {
    /// Returns the arguments to create a container at `path`, with a connector that needs no other. An existing container is not replaced.
    pub fn new(path: &'a str, create: &'a FileCreate, access: &'a FileAccess) -> Self {
        ContainerCreate { path, engine: None, create, access, truncate: false, registry: Registry::none() }
    }
}

/// Arguments of [`Connector::open`](crate::Connector::open).
#[derive(Debug, Clone)]
pub struct ContainerOpen<'a> {
    /// The path part of the location.
    pub path: &'a str,
    /// The engine that the location names (`rados` in `object+rados:`).
    pub engine: Option<&'a str>,
    /// Access properties.
    pub access: &'a FileAccess,
    /// The registry that opens inner containers, for connectors that store theirs inside another one.
    pub registry: &'a Registry,
}

impl<'a> ContainerOpen<'a> {
    /// Returns the arguments to open the container at `path`, with a connector that needs no other.
    pub fn new(path: &'a str, access: &'a FileAccess) -> Self {
        ContainerOpen { path, engine: None, access, registry: Registry::none() }
    }
}

/// Arguments of [`LayerFactory::wrap`](crate::LayerFactory::wrap), which puts a layer over a container that was just
/// created or opened.
#[derive(Debug, Clone)]
pub struct Wrap<'a> {
    /// The inner container.
    pub inner: Arc<dyn Container>,
    /// The location of the container, as the caller wrote it.
    pub location: &'a str,
    /// The parameters in the layer's braces.
    pub parameters: &'a Parameters,
    /// How the container was created, or `None` if it was opened.
    pub made: Option<CreateInfo<'a>>,
    /// Access properties.
    pub access: &'a FileAccess,
    /// The registry that creates and opens other containers.
    pub registry: &'a Registry,
}

/// Arguments of [`LayerFactory::check`](crate::LayerFactory::check), for a container that is about to be created or
/// opened. Fields are those of [`Wrap`].
#[derive(Debug, Clone, Copy)]
pub struct WrapCheck<'a> {
    /// The location of the container, as the caller wrote it.
    pub location: &'a str,
    /// The parameters in the layer's braces.
    pub parameters: &'a Parameters,
    /// How the container will be created, or `None` if it will be opened.
    pub made: Option<CreateInfo<'a>>,
    /// Access properties.
    pub access: &'a FileAccess,
    /// The registry that creates and opens other containers.
    pub registry: &'a Registry,
}

/// How a container is created.
#[derive(Debug, Clone, Copy)]
pub struct CreateInfo<'a> {
    /// Creation properties.
    pub create: &'a FileCreate,
    /// Whether an existing container was replaced.
    pub truncate: bool,
}

/// The group and the name of a new link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinkLocation {
    /// The group.
    pub group: Token,
    /// The name in it.
    pub name: String,
    /// Character set of the name.
    pub charset: CharacterSet,
}

impl LinkLocation {
    /// Returns the location of a link named `name` in a group, with a name in UTF-8.
    pub fn new(group: Token, name: impl Into<String>) -> Self {
        let name = name.into();
        let charset = if name.is_ascii() { CharacterSet::Ascii } else { CharacterSet::Utf8 };
        LinkLocation { group, name, charset }
    }
}

/// Creates a group.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OpGroupCreate {
    /// The link to the group; `None` creates an anonymous one.
    pub place: Option<LinkLocation>,
    /// Creation properties.
    pub create: GroupCreate,
}

/// Creates a dataset.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpDatasetCreate {
    /// The link to the dataset; `None` creates an anonymous one.
    pub place: Option<LinkLocation>,
    /// Type, in any form: the container gives its descriptors their sizes.
    pub datatype: Datatype,
    /// The committed datatype it shares, whose type `datatype` is.
    pub committed: Option<Token>,
    /// Extent.
    pub space: Dataspace,
    /// Creation properties. A fill value is in the file datatype of the datatype.
    pub create: DatasetCreate,
}

/// Commits a datatype.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpDatatypeCommit {
    /// The link to the datatype; `None` creates an anonymous one.
    pub place: Option<LinkLocation>,
    /// The type.
    pub datatype: Datatype,
    /// Creation properties.
    pub create: ObjectCreate,
}

/// Creates a map.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpMapCreate {
    /// The link to the map; `None` creates an anonymous one.
    pub place: Option<LinkLocation>,
    /// Type of keys. Neither references nor nested variable-length values.
    pub key: Datatype,
    /// Type of values.
    pub value: Datatype,
    /// Creation properties.
    pub create: ObjectCreate,
}

/// Creates a link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpLinkCreate {
    /// The group and the name.
    pub place: LinkLocation,
    /// The target.
    pub target: LinkTarget,
}

/// Moves or copies a link; the object stays where it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpLinkMove {
    /// The group it is in.
    pub from: Token,
    /// Its name there.
    pub name: String,
    /// Where it goes.
    pub to: LinkLocation,
    /// Whether the old link stays.
    pub copy: bool,
}

/// A page of a listing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpList {
    /// The index that sorts the entries.
    pub index: Index,
    /// The order of the entries.
    pub order: Order,
    /// Entries to skip.
    pub skip: u64,
    /// Entries at most.
    pub count_max: u64,
}

impl Default for OpList {
    fn default() -> Self {
        OpList { index: Index::Name, order: Order::Increasing, skip: 0, count_max: 4096 }
    }
}

/// Follows a path from a group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpLookup {
    /// Where a relative path starts.
    pub from: Token,
    /// The path.
    pub path: String,
    /// Links that may be followed on the way.
    pub traversals_max: u32,
}

/// Creates an attribute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpAttributeCreate {
    /// The object it belongs to.
    pub object: Token,
    /// Name.
    pub name: String,
    /// Character set of the name.
    pub charset: CharacterSet,
    /// Type, in any form.
    pub datatype: Datatype,
    /// The committed datatype it shares.
    pub committed: Option<Token>,
    /// Extent.
    pub space: Dataspace,
}

/// Reads elements: `into` receives them in the file datatype, packed in selection order.
#[derive(Debug)]
pub struct OpRead<'a> {
    /// The dataset.
    pub dataset: Token,
    /// Which elements.
    pub selection: &'a Selection,
    /// The buffer, with space for exactly these elements.
    pub into: &'a mut [u8],
}

/// Asks for the position of elements in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpPlacement {
    /// The dataset.
    pub dataset: Token,
    /// Which elements.
    pub selection: Selection,
}

/// Writes elements: `from` holds them in the file datatype, packed in selection order.
#[derive(Debug, Clone)]
pub struct OpWrite<'a> {
    /// The dataset.
    pub dataset: Token,
    /// Which elements.
    pub selection: &'a Selection,
    /// The elements.
    pub from: &'a [u8],
}

/// Copies an object within one container (`H5Ocopy`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpObjectCopy {
    /// The object.
    pub object: Token,
    /// The link to the copy.
    pub place: LinkLocation,
    /// Options of the copy.
    pub options: CopyOptions,
}

/// Options for copying objects (`H5Pset_copy_object`), inside a container or to another one. By default a copy is
/// deep, and links stay links.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CopyOptions {
    /// Whether only the first level of a group is copied.
    pub shallow: bool,
    /// Whether the targets of soft links are copied, instead of the links.
    pub expand_soft_links: bool,
    /// Whether the targets of external links are copied, instead of the links. This needs a resolver.
    pub expand_external_links: bool,
    /// Whether the targets of references are copied.
    pub expand_references: bool,
    /// Whether attributes are not copied.
    pub without_attributes: bool,
    /// Whether the copy shares committed datatypes of the target that are equal to its own.
    pub merge_committed_types: bool,
}

impl OpObjectCopy {
    /// Returns the arguments of a copy with default options.
    pub fn new(object: Token, place: LinkLocation) -> Self {
        OpObjectCopy { object, place, options: CopyOptions::default() }
    }
}
