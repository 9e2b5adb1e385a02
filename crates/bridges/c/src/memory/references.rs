//! References in C's forms.
//!
//! `hobj_ref_t` is a number: the token's own, where that is one, or its place in a table. `hdset_reg_ref_t` is a place in a
//! table of regions. `H5R_ref_t` names a value of a table that `H5Rdestroy` removes; random bytes are in no table.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use hyperslab::Token;
use hyperslab::vol::model::datatype::ReferenceKind;
use hyperslab::vol::model::selection::SelectionVersion;
use hyperslab::vol::model::{Reference, ReferenceTarget};
use system::sync::Mutex;

use super::{REFERENCE_BYTES, REGION_REFERENCE_BYTES, short_buffer};
use crate::codes::{Major, Minor};
use crate::failure::{Failure, Fallible};
use crate::h5f::FileHandle;

/// Numbers from here on are places in the table of tokens: no file has such an address.
const FIRST_PLACE: u64 = 1 << 63;

/// The second half of an `H5R_ref_t` of this library: `hyperref`.
const REFERENCE_MARK: [u8; 8] = *b"hyperref";

/// Values with the number that each has; equal values have equal numbers.
struct Interned<T> {
    numbers: HashMap<Vec<u8>, u64>,
    values: Vec<T>,
}

impl<T: Clone> Interned<T> {
    fn number(&mut self, key: Vec<u8>, value: impl FnOnce() -> T) -> u64 {
        let next = self.values.len() as u64;
        let number = *self.numbers.entry(key).or_insert(next);
        if number == next {
            self.values.push(value());
        }
        number
    }

    fn get(&self, number: u64) -> Option<T> {
        self.values.get(usize::try_from(number).ok()?).cloned()
    }
}

static TOKENS: LazyLock<Mutex<Interned<Token>>> =
    LazyLock::new(|| Mutex::new(Interned { numbers: HashMap::new(), values: Vec::new() }));
static REGIONS: LazyLock<Mutex<Interned<Reference>>> =
    LazyLock::new(|| Mutex::new(Interned { numbers: HashMap::new(), values: Vec::new() }));

/// What an `H5R_ref_t` stands for.
#[derive(Debug, Clone)]
pub(crate) struct OwnedReference {
    /// The reference.
    pub(crate) reference: Reference,
    /// The file that it points into; it stays open as long as the reference. `None` came from a conversion without a file.
    pub(crate) file: Option<Arc<FileHandle>>,
}

struct Owned {
    next: u64,
    values: HashMap<u64, OwnedReference>,
}

static OWNED: LazyLock<Mutex<Owned>> =
    LazyLock::new(|| Mutex::new(Owned { next: 1, values: HashMap::new() }));

fn unknown() -> Failure {
    Failure::new(Major::REFERENCE, Minor::BADVALUE, "not a reference of this library")
}

/// Returns whether references of a kind own a value that must be destroyed.
pub(crate) fn is_owned(kind: ReferenceKind) -> bool {
    !matches!(kind, ReferenceKind::Object1 | ReferenceKind::DatasetRegion1)
}

/// Returns the number that stands for an object in `hobj_ref_t`.
pub(crate) fn object_number(token: Token) -> u64 {
    let number = token.to_u64();
    if Token::from_u64(number) == token && number > 0 && number < FIRST_PLACE {
        return number;
    }
    FIRST_PLACE + TOKENS.lock().number(token.0.to_vec(), || token)
}

/// Returns the object of a number of `hobj_ref_t`; `None` is the null reference.
pub(crate) fn object_token(number: u64) -> Fallible<Option<Token>> {
    match number.checked_sub(FIRST_PLACE) {
        None => Ok((number > 0).then(|| Token::from_u64(number))),
        Some(place) => TOKENS.lock().get(place).map(Some).ok_or_else(unknown),
    }
}

fn region_key(reference: &Reference) -> Fallible<Vec<u8>> {
    let ReferenceTarget::Region { dataset, selection } = &reference.target else {
        return Err(Failure::new(Major::REFERENCE, Minor::BADTYPE, "not a reference to a region"));
    };
    let mut key = dataset.0.to_vec();
    key.extend(selection.encode(SelectionVersion::V112)?);
    key.extend(reference.file.iter().flat_map(|file| file.bytes()));
    Ok(key)
}

