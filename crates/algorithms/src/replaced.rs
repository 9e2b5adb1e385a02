//! The blobs that an overwrite releases.

use std::collections::HashSet;

use model::datatype::{Datatype, VarLenKind};
use model::spread::Spread;
use model::{Kind, Result};
use vol::Blobs;

use crate::descriptor_bytes::{COUNT_BYTES, join_blobs, split_descriptor};

/// Appends the values of blobs, as [`Container::blob_get`](vol::Container::blob_get) does.
pub type GetBlobs<'a> = dyn FnMut(&[&[u8]], &mut Blobs) -> Result<()> + 'a;

/// Returns the identities of the blobs, one after another, that `old` elements of a type in the file datatype use, and neither `new` ones
/// nor the fill value do. Those of references are not among them.
///
/// What was there before may be broken, and is overwritten all the same: a blob that cannot be read has none inside.
pub fn replaced_blobs(
    datatype: &Datatype,
    old: &[u8],
    new: &[u8],
    fill: Option<&[u8]>,
    get: &mut GetBlobs<'_>,
) -> Result<Vec<u8>> {
    // Elements that were never written before.
    if old.chunks(64).all(|part| part.iter().fold(0, |all, byte| all | byte) == 0) {
        return Ok(Vec::new());
    }
    let sites = BlobFields::new(datatype);
    let mut released = Vec::new();
    sites.add_blobs(old, get, &mut released)?;
    if released.is_empty() {
        return Ok(released);
    }
    let mut used = Vec::new();
    sites.add_blobs(new, get, &mut used)?;
    sites.add_blobs(fill.unwrap_or_default(), get, &mut used)?;
    Ok(without(&released, &used, sites.id_bytes()))
}

fn without(ids: &[u8], used: &[u8], each: usize) -> Vec<u8> {
    let used: HashSet<&[u8], Spread> = used.chunks_exact(each).collect();
    let mut seen = HashSet::with_capacity_and_hasher(ids.len() / each, Spread::default());
    // Elements that were copied as bytes name a blob more than once.
    ids.chunks_exact(each).filter(|id| !used.contains(id) && seen.insert(*id)).flatten().copied().collect()
}

/// Where the elements of a type name blobs.
struct BlobFields<'t> {
    element_bytes: usize,
    sites: Vec<BlobField<'t>>,
}

struct BlobField<'t> {
    at: usize,
    bytes: usize,
    /// The type of a sequence's elements, where they name blobs too.
    inner: Option<&'t Datatype>,
}

impl<'t> BlobFields<'t> {
    fn new(datatype: &'t Datatype) -> Self {
        let mut sites = Vec::new();
        add_sites(datatype, 0, &mut sites);
        BlobFields { element_bytes: datatype.size().max(1) as usize, sites }
    }

    /// Returns the number of bytes of an identity: the same for all of a container.
    fn id_bytes(&self) -> usize {
        self.sites.first().map_or(1, |site| site.bytes.saturating_sub(COUNT_BYTES)).max(1)
    }

    /// Adds the identities that elements name, and those that the values of these name.
    fn add_blobs(&self, elements: &[u8], get: &mut GetBlobs<'_>, out: &mut Vec<u8>) -> Result<()> {
        for site in &self.sites {
            let mut filled = Vec::new();
            for element in elements.chunks_exact(self.element_bytes) {
                let (count, id) = split_descriptor(&element[site.at..site.at + site.bytes])?;
                if id.iter().any(|&byte| byte != 0) {
                    out.extend_from_slice(id);
                    filled.extend(site.inner.is_some().then_some((count, id)));
                }
            }
            if let Some(inner) = site.inner {
                let inner = BlobFields::new(inner);
                filled.into_iter().try_for_each(|value| inner.add_blobs_of(value, get, out))?;
            }
        }
        Ok(())
    }

    /// Adds the identities that the elements of a sequence name.
    fn add_blobs_of(
        &self,
        (count, id): (u64, &[u8]),
        get: &mut GetBlobs<'_>,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        let mut blobs = Blobs::default();
        let value = get(&[id], &mut blobs)
            .and_then(|()| join_blobs(self.element_bytes as u64, std::iter::once(count), &blobs));
        match value {
            Ok(elements) => self.add_blobs(&elements, get, out),
            Err(error) if matches!(error.kind(), Kind::Io | Kind::Denied) => Err(error),
            Err(_) => Ok(()),
        }
    }
}

fn add_sites<'t>(datatype: &'t Datatype, at: usize, out: &mut Vec<BlobField<'t>>) {
    match datatype {
        Datatype::VarLen(value) => {
            let inner = match &value.kind {
                VarLenKind::Sequence(inner) if inner.any(&|part| matches!(part, Datatype::VarLen(_))) => {
                    Some(&**inner)
                }
                _ => None,
            };
            out.push(BlobField { at, bytes: value.size as usize, inner });
        }
        Datatype::Array(array) if array.base.has_descriptors() => {
            let each = array.base.size() as usize;
            let count: usize = array.dims.iter().map(|&dim| dim as usize).product();
            (0..count).for_each(|n| add_sites(&array.base, at + n * each, out));
        }
        Datatype::Compound(compound) => {
            for member in compound.members.iter().filter(|member| member.datatype.has_descriptors()) {
                add_sites(&member.datatype, at + member.offset as usize, out);
            }
        }
        _ => {}
    }
}
