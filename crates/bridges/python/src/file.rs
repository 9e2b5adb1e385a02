//! Opening, creating, committing and closing files.

use std::sync::Arc;

use hyperslab::plist::{CreationOrder, FileCreate, SpaceStrategy};
use hyperslab::vol::{Access, Container, Durability, FileAccess, LibVersion, Locking, Registry};
use hyperslab::{Kind, Result};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::errors::{OrRaise, raised_by_open};
use crate::file_object::{self, FileObjectDriver, SharedObject};
use crate::object::Object;
use crate::resolver::Neighbours;
use crate::session::Session;

/// Options of `open`, as Python names them.
#[derive(Debug, FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct OpenOptions {
    low: Option<String>,
    high: Option<String>,
    swmr: bool,
    driver: Option<String>,
    stack: Option<String>,
    locking: Option<String>,
    chunk_cache_bytes: Option<u64>,
    page_buffer_bytes: Option<u64>,
    alignment: Option<(u64, u64)>,
    metadata_block_bytes: Option<u64>,
    durability: Option<String>,
    userblock: u64,
    track_order: bool,
    track_times: bool,
    strategy: Option<String>,
    persist: bool,
    threshold: u64,
    page_bytes: Option<u64>,
}

fn version(name: &str) -> PyResult<LibVersion> {
    Ok(match name {
        "earliest" => LibVersion::Earliest,
        "v108" => LibVersion::V18,
        "v110" => LibVersion::V110,
        "v112" => LibVersion::V112,
        "v114" => LibVersion::V114,
        "v200" | "latest" => LibVersion::LATEST,
        other => return Err(PyValueError::new_err(format!("unknown library version {other:?}"))),
    })
}

/// Returns what `best-effort`, `true` or `false` stands for.
pub(crate) fn locking(name: &str) -> Locking {
    match name {
        "best-effort" => Locking::BestEffort,
        "true" => Locking::Required,
        _ => Locking::Off,
    }
}

fn durability(name: &str) -> PyResult<Durability> {
    Ok(match name {
        "full" => Durability::Full,
        "ordered" => Durability::Ordered,
        "none" => Durability::None,
        other => return Err(PyValueError::new_err(format!("unknown durability {other:?}"))),
    })
}

fn strategy(name: &str) -> PyResult<SpaceStrategy> {
    Ok(match name {
        "fsm" => SpaceStrategy::FsmAggregate,
        "page" => SpaceStrategy::Page,
        "aggregate" => SpaceStrategy::Aggregate,
        "none" => SpaceStrategy::None,
        _ => return Err(PyValueError::new_err("Invalid file space strategy type")),
    })
}

impl OpenOptions {
    fn access(&self, access: Access) -> PyResult<FileAccess> {
        let mut all = FileAccess { access, swmr: self.swmr, ..FileAccess::default() };
        (all.driver, all.stack) = (self.driver.clone(), self.stack.clone());
        (all.chunk_cache_bytes, all.page_buffer.bytes) =
            (self.chunk_cache_bytes, self.page_buffer_bytes.unwrap_or(0));
        if let Some(low) = &self.low {
            all.version_low = version(low)?;
        }
        all.version_high = self.high.as_deref().filter(|high| *high != "latest").map(version).transpose()?;
        if let Some((threshold, interval)) = self.alignment {
            (all.placement.alignment_threshold, all.placement.alignment) = (threshold, interval.max(1));
        }
        all.placement.metadata_block_bytes = self.metadata_block_bytes.unwrap_or(0);
        if let Some(name) = &self.durability {
            all.durability = durability(name)?;
        }
        all.locking = self.locking.as_deref().map_or(Locking::BestEffort, locking);
        Ok(all)
    }

    fn create(&self) -> PyResult<FileCreate> {
        let mut create = FileCreate { userblock_bytes: self.userblock, ..FileCreate::default() };
        if let Some(name) = &self.strategy {
            create.space_strategy = strategy(name)?;
            (create.space_persist, create.space_threshold) = (self.persist, self.threshold);
        }
        if let Some(bytes) = self.page_bytes {
            create.page_bytes = bytes;
        }
        create.root.object.track_times = self.track_times;
        if self.track_order {
            create.root.link_order = CreationOrder::Indexed;
            create.root.object.attribute_order = CreationOrder::Indexed;
        }
        Ok(create)
    }
}

/// Opens or creates a file and returns its root group. `mode` is `r`, `r+`, `w`, `x` or `a`.
#[pyfunction]
pub(crate) fn open(py: Python<'_>, location: &str, mode: &str, options: OpenOptions) -> PyResult<Object> {
    open_in(py, &hyperslab::registry(), location, mode, &options)
}

