//! The library's own properties, by the names that libhdf5 gives them.
//!
//! Values stand in [`ListValues`]; a row says how the bytes of `H5Pget`, `H5Pset`, `H5Pencode` and `H5Pdecode` come from them.

mod access;
mod cache;
mod create;
mod dataset;
mod other;

use hyperslab::vol::LibVersion;
use hyperslab::vol::model::bytes::{Cursor, Put, uint_width};
use hyperslab::vol::model::properties::SpaceStrategy;
use hyperslab::vol::model::{Error, Result};

use super::class::Kind;
use super::list_values::ListValues;

pub(crate) use create::{order, order_flags};
pub(crate) use dataset::{alloc_number, fill_number};
pub(crate) use other::FLAGS_DEFAULT;

pub use cache::{H5AC_cache_config_t, cache_config, set_cache_config};

/// How a number is encoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// Not at all.
    Not,
    /// One byte.
    Byte,
    /// The size of `unsigned`, then its bytes.
    Unsigned,
    /// How many bytes follow, then those.
    Sized,
    /// Eight, then eight bytes.
    Wide,
    /// Like `Sized`; the default of a cache has no bytes.
    CacheSized,
}

/// Reads a number, after setting it where one is given. `None` is a list without the value, or a number that it cannot take.
pub type Exchange = fn(&mut ListValues, Option<u64>) -> Option<u64>;
/// Encodes a value.
pub type Encode = fn(&mut ListValues) -> Result<Vec<u8>>;
/// Decodes a value.
pub type Decode = fn(&mut ListValues, &mut Cursor<'_>) -> Result<()>;

/// How the bytes of a property come from the values of a list.
#[derive(Debug, Clone, Copy)]
pub enum Codec {
    /// It is seen, but has no bytes.
    Hidden,
    /// A number.
    Number(Form, Exchange),
    /// Anything else.
    Other(Encode, Decode),
}

/// A property of the library.
#[derive(Debug)]
pub struct Row {
    /// The name.
    pub name: &'static str,
    /// The size that `H5Pget_size` gives.
    pub size: usize,
    /// Whether each list has its own from the beginning.
    pub is_created: bool,
    /// How its bytes are made.
    pub codec: Codec,
}

/// A value that stands for a number.
trait Word: Sized {
    fn word(&self) -> u64;
    fn from_word(word: u64) -> Option<Self>;
}

macro_rules! words {
    ($($ty:ty),+) => { $(impl Word for $ty {
        fn word(&self) -> u64 { *self as u64 }
        // C's conversions: what is too large loses its upper bits.
        fn from_word(word: u64) -> Option<Self> { Some(word as $ty) }
    })+ };
}

words!(u8, u16, u32, u64, usize, i32);

impl Word for bool {
    fn word(&self) -> u64 {
        u64::from(*self)
    }
    fn from_word(word: u64) -> Option<Self> {
        Some(word & 0xff != 0)
    }
}

impl Word for f64 {
    fn word(&self) -> u64 {
        self.to_bits()
    }
    fn from_word(word: u64) -> Option<Self> {
        Some(f64::from_bits(word))
    }
}

const VERSIONS: [LibVersion; 6] = [
    LibVersion::Earliest,
    LibVersion::V18,
    LibVersion::V110,
    LibVersion::V112,
    LibVersion::V114,
    LibVersion::V200,
];

/// Returns the generation with a number of `H5F_libver_t`.
pub fn version(number: i32) -> Option<LibVersion> {
    usize::try_from(number).ok().and_then(|number| VERSIONS.get(number)).copied()
}

/// Returns the number of a generation in `H5F_libver_t`.
pub fn version_number(version: LibVersion) -> i32 {
    VERSIONS.iter().position(|known| *known == version).unwrap_or_default() as i32
}

impl Word for LibVersion {
    fn word(&self) -> u64 {
        version_number(*self) as u64
    }
    fn from_word(word: u64) -> Option<Self> {
        version(word as i32)
    }
}

const STRATEGIES: [SpaceStrategy; 4] =
    [SpaceStrategy::FsmAggregate, SpaceStrategy::Page, SpaceStrategy::Aggregate, SpaceStrategy::None];

impl Word for SpaceStrategy {
    fn word(&self) -> u64 {
        STRATEGIES.iter().position(|known| known == self).unwrap_or_default() as u64
    }
    fn from_word(word: u64) -> Option<Self> {
        usize::try_from(word & 0xffff_ffff).ok().and_then(|word| STRATEGIES.get(word)).copied()
    }
}

/// Returns a property that is only seen.
const fn hidden(name: &'static str, size: usize) -> Row {
    Row { name, size, is_created: false, codec: Codec::Hidden }
}

/// Returns a property with a codec of its own.
const fn other(name: &'static str, size: usize, encode: Encode, decode: Decode) -> Row {
    Row { name, size, is_created: false, codec: Codec::Other(encode, decode) }
}

/// Returns a number.
const fn custom(name: &'static str, size: usize, form: Form, exchange: Exchange) -> Row {
    Row { name, size, is_created: false, codec: Codec::Number(form, exchange) }
}

/// A number that stands in one field.
macro_rules! number {
    ($name:literal, $size:literal, $form:ident, $values:ident => $place:expr) => {
        crate::h5p::rows::custom($name, $size, crate::h5p::rows::Form::$form, |$values, new| {
            let place = &mut $place;
            if let Some(new) = new {
                *place = crate::h5p::rows::Word::from_word(new)?;
            }
            Some(crate::h5p::rows::Word::word(&*place))
        })
    };
}
use number;

/// Returns the properties that a class adds to those of the class above it.
pub fn of(kind: Kind) -> &'static [Row] {
    match kind {
        Kind::ObjectCreate => create::OBJECT,
        Kind::GroupCreate => create::GROUP,
        Kind::FileCreate => create::FILE,
        Kind::StringCreate => create::NAME,
        Kind::LinkCreate => create::LINK,
        Kind::FileAccess => access::FILE,
        Kind::LinkAccess => other::LINK,
        Kind::DatasetAccess => other::DATASET,
        Kind::MapAccess => other::MAP,
        Kind::ObjectCopy => other::COPY,
        Kind::FileMount => other::MOUNT,
        Kind::Transfer => other::TRANSFER,
        Kind::DatasetCreate => dataset::DATASET,
        _ => &[],
    }
}

