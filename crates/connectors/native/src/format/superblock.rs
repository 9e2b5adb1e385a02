//! Superblock (format spec II.A), versions 0 to 3.

use model::bytes::Cursor;
use model::{Error, Result};

use super::symbol_table::{Cached, SymbolTableEntry};
use super::{Address, SizedFields, Sizes, checksum};

/// The eight bytes a superblock starts with.
pub(crate) const SIGNATURE: [u8; 8] = *b"\x89HDF\r\n\x1a\n";
/// Bytes that hold any superblock with 8-byte addresses.
pub(crate) const BYTES_MAX: usize = 256;

/// Half sizes of tree nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TreeK {
    pub(crate) group_leaf: u16,
    pub(crate) group_internal: u16,
    pub(crate) chunk: u16,
}

impl Default for TreeK {
    fn default() -> Self {
        TreeK { group_leaf: 4, group_internal: 16, chunk: 32 }
    }
}

/// Where everything starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Superblock {
    pub(crate) version: u8,
    pub(crate) sizes: Sizes,
    pub(crate) k: TreeK,
    pub(crate) flags: u8,
    /// As stored; readers use the place where the superblock was found.
    pub(crate) base: u64,
    /// Absolute end of the file.
    pub(crate) end: u64,
    pub(crate) extension: Option<Address>,
    pub(crate) driver_info: Option<Address>,
    pub(crate) root: Address,
    /// The cached fields of the root entry of versions 0 and 1, which can be stale.
    pub(crate) root_cached: Cached,
}

impl Superblock {
    pub(crate) fn decode(bytes: &[u8]) -> Result<Self> {
        let mut c = Cursor::new(bytes, "superblock");
        c.signature(&SIGNATURE)?;
        match c.version(0..=3)? {
            version @ (0 | 1) => old(&mut c, version),
            version => new(&mut c, version, bytes),
        }
    }
}

fn sizes(c: &mut Cursor<'_>) -> Result<Sizes> {
    let (offset, length) = (c.u8()?, c.u8()?);
    let usable = |n: u8| matches!(n, 2 | 4 | 8);
    if !usable(offset) || !usable(length) {
        return Err(c.corrupt(format!("addresses of {offset} and lengths of {length} bytes")));
    }
    Ok(Sizes { offset: usize::from(offset), length: usize::from(length) })
}

fn old(c: &mut Cursor<'_>, version: u8) -> Result<Superblock> {
    let [free_space, root_entry, _, shared] = c.array()?;
    if (free_space, root_entry, shared) != (0, 0, 0) {
        return Err(c.corrupt("version of a part is not 0"));
    }
    let sizes = sizes(c)?;
    c.skip(1)?;
    let mut k = TreeK { group_leaf: c.u16()?, group_internal: c.u16()?, ..TreeK::default() };
    let flags = flags(c)?;
    if version == 1 {
        k.chunk = c.u16()?;
        c.skip(2)?;
    }
    if k.group_leaf == 0 || k.group_internal == 0 || k.chunk == 0 {
        return Err(c.corrupt("tree K is zero"));
    }
    let base = c.uint(sizes.offset)?;
    c.address(sizes)?;
    let end = end_of_file(c, sizes)?;
    let driver_info = c.address(sizes)?;
    let entry = SymbolTableEntry::decode(c, sizes)?;
    let root = entry.header.ok_or_else(|| c.corrupt("no root group"))?;
    Ok(Superblock {
        version,
        sizes,
        k,
        flags,
        base,
        end,
        extension: None,
        driver_info,
        root,
        root_cached: entry.cached,
    })
}

fn flags(c: &mut Cursor<'_>) -> Result<u8> {
    let flags = c.u32()?;
    if flags > 7 { Err(c.corrupt(format!("consistency flags {flags:#x}"))) } else { Ok(flags as u8) }
}

fn end_of_file(c: &mut Cursor<'_>, sizes: Sizes) -> Result<u64> {
    match c.address(sizes)? {
        Some(Address(end)) if end > 0 => Ok(end),
        _ => Err(c.corrupt("end of file is undefined")),
    }
}

fn new(c: &mut Cursor<'_>, version: u8, bytes: &[u8]) -> Result<Superblock> {
    let sizes = sizes(c)?;
    let flags = c.u8()?;
    if flags > 7 {
        return Err(c.corrupt(format!("consistency flags {flags:#x}")));
    }
    let base = c.uint(sizes.offset)?;
    let extension = c.address(sizes)?;
    let end = end_of_file(c, sizes)?;
    let root = c.defined_address(sizes)?;
    c.skip(4)?;
    checksum::verify(&bytes[..c.position()], "superblock")?;
    Ok(Superblock {
        version,
        sizes,
        k: TreeK::default(),
        flags,
        base,
        end,
        extension,
        driver_info: None,
        root,
        root_cached: Cached::Nothing,
    })
}

/// Returns the B-tree K values message (format spec IV.A.2.t).
pub(crate) fn tree_k(body: &[u8]) -> Result<TreeK> {
    let mut c = Cursor::new(body, "B-tree K message");
    c.version(0..=0)?;
    let k = TreeK { chunk: c.u16()?, group_internal: c.u16()?, group_leaf: c.u16()? };
    if k.chunk == 0 || k.group_internal == 0 || k.group_leaf == 0 {
        return Err(c.corrupt("tree K is zero"));
    }
    Ok(k)
}

/// Returns what other well-known formats start with, so that the error can say what a file is.
pub(crate) fn not_hdf5(start: &[u8]) -> Error {
    let kind = match start {
        [b'C', b'D', b'F', 1 | 2 | 5, ..] => "it is a classic netCDF file",
        [0x0e, 0x03, 0x13, 0x01, ..] => "it is an HDF4 file",
        [b'G', b'R', b'I', b'B', ..] => "it is a GRIB file",
        [b'S', b'I', b'M', b'P', b'L', b'E', ..] => "it is a FITS file",
        [0x93, b'N', b'U', b'M', b'P', b'Y', ..] => "it is a NumPy file",
        [b'P', b'K', 3, 4, ..] => "it is a ZIP archive",
        [] => "it is empty",
        _ => "it has no HDF5 signature",
    };
    Error::corrupt("open HDF5 file").with("problem", format!("this is not an HDF5 file: {kind}"))
}