/// Opens or creates a file in a Python file object and returns its root group.
#[pyfunction]
pub(crate) fn open_object(
    py: Python<'_>,
    object: Py<PyAny>,
    name: &str,
    mode: &str,
    mut options: OpenOptions,
) -> PyResult<Object> {
    let mut registry = hyperslab::registry();
    let shared = SharedObject::new(object);
    registry.register_driver(Arc::new(FileObjectDriver(shared.clone()))).or_raise()?;
    options.driver = Some(file_object::DRIVER.to_owned());
    let root = open_in(py, &registry, name, mode, &options)?;
    root.session.keep_until_closed(shared);
    Ok(root)
}

fn open_in(
    py: Python<'_>,
    registry: &Registry,
    location: &str,
    mode: &str,
    options: &OpenOptions,
) -> PyResult<Object> {
    let access = options.access(if mode == "r" { Access::Read } else { Access::Write })?;
    let neighbours = Neighbours::new(hyperslab::registry());
    let access = access.with_resolver(neighbours.clone());
    let create = options.create()?;
    let opened = py.detach(|| {
        let make = |truncate| registry.create(location, &create, &access, truncate);
        let container = match mode {
            "r" | "r+" => open_existing(registry, location, &access)?,
            "w" => make(true)?,
            "x" | "w-" => make(false)?,
            _ => match registry.open(location, &access) {
                Err(error) if error.kind() == Kind::NotFound => make(false)?,
                opened => opened?,
            },
        };
        let session = Session::new(container, registry.clone(), location, access.clone())?;
        session.set_neighbours(neighbours);
        root_of(Ok(session))
    });
    opened.map_err(|error| raised_by_open(&error))
}

/// Opens what exists. A file that no program can be writing for readers (SWMR) is opened as any other.
fn open_existing(registry: &Registry, location: &str, access: &FileAccess) -> Result<Arc<dyn Container>> {
    match registry.open(location, access) {
        Err(error) if access.swmr && error.kind() == Kind::Invalid => {
            registry.open(location, &FileAccess { swmr: false, ..access.clone() })
        }
        opened => opened,
    }
}

fn root_of(session: Result<Arc<Session>>) -> Result<Object> {
    let session = session?;
    let root = session.root;
    Ok(Object::new(session, root))
}

/// Opens the image of a file that is in memory and returns its root group.
#[pyfunction]
pub(crate) fn open_image(py: Python<'_>, image: Vec<u8>, write: bool) -> PyResult<Object> {
    let access = if write { FileAccess::write() } else { FileAccess::read() };
    let opened = py.detach(|| {
        let file = hyperslab::File::from_image_with(image, &access)?;
        let container = file.container().clone();
        root_of(Session::new(container, hyperslab::registry(), "(image)", access.clone()))
    });
    opened.map_err(|error| raised_by_open(&error))
}

/// Whether there is a file at a location that this library opens.
#[pyfunction]
pub(crate) fn is_accessible(py: Python<'_>, location: &str) -> bool {
    let registry = hyperslab::registry();
    py.detach(|| registry.is_accessible(location, &FileAccess::read()).unwrap_or(false))
}

#[pymethods]
impl Object {
    /// Makes all changes so far one commit. `promise` is `full`, `ordered` or `none`; else that of the file.
    #[pyo3(signature = (promise = None))]
    fn commit(&self, py: Python<'_>, promise: Option<&str>) -> PyResult<()> {
        let promise = promise.map_or(Ok(self.session.access.durability), durability)?;
        py.detach(|| self.container().commit(promise)).or_raise()
    }

    /// Commits and closes the file.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| self.session.close()).or_raise()
    }

    /// Lets other programs read the file while this one goes on.
    fn start_swmr(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| self.container().start_swmr()).or_raise()
    }

    /// Connector, whether it is writable, bytes of the user block, bytes in storage, whether links are in creation
    /// order.
    fn file_info(&self, py: Python<'_>) -> PyResult<(String, bool, u64, Option<u64>, bool)> {
        let info = self.free(py, || self.container().info()).or_raise()?;
        let is_ordered = info.create.root.link_order != CreationOrder::Untracked;
        let create = &info.create;
        Ok((info.connector.clone(), info.writable, create.userblock_bytes, info.storage_bytes, is_ordered))
    }

    /// Space strategy, whether free space is kept, its threshold and the bytes of a page.
    fn space_info(&self, py: Python<'_>) -> PyResult<(&'static str, bool, u64, u64)> {
        let info = self.free(py, || self.container().info()).or_raise()?;
        let create = &info.create;
        let name = match create.space_strategy {
            SpaceStrategy::FsmAggregate => "fsm",
            SpaceStrategy::Page => "page",
            SpaceStrategy::Aggregate => "aggregate",
            SpaceStrategy::None => "none",
        };
        Ok((name, create.space_persist, create.space_threshold, create.page_bytes))
    }

    /// The bytes of the file, after a commit of all changes.
    fn image<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let session = &self.session;
        let image = py.detach(|| {
            let file = hyperslab::File::from_container(
                session.container.clone(),
                &session.location,
                &session.access,
            )?;
            file.image()
        });
        Ok(PyBytes::new(py, &image.or_raise()?))
    }
}
