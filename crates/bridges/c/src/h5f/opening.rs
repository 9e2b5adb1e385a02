//! Opening and creating containers, and sharing those that are open already.

use std::ffi::c_uint;
use std::path::Path;
use std::sync::Arc;

use hyperslab::Kind;
use hyperslab::vol::model::properties::{FileCreate, SpaceStrategy};
use hyperslab::vol::model::text::{from_path, to_path};
use hyperslab::vol::{
    Access, Durability, FileAccess, FilePlacement, Locking, MetadataCacheLog, PageBuffer, Registry,
};

use super::image::ImageDriver;
use super::resolver::{Rules, candidates};
use super::{FileHandle, OpenedFile, SharedFile, already_open, flags, locations};
use crate::codes::{Major, Minor};
use crate::failure::{Failure, Fallible};
use crate::h5fd::DriverInfo;
use crate::h5p::file_cache::cache_bytes;
use crate::h5p::values::{FileAccessValues, LinkAccessValues};
use crate::h5vl::with_log_variables;

/// Chooses the guarantee of a flush: `full` (the default), `ordered` or `none`.
const DURABILITY_VARIABLE: &str = "HYPERSLAB_DURABILITY";

/// What a property list chooses: where connectors, drivers and filters are found, layers over the connector, the driver.
pub(super) struct Choice {
    pub(super) registry: Registry,
    stack: Option<String>,
    pub(super) driver: Option<String>,
}

impl Choice {
    /// Returns the choice for a file that is there. An image is the content of one in memory.
    pub(super) fn of(values: &FileAccessValues) -> Fallible<Self> {
        let mut choice = Self::without_image(values)?;
        if values.image.is_some() && choice.is_in_memory() {
            let driver = ImageDriver::new(values.image.clone(), values.image_callbacks.clone());
            choice.set_driver(driver)?;
        }
        Ok(choice)
    }

    /// Returns the choice for a file that is created. One in memory lies in memory of the program's functions, if it has any.
    fn of_new(values: &FileAccessValues) -> Fallible<Self> {
        let mut choice = Self::without_image(values)?;
        let info = values.driver.as_ref().and_then(|driver| driver.info.as_deref());
        let is_stored = matches!(info, Some(DriverInfo::Core { backing_store: true, .. }));
        if values.image_callbacks.is_some() && choice.is_in_memory() && !is_stored {
            choice.set_driver(ImageDriver::new(None, values.image_callbacks.clone()))?;
        }
        Ok(choice)
    }

    fn without_image(values: &FileAccessValues) -> Fallible<Self> {
        let (mut registry, stack) = crate::h5vl::chosen(values.connector.as_ref())?;
        let driver = crate::h5fd::prepare(&mut registry, values)?;
        let registry = crate::mpi::registry_for(registry, values)?;
        Ok(Choice { registry, stack, driver })
    }

    fn is_in_memory(&self) -> bool {
        self.driver.as_deref().and_then(|text| text.split('{').next()) == Some("core")
    }

    fn set_driver(&mut self, driver: ImageDriver) -> Fallible<()> {
        self.registry.register_driver(Arc::new(driver))?;
        self.driver = Some(ImageDriver::NAME.to_owned());
        Ok(())
    }
}

fn durability() -> Durability {
    match std::env::var(DURABILITY_VARIABLE).as_deref() {
        Ok("none") => Durability::None,
        Ok("ordered") => Durability::Ordered,
        _ => Durability::Full,
    }
}

fn locking(values: &FileAccessValues) -> Locking {
    match values.locking {
        None | Some((true, true)) => Locking::BestEffort,
        Some((true, false)) => Locking::Required,
        Some((false, _)) => Locking::Off,
    }
}

/// Returns where space is taken. Metadata has blocks of its own only if a program asks for another size than the usual one.
fn placement(values: &FileAccessValues) -> FilePlacement {
    let usual = FileAccessValues::default().metadata_block_bytes;
    FilePlacement {
        alignment_threshold: values.alignment_threshold,
        alignment: values.alignment,
        metadata_block_bytes: Some(values.metadata_block_bytes).filter(|bytes| *bytes != usual).unwrap_or(0),
    }
}

