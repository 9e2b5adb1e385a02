//! Conversions that programs register.
//!
//! A conversion works on elements in C's form. Functions of programs run on the thread that called.

use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock};

use hyperslab::vol::model::convert::{Conversions, Convert};
use hyperslab::vol::model::datatype::{ByteOrder, Datatype};
use system::sync::Mutex;

use super::exceptions::{TypeIds, exception};
use super::{same, view};
use crate::api;
use crate::arguments::{Opaque, Text};
use crate::codes::{Major, Minor};
use crate::failure::{Failure, Fallible};
use crate::ffi::{herr_t, hid_t};
use crate::h5p::values::TransferValues;
use crate::handles::{MemoryType, NOTHING};
use crate::stack;

/// `H5T_cdata_t`
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct H5T_cdata_t {
    /// `H5T_cmd_t`
    pub command: c_int,
    /// `H5T_bkg_t`
    pub need_bkg: c_int,
    /// Nothing is computed again.
    pub recalc: bool,
    /// The function's own.
    pub private: *mut c_void,
}

// SAFETY: the pointer is the program's function's own, and only handed back to it.
unsafe impl Send for H5T_cdata_t {}
// SAFETY: as above.
unsafe impl Sync for H5T_cdata_t {}

/// `H5T_cmd_t`
pub(super) mod command {
    use super::c_int;
    pub(in crate::h5t) const INIT: c_int = 0;
    pub(in crate::h5t) const CONV: c_int = 1;
    pub(in crate::h5t) const FREE: c_int = 2;
}

/// `H5T_bkg_t`
pub(super) mod background {
    use super::c_int;
    pub(in crate::h5t) const NO: c_int = 0;
    pub(in crate::h5t) const TEMP: c_int = 1;
    pub(in crate::h5t) const YES: c_int = 2;
}

/// `H5T_conv_t`
pub type ConvertFunction = Option<
    unsafe extern "C" fn(
        hid_t,
        hid_t,
        *mut H5T_cdata_t,
        usize,
        usize,
        usize,
        *mut c_void,
        *mut c_void,
        hid_t,
    ) -> herr_t,
>;

/// `H5T_pers_t`
mod persistence {
    use super::c_int;
    pub(super) const ANY: c_int = -1;
    pub(super) const HARD: c_int = 0;
    pub(super) const SOFT: c_int = 1;
}

/// A conversion that a program registered.
#[derive(Clone)]
struct Entry {
    persistence: c_int,
    name: String,
    source: Datatype,
    target: Datatype,
    function: ConvertFunction,
}

/// A conversion for a pair of types, initialized.
pub(super) struct Path {
    source: Datatype,
    target: Datatype,
    ids: TypeIds,
    is_hard: bool,
    pub(super) function: ConvertFunction,
    /// In a box of its own: `H5Tfind` returns its address.
    pub(super) data: Box<Mutex<H5T_cdata_t>>,
}

impl Path {
    /// Returns a path whose function accepted the types.
    fn new(entry: &Entry, source: &Datatype, target: &Datatype) -> Option<Arc<Path>> {
        let data =
            H5T_cdata_t { command: command::INIT, need_bkg: background::NO, recalc: false, private: NOTHING };
        let path = Path {
            source: source.clone(),
            target: target.clone(),
            ids: TypeIds::of(source, target),
            is_hard: entry.persistence == persistence::HARD,
            function: entry.function,
            data: Box::new(Mutex::new(data)),
        };
        let is_accepted = path.call(command::INIT, &path.ids, 0, (NOTHING, NOTHING), 0).is_ok();
        if !is_accepted {
            stack::clear();
        }
        is_accepted.then(|| Arc::new(path))
    }

    fn call(
        &self,
        command: c_int,
        ids: &TypeIds,
        count: usize,
        buffers: (*mut c_void, *mut c_void),
        list: hid_t,
    ) -> Fallible<()> {
        let Some(function) = self.function else { return Err(Failure::argument("no conversion function")) };
        // The function may convert by this path again, so that it gets a copy.
        let mut data = *self.data.lock();
        data.command = command;
        let data_pointer = &raw mut data;
        // SAFETY: the program registered the function for these types; buffers have `count` elements of either.
        let status = unsafe { function(ids.0, ids.1, data_pointer, count, 0, 0, buffers.0, buffers.1, list) };
        *self.data.lock() = data;
        match status {
            failed if failed < 0 => {
                Err(Failure::callback("datatype conversion failed").as_minor(Minor::CANTCONVERT))
            }
            _ => Ok(()),
        }
    }

    /// Converts `count` elements in place. `buffer` has space for the larger of both types.
    pub(super) fn run(
        &self,
        (source, target): (&Datatype, &Datatype),
        buffer: &mut [u8],
        background: &mut [u8],
        count: usize,
        list: hid_t,
    ) -> Fallible<()> {
        let buffers = (buffer.as_mut_ptr().cast(), background.as_mut_ptr().cast());
        // Types that are equal may differ in the character set of their strings, which the function may look at.
        if self.source == *source && self.target == *target {
            return self.call(command::CONV, &self.ids, count, buffers, list);
        }
        self.call(command::CONV, &TypeIds::of(source, target), count, buffers, list)
    }