/// Returns the error for values that a list does not have.
fn absent() -> Error {
    Error::invalid("encode property").with("problem", "the list has no such value")
}

fn put_sized(out: &mut Vec<u8>, value: u64) {
    let width = uint_width(value);
    out.push(width as u8);
    out.put_uint(value, width);
}

fn take_sized(cursor: &mut Cursor<'_>) -> Result<u64> {
    let width = cursor.u8()?;
    cursor.uint(width.into())
}

/// Takes a byte that must be `width`: the size of the numbers that follow.
fn expect_width(cursor: &mut Cursor<'_>, width: u8) -> Result<()> {
    match cursor.u8()? {
        found if found == width => Ok(()),
        found => Err(cursor.corrupt(format!("numbers of {found} bytes instead of {width}"))),
    }
}

impl Form {
    fn put(self, value: u64) -> Option<Vec<u8>> {
        let mut out = Vec::new();
        match self {
            Form::Not => return None,
            Form::Byte => out.push(value as u8),
            Form::Unsigned => {
                out.push(4);
                out.put_uint(value & 0xffff_ffff, 4);
            }
            Form::Wide => {
                out.push(8);
                out.put_uint(value, 8);
            }
            Form::CacheSized if value == u64::MAX => out.push(0),
            Form::Sized | Form::CacheSized => put_sized(&mut out, value),
        }
        Some(out)
    }

    fn take(self, cursor: &mut Cursor<'_>) -> Result<u64> {
        match self {
            Form::Not => Err(cursor.corrupt("property that has no bytes")),
            Form::Byte => cursor.u8().map(u64::from),
            Form::Unsigned => {
                expect_width(cursor, 4)?;
                cursor.u32().map(u64::from)
            }
            Form::Wide => {
                expect_width(cursor, 8)?;
                cursor.u64()
            }
            Form::CacheSized => match cursor.u8()? {
                0 => Ok(u64::MAX),
                width => cursor.uint(width.into()),
            },
            Form::Sized => take_sized(cursor),
        }
    }
}

/// Properties that libhdf5 copies one by one when a list is copied, so that the copy has its own. They come first in it.
const COPIED: [&str; 15] = [
    "data_transform",
    "dset_io_selection",
    "efl",
    "external file prefix",
    "external link fapl",
    "external link prefix",
    "file_image_info",
    "fill_value",
    "layout",
    "mdc_log_location",
    "merge committed dtype list",
    "pline",
    "vds_prefix",
    "vfd_info",
    "vol_connector_info",
];

impl Row {
    /// Returns whether a copied list has the property itself.
    pub fn is_copied(&self) -> bool {
        COPIED.contains(&self.name)
    }

    /// Returns the encoded value, or `None` if the property is not encoded.
    pub fn encode(&self, values: &mut ListValues) -> Result<Option<Vec<u8>>> {
        match self.codec {
            Codec::Hidden => Ok(None),
            Codec::Number(form, exchange) => Ok(form.put(exchange(values, None).ok_or_else(absent)?)),
            Codec::Other(encode, _) => encode(values).map(Some),
        }
    }

    /// Sets the value from its encoded bytes.
    pub fn decode(&self, values: &mut ListValues, cursor: &mut Cursor<'_>) -> Result<()> {
        match self.codec {
            Codec::Hidden => Err(cursor.corrupt("property that has no bytes")),
            Codec::Number(form, exchange) => {
                let value = form.take(cursor)?;
                exchange(values, Some(value))
                    .map(drop)
                    .ok_or_else(|| cursor.corrupt(format!("value {value}")))
            }
            Codec::Other(_, decode) => decode(values, cursor),
        }
    }

    /// Returns the value as C has it, for numbers.
    pub fn bytes(&self, values: &mut ListValues) -> Option<Vec<u8>> {
        match self.codec {
            Codec::Number(_, exchange) => {
                Some(exchange(values, None)?.to_le_bytes()[..self.size.min(8)].to_vec())
            }
            _ => None,
        }
    }

    /// Sets a number from the value that C has.
    pub fn set_bytes(&self, values: &mut ListValues, bytes: &[u8]) -> Option<()> {
        match self.codec {
            Codec::Number(_, exchange) => {
                let mut word = [0; 8];
                word.get_mut(..bytes.len())?.copy_from_slice(bytes);
                exchange(values, Some(u64::from_le_bytes(word))).map(drop)
            }
            _ => None,
        }
    }
}