/// Returns the log of the metadata cache, if one is asked for.
fn cache_log(values: &FileAccessValues) -> Option<MetadataCacheLog> {
    let (_, path, starts_on_open) = values.metadata_log.clone().filter(|(is_enabled, ..)| *is_enabled)?;
    Some(MetadataCacheLog { path, starts_on_open })
}

/// Returns the page buffer, which a file without pages does not have.
fn page_buffer(values: &FileAccessValues) -> PageBuffer {
    let (bytes, metadata_percent_min, raw_percent_min) = values.page_buffer;
    PageBuffer { bytes: bytes as u64, metadata_percent_min, raw_percent_min }
}

/// Returns access properties as the library has them.
fn file_access(values: &FileAccessValues, choice: &Choice, rules: &Arc<Rules>, intent: c_uint) -> FileAccess {
    let is_writable = intent & flags::RDWR != 0;
    FileAccess {
        access: if is_writable { Access::Write } else { Access::Read },
        resolver: Some(rules.clone()),
        driver: choice.driver.clone(),
        stack: choice.stack.clone(),
        version_low: values.version_low,
        version_high: Some(values.version_high),
        chunk_cache_bytes: None,
        metadata_cache_bytes: cache_bytes(values),
        metadata_cache_log: cache_log(values),
        metadata_cache_image: values.metadata_cache_image.is_some_and(|(is_generated, ..)| is_generated),
        page_buffer: page_buffer(values),
        placement: placement(values),
        durability: durability(),
        locking: locking(values),
        swmr: intent & (flags::SWMR_WRITE | flags::SWMR_READ) != 0,
        parallel: crate::mpi::parallel_access(values),
        ..FileAccess::default()
    }
}

/// Returns the device and number of the file at a location, if it is one.
fn identity(location: &str) -> Option<(u64, u64)> {
    let path = to_path(location);
    path.is_file().then(|| system::file::identity_at(&path).ok()).flatten()
}

/// Returns whether two files have the same content: revisions of one file do not.
fn is_same_revision(file: &SharedFile, values: &FileAccessValues) -> bool {
    let is_onion = |driver: Option<&str>| driver.is_some_and(|driver| driver.starts_with("onion"));
    let wanted = values.driver.as_ref().and_then(|choice| choice.text.as_deref());
    let opened = file.access.driver.as_deref();
    !(is_onion(opened) || is_onion(wanted)) || opened == wanted
}

fn is_same_place(file: &SharedFile, location: &str) -> bool {
    match (identity(&file.location), identity(location)) {
        (Some(a), Some(b)) => a == b,
        _ => file.location == location,
    }
}

/// Says whether a container is at a path: a file, or what the connector of the properties has there.
pub(super) fn is_container(path: &Path, values: &FileAccessValues) -> bool {
    let location = from_path(path);
    if path.is_file() || already_open(|file| file.location == location).is_some() {
        return true;
    }
    // What a file leads to is on the network only where that is allowed.
    locations::of_name(&location, values).is_ok()
        && Choice::of(values).is_ok_and(|choice| {
            let access = FileAccess { driver: choice.driver, ..FileAccess::read() };
            choice.registry.is_accessible(&location, &access).unwrap_or(false)
        })
}

/// Returns the failure to open a file, in the words that programs look for.
fn cannot_open(name: &str, intent: c_uint, error: hyperslab::Error) -> Failure {
    let errno = match error.kind() {
        Kind::NotFound => Some((2, "No such file or directory")),
        Kind::Denied => Some((13, "Permission denied")),
        Kind::Busy => Some((11, "Resource temporarily unavailable")),
        _ => None,
    };
    let reason = error.root_cause().to_string();
    let text = match (errno, error.kind()) {
        (Some((number, _)), Kind::Busy) => {
            format!(
                "unable to lock file, errno = {number}, error message = 'Resource temporarily unavailable': {reason}"
            )
        }
        (Some((number, message)), _) => format!(
            "unable to open file: name = '{name}', errno = {number}, error message = '{message}', flags = {intent:x}, \
             o_flags = {intent:x}"
        ),
        (None, Kind::Corrupt) => format!("file signature not found or file damaged: {reason}"),
        (None, _) => format!("unable to open file: name = '{name}': {reason}"),
    };
    Failure { cause: Some(Box::new(error)), ..Failure::new(Major::FILE, Minor::CANTOPENFILE, text) }
}