fn store_region(reference: Reference, into: &mut [u8]) -> Fallible<()> {
    let key = region_key(&reference)?;
    let number = REGIONS.lock().number(key, || reference) + 1;
    into[..8].copy_from_slice(&number.to_ne_bytes());
    into[8..REGION_REFERENCE_BYTES as usize].copy_from_slice(&1u32.to_ne_bytes());
    Ok(())
}

fn number_at(from: &[u8], at: usize) -> Fallible<u64> {
    let bytes = from.get(at..).and_then(|bytes| bytes.first_chunk());
    bytes.map(|bytes| u64::from_ne_bytes(*bytes)).ok_or_else(short_buffer)
}

/// Stores a reference in the form that its kind has in C.
pub(crate) fn store(
    kind: ReferenceKind,
    reference: Reference,
    file: Option<&Arc<FileHandle>>,
    into: &mut [u8],
) -> Fallible<()> {
    let bytes = match kind {
        ReferenceKind::Object1 => 8,
        ReferenceKind::DatasetRegion1 => REGION_REFERENCE_BYTES,
        _ => REFERENCE_BYTES,
    };
    let into = into.get_mut(..bytes as usize).ok_or_else(short_buffer)?;
    into.fill(0);
    match (kind, reference.token()) {
        (_, None) => Ok(()),
        (ReferenceKind::Object1, Some(token)) => {
            into.copy_from_slice(&object_number(token).to_ne_bytes());
            Ok(())
        }
        (ReferenceKind::DatasetRegion1, _) => store_region(reference, into),
        _ => {
            own(OwnedReference { reference, file: file.cloned() }, into);
            Ok(())
        }
    }
}

/// Stores a reference in an `H5R_ref_t`, which owns it.
pub(crate) fn own(value: OwnedReference, into: &mut [u8]) {
    let mut owned = OWNED.lock();
    let number = owned.next;
    owned.next += 1;
    owned.values.insert(number, value);
    into.fill(0);
    into[..8].copy_from_slice(&number.to_ne_bytes());
    into[8..16].copy_from_slice(&REFERENCE_MARK);
}

/// Returns what an `H5R_ref_t` stands for.
pub(crate) fn owned(from: &[u8]) -> Fallible<OwnedReference> {
    let number = number_at(from, 0)?;
    if from.get(8..16) != Some(&REFERENCE_MARK) {
        return Err(unknown());
    }
    OWNED.lock().values.get(&number).cloned().ok_or_else(unknown)
}

/// Removes what an `H5R_ref_t` stands for; returns whether there was any.
pub(crate) fn destroy(from: &[u8]) -> bool {
    let number = number_at(from, 0).unwrap_or(0);
    let is_marked = from.get(8..16) == Some(&REFERENCE_MARK);
    let gone = if is_marked { OWNED.lock().values.remove(&number) } else { None };
    // The file may be closed with its last reference, which must not happen under the lock.
    gone.is_some()
}

/// Returns a reference in the form that its kind has in C. References into other files than `file` say so.
pub(crate) fn load(kind: ReferenceKind, from: &[u8], file: Option<&Arc<FileHandle>>) -> Fallible<Reference> {
    match kind {
        ReferenceKind::Object1 => {
            Ok(object_token(number_at(from, 0)?)?.map_or_else(Reference::null, Reference::object))
        }
        ReferenceKind::DatasetRegion1 => match number_at(from, 0)?.checked_sub(1) {
            None => Ok(Reference::null()),
            Some(number) => REGIONS.lock().get(number).ok_or_else(unknown),
        },
        _ => {
            let bytes = from.get(..REFERENCE_BYTES as usize).ok_or_else(short_buffer)?;
            if bytes.iter().all(|byte| *byte == 0) {
                return Ok(Reference::null());
            }
            let value = owned(bytes)?;
            Ok(relative(value, file))
        }
    }
}

/// Returns the reference as a file holds it: without a file name if it points into that file.
fn relative(value: OwnedReference, file: Option<&Arc<FileHandle>>) -> Reference {
    let mut reference = value.reference;
    if let (Some(own), Some(into)) = (&value.file, file)
        && reference.file.is_none()
        && !is_same_container(own, into)
    {
        reference.file = Some(file_name(own));
    }
    reference
}

fn is_same_container(a: &Arc<FileHandle>, b: &Arc<FileHandle>) -> bool {
    std::ptr::addr_eq(Arc::as_ptr(a.container()), Arc::as_ptr(b.container()))
}

/// Returns the name of a reference's file.
pub(crate) fn file_name(file: &Arc<FileHandle>) -> String {
    file.name.clone()
}
