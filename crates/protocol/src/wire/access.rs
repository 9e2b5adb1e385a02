//! Arguments for creating and opening containers, as far as they can be sent.

use model::properties::FileCreate;
use model::{Limits, Result};
use vol::*;

use super::form::{choice, structure};
use super::{Reader, Wire};

choice! {
    Access { 0 = Read, 1 = Write }
    Locking { 0 = BestEffort, 1 = Required, 2 = Off }
    LibVersion { 0 = Earliest, 1 = V18, 2 = V110, 3 = V112, 4 = V114, 5 = V200 }
}

structure! {
    VirtualView { first_missing, gap }
    OpenRequest { path, engine, access, create, truncate }
    Wrapping { location, parameters, access, create, truncate }
}

/// A container to be created or opened.
#[derive(Debug, Clone)]
pub struct OpenRequest {
    /// The path part of the location.
    pub path: String,
    /// The engine that the location names.
    pub engine: Option<String>,
    /// Access properties. The resolver stays behind: who carries the rest has to carry it in its own way.
    pub access: FileAccess,
    /// Creation properties; `None` where the container is opened.
    pub create: Option<FileCreate>,
    /// Replace what is there.
    pub truncate: bool,
}

impl OpenRequest {
    /// Returns what a connector is asked to create.
    pub fn create(op: &ContainerCreate<'_>) -> Self {
        OpenRequest {
            path: op.path.to_owned(),
            engine: op.engine.map(str::to_owned),
            access: op.access.clone(),
            create: Some(op.create.clone()),
            truncate: op.truncate,
        }
    }

    /// Returns what a connector is asked to open.
    pub fn open(op: &ContainerOpen<'_>) -> Self {
        OpenRequest {
            path: op.path.to_owned(),
            engine: op.engine.map(str::to_owned),
            access: op.access.clone(),
            create: None,
            truncate: false,
        }
    }
}

/// A layer to be put over a container.
#[derive(Debug, Clone)]
pub struct Wrapping {
    /// Where the container is, as the caller wrote it.
    pub location: String,
    /// The parameters in the layer's braces.
    pub parameters: Parameters,
    /// Access properties, without the resolver.
    pub access: FileAccess,
    /// Creation properties; `None` where the container was opened.
    pub create: Option<FileCreate>,
    /// Whether an existing container was replaced.
    pub truncate: bool,
}

impl Wrapping {
    /// Returns what a layer is asked to wrap.
    pub fn of(op: &Wrap<'_>) -> Self {
        Wrapping {
            location: op.location.to_owned(),
            parameters: op.parameters.clone(),
            access: op.access.clone(),
            create: op.made.map(|made| made.create.clone()),
            truncate: op.made.is_some_and(|made| made.truncate),
        }
    }

    /// Returns how the container was created, as layers learn it.
    pub fn made(&self) -> Option<CreateInfo<'_>> {
        self.create.as_ref().map(|create| CreateInfo { create, truncate: self.truncate })
    }
}

impl Wire for Parameters {
    fn put(&self, out: &mut Vec<u8>) -> Result<()> {
        let pairs: Vec<_> = self.iter().map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
        pairs.put(out)
    }

    fn get(from: &mut Reader<'_>) -> Result<Self> {
        Vec::get(from).map(Parameters::from)
    }
}

/// All but the resolver, the hook and the account of memory, which come back as `None`, where space is taken,
/// the newest version, logs, cache images and how pages and writes are buffered: the other end decides that.
impl Wire for FileAccess {
    fn put(&self, out: &mut Vec<u8>) -> Result<()> {
        let FileAccess {
            access,
            limits,
            budget: _,
            resolver: _,
            driver,
            stack,
            version_low,
            version_high: _,
            chunk_cache_bytes,
            metadata_cache_bytes,
            metadata_cache_log: _,
            metadata_cache_image: _,
            page_buffer: _,
            placement: _,
            durability,
            virtual_view,
            locking,
            swmr,
            write_buffer_bytes: _,
            write_buffer_full: _,
            close_error_hook: _,
            discard_on_drop: _,
            parallel: _,
        } = self;
        access.put(out)?;
        limits.put(out)?;
        driver.put(out)?;
        stack.put(out)?;
        version_low.put(out)?;
        chunk_cache_bytes.put(out)?;
        metadata_cache_bytes.put(out)?;
        durability.put(out)?;
        virtual_view.put(out)?;
        locking.put(out)?;
        swmr.put(out)
    }

    fn get(from: &mut Reader<'_>) -> Result<Self> {
        Ok(FileAccess {
            access: Wire::get(from)?,
            limits: Wire::get(from)?,
            resolver: None,
            driver: Wire::get(from)?,
            stack: Wire::get(from)?,
            version_low: Wire::get(from)?,
            chunk_cache_bytes: Wire::get(from)?,
            metadata_cache_bytes: Wire::get(from)?,
            durability: Wire::get(from)?,
            virtual_view: Wire::get(from)?,
            locking: Wire::get(from)?,
            swmr: Wire::get(from)?,
            ..FileAccess::default()
        })
    }
}

/// Limits may get fields that this list lacks; such a one stays at its default on the other side.
macro_rules! limits {
    ($($field:ident),+ $(,)?) => {
        impl Wire for Limits {
            fn put(&self, out: &mut Vec<u8>) -> Result<()> {
                $( self.$field.put(out)?; )+
                Ok(())
            }

            fn get(from: &mut Reader<'_>) -> Result<Self> {
                let mut limits = Limits::default();
                $( limits.$field = Wire::get(from)?; )+
                Ok(limits)
            }
        }
    };
}

limits!(
    metadata_bytes_max,
    element_bytes_max,
    chunk_bytes_max,
    blob_bytes_max,
    result_bytes_max,
    depth_max,
    link_traversals_max,
    entries_max,
    selection_blocks_max,
    chunk_expansion_free_bytes,
    chunk_expansion_max,
    redo_bytes_max,
    memory_bytes_max,
);