/// Opens the container at a location, or shares the one that is open.
pub(super) fn open_shared(
    name: &str,
    intent: c_uint,
    values: &FileAccessValues,
    is_path: bool,
) -> Fallible<Arc<SharedFile>> {
    let location = if is_path { name.to_owned() } else { locations::of_name(name, values)? };
    if let Some(shared) =
        already_open(|file| is_same_place(file, &location) && is_same_revision(file, values))
    {
        if locking(values) != shared.access.locking {
            let text = "unable to open file: file locking flag values don't match";
            return Err(Failure::new(Major::FILE, Minor::CANTOPENFILE, text));
        }
        return match intent & flags::RDWR != 0 && !shared.is_writable {
            true => Err(Failure::new(
                Major::FILE,
                Minor::CANTOPENFILE,
                "unable to open file: file is already open for read-only",
            )),
            false => Ok(shared),
        };
    }
    let choice = Choice::of(values)?;
    let rules = Arc::new(Rules::of_environment());
    let mut access = file_access(values, &choice, &rules, intent);
    let place = with_log_variables(&location, &choice.registry);
    let mut opened = choice.registry.open(&place, &access);
    if intent & flags::SWMR_READ != 0 && opened.as_ref().is_err_and(|error| error.kind() == Kind::Invalid) {
        // A file that no one can write with SWMR is read as it is.
        access.swmr = false;
        opened = choice.registry.open(&place, &access);
    }
    let container = opened.map_err(|error| cannot_open(name, intent, error))?;
    let values = with_page_buffer(values, &container.info()?.create);
    SharedFile::new(OpenedFile {
        container,
        location,
        access,
        rules,
        values,
        is_writable: intent & flags::RDWR != 0,
        is_swmr: intent & flags::SWMR_WRITE != 0,
    })
}

/// Checks that a page buffer, if one is asked for, fits the pages of a file.
fn check_page_buffer(values: &FileAccessValues, create: &FileCreate) -> Fallible<()> {
    let failed = |text: &'static str| Err(Failure::new(Major::FILE, Minor::CANTOPENFILE, text));
    match values.page_buffer.0 {
        0 => Ok(()),
        _ if create.space_strategy != SpaceStrategy::Page => {
            failed("Enabling Page Buffering requires PAGE file space strategy")
        }
        bytes if (bytes as u64) < create.page_bytes => failed("Page Buffer size must be >= to the page size"),
        _ => Ok(()),
    }
}

/// Returns access properties with the page buffer that a file can have: whole pages, at least one, and none without pages.
fn with_page_buffer(values: &FileAccessValues, create: &FileCreate) -> FileAccessValues {
    let mut values = values.clone();
    let page = usize::try_from(create.page_bytes).unwrap_or(usize::MAX).max(1);
    values.page_buffer = match (values.page_buffer, create.space_strategy) {
        ((bytes @ 1.., metadata, raw), SpaceStrategy::Page) => ((bytes / page).max(1) * page, metadata, raw),
        _ => (0, 0, 0),
    };
    values
}

/// Opens a file that a program names.
pub(super) fn open(name: &str, intent: c_uint, values: &FileAccessValues) -> Fallible<Arc<FileHandle>> {
    let shared = open_shared(name, intent, values, false)?;
    Ok(FileHandle::new(shared, name, intent))
}