    /// Returns whether the function looks at the elements that are replaced.
    pub(super) fn needs_background(&self) -> bool {
        self.data.lock().need_bkg != background::NO
    }

    fn is_for(&self, source: &Datatype, target: &Datatype) -> bool {
        same(&self.source, source) && same(&self.target, target)
    }
}

impl Drop for Path {
    fn drop(&mut self) {
        let _ = self.call(command::FREE, &self.ids, 0, (NOTHING, NOTHING), 0);
    }
}

#[derive(Default)]
struct Registry {
    entries: Vec<Entry>,
    paths: Vec<Arc<Path>>,
    /// Pairs that no function wanted, so that they are asked once.
    refused: Vec<(Datatype, Datatype)>,
}

static REGISTRY: LazyLock<Mutex<Registry>> = LazyLock::new(Mutex::default);

/// Entries, so that a process without any pays nothing.
static COUNT: AtomicUsize = AtomicUsize::new(0);

/// Returns whether no program registered a conversion.
pub(super) fn is_empty() -> bool {
    COUNT.load(Ordering::Acquire) == 0
}

/// Returns whether the library's own conversion is that of the machine: no soft conversion replaces it.
pub(super) fn is_compiled(source: &Datatype, target: &Datatype) -> bool {
    let is_native = |t: &Datatype| match t {
        Datatype::Integer(t) => t.bits.is_full() && t.bits.size <= 8 && t.bits.order == ByteOrder::NATIVE,
        Datatype::Float(_) => {
            let native = ByteOrder::NATIVE;
            [Datatype::ieee_f16(native), Datatype::ieee_f32(native), Datatype::ieee_f64(native)].contains(t)
                || *t == super::predefined::long_double()
        }
        _ => false,
    };
    match (source, target) {
        (Datatype::Complex(a), Datatype::Complex(b)) => is_native(&a.base) && is_native(&b.base),
        (Datatype::Complex(a), b) => is_native(&a.base) && is_native(b),
        (a, Datatype::Complex(b)) => is_native(a) && is_native(&b.base),
        (a, b) => is_native(a) && is_native(b),
    }
}

/// Returns the program's conversion for a pair of types, if there is one.
pub(super) fn find(source: &Datatype, target: &Datatype) -> Option<Arc<Path>> {
    if is_empty() || same(source, target) {
        return None;
    }
    let candidates = {
        let registry = REGISTRY.lock();
        let known =
            |hard: bool| registry.paths.iter().rev().find(|p| p.is_hard == hard && p.is_for(source, target));
        if let Some(path) = known(true).or_else(|| known(false)) {
            return Some(path.clone());
        }
        let is_wanted = |e: &&Entry| {
            e.persistence == persistence::SOFT
                && (e.source.class(), e.target.class()) == (source.class(), target.class())
        };
        let mut candidates = registry.entries.iter().rev().filter(is_wanted).peekable();
        let is_refused = || registry.refused.iter().any(|(a, b)| a == source && b == target);
        if candidates.peek().is_none() || is_compiled(source, target) || is_refused() {
            return None;
        }
        candidates.cloned().collect::<Vec<Entry>>()
    };
    // Functions of programs may call the library: the registry is not locked meanwhile.
    let path = candidates.iter().find_map(|entry| Path::new(entry, source, target));
    let mut registry = REGISTRY.lock();
    match &path {
        Some(path) => registry.paths.push(path.clone()),
        None => registry.refused.push((source.clone(), target.clone())),
    }
    path
}

fn register(entry: Entry) -> Fallible<()> {
    let path = match entry.persistence {
        persistence::HARD => {
            let path = Path::new(&entry, &entry.source, &entry.target);
            let failed = || {
                Failure::new(Major::DATATYPE, Minor::CANTINIT, "unable to locate/allocate conversion path")
            };
            Some(path.ok_or_else(failed)?)
        }
        _ => None,
    };
    let mut registry = REGISTRY.lock();
    let is_replaced = |old: &Arc<Path>| match &path {
        Some(new) => old.is_for(&new.source, &new.target),
        // A new soft conversion is asked before older ones.
        None => {
            !old.is_hard
                && (old.source.class(), old.target.class()) == (entry.source.class(), entry.target.class())
        }
    };
    let (gone, mut paths): (Vec<_>, Vec<_>) = registry.paths.drain(..).partition(is_replaced);
    paths.extend(path);
    registry.paths = paths;
    registry.refused.clear();
    registry.entries.push(entry);
    COUNT.store(registry.entries.len(), Ordering::Release);
    drop(registry);
    drop(gone);
    Ok(())
}

