//! The contract's operations on an open file: one file for each family of them.

mod attributes;
mod contract;
mod datasets;
mod filtered;
mod links;
mod objects;
mod optional;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use system::sync::{Mutex, RwLockReadGuard};

use model::datatype::DescriptorSizes;
use model::{Context, Error, Result, Token};
use vol::{Capability, ContainerInfo, LinkLocation, OpPlacement, Placement};

use crate::file::{File, StableObject};
use crate::format::Address;
use crate::format::layout::{Chunked, Layout};
use crate::gate::Scope;
use crate::maps::Maps;
use crate::object::header::Header;
use crate::object::{dataset, group};
use crate::placement;
use crate::replica::Changes;
use crate::write::Writer;

pub use optional::OverwriteInPlace;

/// The capabilities of this connector.
pub(crate) const CAPABILITY: Capability = Capability::ALL;

/// An open HDF5 file.
#[derive(Debug)]
pub struct NativeContainer {
    pub(crate) file: Arc<File>,
    info: Arc<ContainerInfo>,
    listing: Mutex<Option<links::Listing>>,
    /// The attribute whose type was asked for last: as a rule its value is asked for next.
    attribute: Mutex<Option<attributes::LastAttribute>>,
    pub(crate) closed: AtomicBool,
    /// A caller that made this one holds the file still already.
    pub(crate) is_held: bool,
}

impl NativeContainer {
    pub(crate) fn new(file: Arc<File>) -> Result<Arc<Self>> {
        Self::with(file, false)
    }

    /// Returns a container for a caller that is reading this very file.
    pub(crate) fn within(file: Arc<File>) -> Result<Arc<Self>> {
        Self::with(file, true)
    }

    fn with(file: Arc<File>, is_held: bool) -> Result<Arc<Self>> {
        let info = {
            // What is read while others write must not be kept when it is out of date.
            let _still = if is_held { None } else { file.reading()? };
            Arc::new(describe(&file)?)
        };
        Ok(Arc::new(NativeContainer {
            file,
            info,
            listing: Mutex::new(None),
            attribute: Mutex::new(None),
            closed: AtomicBool::new(false),
            is_held,
        }))
    }

    /// Returns the file, unless it was closed.
    pub(crate) fn open_file(&self) -> Result<&File> {
        match self.closed.load(Ordering::Acquire) {
            true => Err(Error::invalid("use container").with("problem", "it is closed")),
            false => Ok(&self.file),
        }
    }