/// Creates a file that a program names.
pub(super) fn create(
    name: &str,
    intent: c_uint,
    create: &FileCreate,
    values: &FileAccessValues,
) -> Fallible<Arc<FileHandle>> {
    let location = locations::of_name(name, values)?;
    if already_open(|file| is_same_place(file, &location)).is_some() {
        let text = "unable to create file: file is already open";
        return Err(Failure::new(Major::FILE, Minor::CANTOPENFILE, text));
    }
    check_page_buffer(values, create)?;
    let values = &with_page_buffer(values, create);
    let choice = Choice::of_new(values)?;
    let rules = Arc::new(Rules::of_environment());
    let access = file_access(values, &choice, &rules, flags::RDWR | intent);
    let truncate = intent & flags::TRUNC != 0;
    let place = with_log_variables(&location, &choice.registry);
    let made = choice.registry.create(&place, create, &access, truncate).map_err(|error| match error.kind() {
        Kind::Exists => {
            let text = format!(
                "unable to open file: name = '{name}', errno = 17, error message = 'File exists', flags = {intent:x}, \
                 o_flags = {intent:x}"
            );
            Failure { cause: Some(Box::new(error)), ..Failure::new(Major::FILE, Minor::CANTOPENFILE, text) }
        }
        _ => cannot_open(name, intent, error),
    })?;
    let shared = SharedFile::new(OpenedFile {
        container: made,
        location,
        access,
        rules,
        values: values.clone(),
        is_writable: true,
        is_swmr: intent & flags::SWMR_WRITE != 0,
    })?;
    Ok(FileHandle::new(shared, name, flags::RDWR | intent & flags::SWMR_WRITE))
}

/// Opens the same container once more.
pub(super) fn reopen(file: &FileHandle) -> Arc<FileHandle> {
    FileHandle::new(file.shared.clone(), &file.name, file.intent)
}

/// Where an external link leads to.
#[derive(Debug)]
pub(crate) struct ExternalTarget<'a> {
    /// The file that the link is in.
    pub(crate) from: &'a Arc<FileHandle>,
    /// The path of the group that the link is in.
    pub(crate) group: String,
    /// The file that the link names.
    pub(crate) file: &'a str,
    /// The object that the link names.
    pub(crate) object: &'a str,
}

/// Opens the file that an external link leads to.
pub(crate) fn open_external(
    target: &ExternalTarget<'_>,
    access: &LinkAccessValues,
) -> Fallible<Arc<FileHandle>> {
    let parent = &target.from;
    let values = match &access.external_access {
        Some(values) => (**values).clone(),
        None => parent.shared.values.read().clone(),
    };
    let mut intent = match access.external_flags {
        Some(chosen) if chosen != flags::DEFAULT => chosen,
        _ => parent.intent & (flags::RDWR | flags::SWMR_READ | flags::SWMR_WRITE),
    };
    call_back(target, access, &values, &mut intent)?;
    let environment = std::env::var("HDF5_EXT_PREFIX").ok();
    let prefixes = [environment.as_deref(), access.external_prefix.as_deref()];
    let tried = candidates(target.file, &parent.shared.location, &prefixes);
    let found = tried.iter().find(|path| is_container(path, &values));
    let Some(found) = found else {
        let text = format!(
            "unable to open external file, external link file name = '{}', temp_file_name = '{}'",
            target.file, target.file
        );
        return Err(Failure::new(Major::LINK, Minor::CANTOPENOBJ, text));
    };
    locations::check_root(found)?;
    let name = from_path(found);
    let shared = open_shared(&name, intent, &values, true).map_err(|failure| Failure {
        major: Some(Major::LINK),
        text: format!(
            "unable to open external file, external link file name = '{}': {}",
            target.file, failure.text
        )
        .into(),
        ..failure
    })?;
    if !Arc::ptr_eq(&shared, &parent.shared) {
        parent.shared.cache_external(&shared)?;
    }
    Ok(FileHandle::new(shared, &name, intent))
}

/// Asks the program's function about an external link that is about to be followed.
fn call_back(
    target: &ExternalTarget<'_>,
    access: &LinkAccessValues,
    values: &FileAccessValues,
    intent: &mut c_uint,
) -> Fallible<()> {
    let (Some(function), data) = access.external_callback else { return Ok(()) };
    let text = crate::stack::c_text;
    let (file, group) = (text(&target.from.name), text(&target.group));
    let (child, object) = (text(target.file), text(target.object));
    let list = crate::h5p::register_file_access(values.clone());
    let data = data.map_or(std::ptr::null_mut(), |data| data.0);
    // SAFETY: the texts live until the function returns; the program gave the function and its data together.
    let answer = unsafe {
        function(file.as_ptr(), group.as_ptr(), child.as_ptr(), object.as_ptr(), intent, list, data)
    };
    crate::ids::remove_reference(list)?;
    if answer < 0 {
        return Err(Failure::callback("traversal operator failed").as_major(Major::LINK));
    }
    Ok(())
}