/// What conversions `H5Tunregister` removes; `None` is any.
struct Unwanted {
    persistence: c_int,
    name: Option<String>,
    source: Option<MemoryType>,
    target: Option<MemoryType>,
    function: ConvertFunction,
}

impl Unwanted {
    fn is(&self, entry: &Entry) -> bool {
        let is_type = |wanted: &Option<MemoryType>, of: &Datatype| match wanted {
            None => true,
            Some(wanted) if entry.persistence == persistence::HARD => same(wanted, of),
            Some(wanted) => wanted.class() == of.class(),
        };
        let address = |function: ConvertFunction| function.map(|function| function as usize);
        (self.persistence == persistence::ANY || self.persistence == entry.persistence)
            && self.name.as_ref().is_none_or(|name| *name == entry.name)
            && is_type(&self.source, &entry.source)
            && is_type(&self.target, &entry.target)
            && (self.function.is_none() || address(self.function) == address(entry.function))
    }

    fn remove(&self) {
        let mut registry = REGISTRY.lock();
        let (gone, entries): (Vec<_>, Vec<_>) = registry.entries.drain(..).partition(|entry| self.is(entry));
        registry.entries = entries;
        COUNT.store(registry.entries.len(), Ordering::Release);
        let address = |function: ConvertFunction| function.map(|function| function as usize);
        let is_gone =
            |path: &Arc<Path>| gone.iter().any(|entry| address(entry.function) == address(path.function));
        let (freed, paths): (Vec<_>, Vec<_>) = registry.paths.drain(..).partition(is_gone);
        registry.paths = paths;
        registry.refused.clear();
        drop(registry);
        drop(freed);
    }
}

/// Returns the conversions of a transfer: those that programs registered, and the callback for values that do not fit.
/// Values of variable length and references are not converted by programs' functions on the way: those get C's forms.
pub(crate) fn conversions(values: &TransferValues) -> Fallible<Conversions> {
    let mut conversions = Conversions::default();
    if !is_empty() {
        conversions.register_soft("program", Arc::new(by_program));
    }
    if let (Some(_), data) = values.exception {
        let (function, data) = (values.exception.0, data.unwrap_or(Opaque(NOTHING)));
        conversions
            .on_exception_of_types(Arc::new(move |source, target| exception(function, data, source, target)));
    }
    Ok(conversions)
}

fn by_program(source: &Datatype, target: &Datatype) -> Option<Convert> {
    if source.has_descriptors() || target.has_descriptors() {
        return None;
    }
    let path = find(source, target)?;
    let types = (source.clone(), target.clone());
    Some(Arc::new(move |from: &[u8], to: &mut [u8], count| {
        let mut buffer = vec![0; from.len().max(to.len())];
        buffer[..from.len()].copy_from_slice(from);
        let mut old = to.to_vec();
        let done = path.run((&types.0, &types.1), &mut buffer, &mut old, count, 0);
        done.map_err(|failure| {
            hyperslab::Error::conversion("convert datatypes").with("problem", failure.text)
        })?;
        to.copy_from_slice(&buffer[..to.len()]);
        Ok(())
    }))
}

/// Returns the datatype of an identifier, or `None` for one that stands for any.
fn optional(id: hid_t) -> Fallible<Option<MemoryType>> {
    if id > 0 { view(id).map(Some) } else { Ok(None) }
}

api! { DATATYPE:
    /// Registers a conversion function, for a pair of datatypes or for their classes.
    fn H5Tregister(kind: c_int, name: Text, source: hid_t, target: hid_t, function: ConvertFunction) -> herr_t {
        if kind != persistence::HARD && kind != persistence::SOFT {
            return Err(Failure::argument("invalid function persistence"));
        }
        let name = name.name("conversion must have a name for debugging")?;
        let (source, target) = ((*view(source)?).clone(), (*view(target)?).clone());
        if function.is_none() {
            return Err(Failure::argument("no conversion function specified"));
        }
        register(Entry { persistence: kind, name, source, target, function })
    }

    /// Removes conversion functions that programs registered.
    fn H5Tunregister(kind: c_int, name: Text, source: hid_t, target: hid_t, function: ConvertFunction) -> herr_t {
        let name = name.optional().filter(|name| !name.is_empty());
        let unwanted = Unwanted { persistence: kind, name, source: optional(source)?, target: optional(target)?, function };
        unwanted.remove();
        Ok(())
    }

    /// Says whether a conversion is done by the machine's own instructions, or by a function for exactly these datatypes.
    fn H5Tcompiler_conv(source: hid_t, target: hid_t) -> crate::ffi::htri_t {
        let (source, target) = (view(source)?, view(target)?);
        super::convert::check_path(&source, &target).map_err(|failure| failure.as_minor(Minor::NOTFOUND))?;
        let is_hard = find(&source, &target).map(|path| path.is_hard);
        Ok(is_hard.unwrap_or_else(|| !same(&source, &target) && is_compiled(&source, &target)))
    }
}