    /// Returns the file with all changes to an object serialized; no other caller changes it meanwhile.
    fn view(&self, token: Token) -> Result<View<'_>> {
        let file = self.open_file()?;
        let still = if self.is_held { StableObject::Nothing } else { file.reading_object(address(token))? };
        Ok(View { file, _still: still })
    }

    /// Returns what the writer says of an object with changes that the file does not hold, or else what the file says.
    fn look<T>(
        &self,
        token: Token,
        in_memory: impl FnOnce(&Writer) -> Result<Option<T>>,
        stored: impl FnOnce(&View<'_>) -> Result<T>,
    ) -> Result<T> {
        if self.open_file()?.is_dirty(address(token))
            && let Some(writer) = self.reading()?
            && let Some(found) = in_memory(&writer)?
        {
            return Ok(found);
        }
        stored(&self.view(token)?)
    }

    /// Changes that the file need not be asked for.
    fn reading(&self) -> Result<Option<RwLockReadGuard<'_, Writer>>> {
        let file = self.open_file()?;
        if self.is_held { Ok(None) } else { file.reading() }
    }

    /// Returns an object's header, with all changes serialized.
    fn header(&self, token: Token) -> Result<Arc<Header>> {
        self.view(token)?.header(token)
    }

    /// Changes the file, as far as `scope` says.
    pub(crate) fn change<T>(
        &self,
        scope: Scope<'_>,
        change: impl FnOnce(&mut Writer) -> Result<T>,
    ) -> Result<T> {
        match self.open_file()?.writable {
            true => self.change_state(scope, change),
            false => Err(Error::denied("change file").with("problem", "it is open to read")),
        }
    }

    /// Changes these objects, and what is in the file next to elements and extents. Readers of others go on.
    pub(crate) fn change_objects<T>(
        &self,
        objects: &[Address],
        change: impl FnOnce(&mut Writer) -> Result<T>,
    ) -> Result<T> {
        self.change(Scope::Objects(objects), |writer| {
            writer.storage.check_structure()?;
            change(writer)
        })
    }

    /// Changes the structure of any objects: which objects are removed together with others is known only then.
    pub(crate) fn change_structure<T>(&self, change: impl FnOnce(&mut Writer) -> Result<T>) -> Result<T> {
        self.change(Scope::All, |writer| {
            writer.storage.check_structure()?;
            change(writer)
        })
    }

    /// Changes values, which no object leads to yet or any more.
    fn change_values<T>(&self, change: impl FnOnce(&mut Writer) -> Result<T>) -> Result<T> {
        self.change(Scope::Nothing, |writer| {
            writer.storage.check_structure()?;
            change(writer)
        })
    }

    /// Changes what is known of the file, which a handle may that only reads.
    fn change_state<T>(&self, scope: Scope<'_>, change: impl FnOnce(&mut Writer) -> Result<T>) -> Result<T> {
        let file = self.open_file()?;
        let mut writer = file.writer()?;
        let done = {
            let _changing = file.changing(scope);
            let done = change(&mut writer);
            writer.clear_read_marks();
            done?
        };
        writer.trim()?;
        Ok(done)
    }

    /// Returns a dataset, and the view in which it can be read.
    fn dataset(&self, token: Token) -> Result<(View<'_>, Arc<dataset::Dataset>)> {
        let view = self.view(token)?;
        let dataset = view.stored_dataset(token)?;
        if !matches!(dataset.layout, Layout::Virtual { .. }) {
            return Ok((view, dataset));
        }
        let view = match view.file.writer.is_none() || self.is_held {
            true => view,
            false => self.view_of_all(view, token)?,
        };
        let dataset = view.file.dataset(token)?;
        Ok((view, dataset))
    }

    /// Returns all of the file, for a virtual dataset: its sources may be in it, and how far it reaches is theirs to say.
    fn view_of_all(&self, view: View<'_>, token: Token) -> Result<View<'_>> {
        drop(view);
        let file = self.open_file()?;
        file.writer()?.serialize_all()?;
        file.forget(address(token));
        Ok(View { file, _still: file.stable(token)? })
    }

    /// Creates an object, of a committed datatype or not, and links it, or leaves nothing behind. One that `is_early` is written
    /// before it is linked, and changed again: no one may read meanwhile.
    fn create(
        &self,
        place: Option<&LinkLocation>,
        (committed, is_early): (Option<Token>, bool),
        make: impl FnOnce(&mut Writer) -> Result<Address>,
    ) -> Result<Token> {
        let create = |writer: &mut Writer| {
            if let Some(place) = place {
                writer.objects.check_place(place)?;
            }
            let at = make(writer)?;
            if let Some(place) = place {
                writer.objects.link_new(place, at)?;
            }
            Ok(Token::from_u64(at.0))
        };
        if is_early {
            return self.change_structure(create);
        }
        match (place.map(|place| address(place.group)), committed.map(address)) {
            (None, None) => self.change_objects(&[], create),
            (Some(one), None) | (None, Some(one)) => self.change_objects(&[one], create),
            (Some(group), Some(datatype)) => self.change_objects(&[group, datatype], create),
        }
    }

    /// Returns where elements lie, as this process sees the file.
    pub(crate) fn place_stored(&self, op: &OpPlacement) -> Result<Placement> {
        let (view, dataset) = self.dataset(op.dataset)?;
        placement::check_dataset(&dataset, &op.selection)?;
        let parts = placement::parts(view.file, &dataset, &op.selection)?;
        placement::placement(view.file, &dataset, parts)
    }

    /// Forgets what was decoded of elements that are written past this container.
    pub(crate) fn written_by_others(&self, pieces: &[(u64, &[u8])]) -> Result<()> {
        let file = self.open_file()?;
        let ranges: Vec<_> = pieces.iter().map(|(at, bytes)| (*at, bytes.len() as u64)).collect();
        file.store.shared.written_by_others(&ranges);
        file.chunks.forget_all();
        Ok(())
    }

    /// Forgets what was decoded of elements: other processes wrote some.
    pub(crate) fn forget_elements(&self) -> Result<()> {
        let file = self.open_file()?;
        file.chunks.forget_all();
        file.store.shared.forget_pages();
        Ok(())
    }

    /// Forgets the same of one dataset. Where that lies in one piece, the rest of a large cache stays.
    pub(crate) fn forget_elements_of(&self, dataset: Token) -> Result<()> {
        let file = self.open_file()?;
        let known = file.datasets.get(address(dataset));
        match known.as_ref().map(|dataset| &dataset.layout) {
            Some(Layout::Contiguous { address: Some(at), bytes: Some(bytes) }) => {
                let start = file.store.user_block_bytes() + at.0;
                file.store.shared.written_by_others(&[(start, *bytes)]);
                Ok(())
            }
            _ => self.forget_elements(),
        }
    }

    /// Forgets everything that was read: another process changed the file, which ends at the offset `end` now.
    pub(crate) fn forget_all(&self, end: u64) -> Result<()> {
        let file = self.open_file()?;
        file.forget_all(end.saturating_sub(file.store.user_block_bytes()));
        *file.maps.lock() = Maps::default();
        *self.listing.lock() = None;
        *self.attribute.lock() = None;
        Ok(())
    }

    /// Takes note of an object that another process made: its header comes first in these changes.
    pub(crate) fn know_new(&self, changes: &Changes, object: Token) -> Result<()> {
        let file = self.open_file()?;
        file.store.shared.set_end(changes.end.saturating_sub(file.store.user_block_bytes()));
        let ranges: Vec<_> = changes.pieces.iter().map(|(at, bytes)| (*at, bytes.len() as u64)).collect();
        file.store.shared.written_by_others(&ranges);
        file.forget(address(object));
        match changes.pieces.first() {
            Some((_, header)) => file.know_header(address(object), header),
            None => Ok(()),
        }
    }

    fn chunked(&self, token: Token) -> Result<(View<'_>, Arc<dataset::Dataset>, Chunked)> {
        let (view, dataset) = self.dataset(token)?;
        match &dataset.layout {
            Layout::Chunked(layout) => {
                let layout = layout.clone();
                Ok((view, dataset, layout))
            }
            _ => Err(Error::invalid("list chunks").with("problem", "dataset is not chunked")),
        }
    }
}

