//! What is stored of an operation before it begins.

use model::{Error, LinkTarget, Result, Token};
use protocol::wire::{Reader, Wire};
use vol::LinkLocation;

/// An object whose reference count an operation changes, and the count before.
pub(crate) type Counted = (Token, u32);

/// How things were before an operation began.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Intent {
    /// An object is created, and linked if it has a place. Its committed datatype is counted before the object is there.
    Create { object: Option<Token>, place: Option<LinkLocation>, datatype: Option<Counted> },
    /// Links are made and removed; for hard links with the count of their object.
    Relink {
        target: LinkTarget,
        references: u32,
        added: Option<LinkLocation>,
        removed: Option<(Token, String)>,
    },
    /// An attribute is created.
    NewAttribute { object: Token, name: String, datatype: Option<Counted> },
    /// An attribute is removed, or gets another name.
    OldAttribute { object: Token, name: String, renamed: Option<String>, datatype: Option<Counted> },
    /// A reference count changes.
    Count { object: Counted, after: u32 },
    /// Values of variable length are stored: their IDs, one after another.
    Blobs { ids: Vec<u8>, count: u32 },
    /// A pair of a map is removed.
    Pair { is_there: bool },
    /// Blobs are removed.
    RemovedBlobs,
}

impl Wire for Intent {
    fn put(&self, out: &mut Vec<u8>) -> Result<()> {
        match self {
            Intent::Create { object, place, datatype } => tagged(0, out, &((object, place), datatype)),
            Intent::Relink { target, references, added, removed } => {
                tagged(1, out, &((target, references), (added, removed)))
            }
            Intent::NewAttribute { object, name, datatype } => tagged(2, out, &((object, name), datatype)),
            Intent::OldAttribute { object, name, renamed, datatype } => {
                tagged(3, out, &((object, name), (renamed, datatype)))
            }
            Intent::Count { object, after } => tagged(4, out, &(object, after)),
            Intent::Blobs { ids, count } => tagged(5, out, &(ids, count)),
            Intent::Pair { is_there } => tagged(6, out, &(is_there, &())),
            Intent::RemovedBlobs => tagged(7, out, &(&(), &())),
        }
    }

    fn get(from: &mut Reader<'_>) -> Result<Self> {
        Ok(match u8::get(from)? {
            0 => {
                let ((object, place), datatype) = Wire::get(from)?;
                Intent::Create { object, place, datatype }
            }
            1 => {
                let ((target, references), (added, removed)) = Wire::get(from)?;
                Intent::Relink { target, references, added, removed }
            }
            2 => {
                let ((object, name), datatype) = Wire::get(from)?;
                Intent::NewAttribute { object, name, datatype }
            }
            3 => {
                let ((object, name), (renamed, datatype)) = Wire::get(from)?;
                Intent::OldAttribute { object, name, renamed, datatype }
            }
            4 => {
                let (object, after) = Wire::get(from)?;
                Intent::Count { object, after }
            }
            5 => {
                let (ids, count) = Wire::get(from)?;
                Intent::Blobs { ids, count }
            }
            6 => Intent::Pair { is_there: Wire::get(from)? },
            7 => Intent::RemovedBlobs,
            tag => return Err(Error::corrupt("read intent").with("kind", tag)),
        })
    }
}

/// Fields that are appended one after another.
trait Fields {
    fn put(&self, out: &mut Vec<u8>) -> Result<()>;
}

impl<T: Wire> Fields for &T {
    fn put(&self, out: &mut Vec<u8>) -> Result<()> {
        Wire::put(*self, out)
    }
}

impl<A: Fields, B: Fields> Fields for (A, B) {
    fn put(&self, out: &mut Vec<u8>) -> Result<()> {
        self.0.put(out)?;
        self.1.put(out)
    }
}

fn tagged(tag: u8, out: &mut Vec<u8>, fields: &impl Fields) -> Result<()> {
    out.push(tag);
    fields.put(out)
}