/// A file of which something stays as it is.
struct View<'f> {
    file: &'f File,
    _still: StableObject<'f>,
}

impl View<'_> {
    fn header(&self, token: Token) -> Result<Arc<Header>> {
        self.file.header_of(token).map_err(|e| self.unknown(token, e))
    }

    /// Returns a dataset as its header has it.
    fn stored_dataset(&self, token: Token) -> Result<Arc<dataset::Dataset>> {
        if let Some(dataset) = self.file.datasets.get(address(token)) {
            return Ok(dataset);
        }
        self.header(token)?;
        self.file.stored_dataset(token)
    }

    /// Returns the error of an unknown token: in an intact file it is the caller's mistake.
    fn unknown(&self, token: Token, error: Error) -> Error {
        match self.file.writer.is_some() {
            true => Error::not_found("open object").with("token", token).because(error),
            false => error,
        }
    }
}

fn address(token: Token) -> Address {
    Address(token.to_u64())
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
        writable: file.writable,
        root: Token::from_u64(root.0),
        descriptors: DescriptorSizes::native(sizes.offset as u32),
        create: file.creation(create),
        storage_bytes: Some(file.store.file_bytes()?),
        versions: vec![
            ("superblock".into(), u32::from(superblock.version)),
            ("free list".into(), 0),
            ("symbol table".into(), 0),
            ("object header".into(), 0),
        ],
        warnings: file.warnings.clone(),
    })
}
