//! Filters of entries: the bytes of an entry go through them as a chunk's would.

use filters::names::id;
use filters::{Registry, Stage};
use model::properties::FilterSpec;
use model::{Error, Result};
use vol::DatasetInfo;

use crate::table::{Coded, TableVersion};

/// Filters whose values depend on the size of a chunk, which entries have none of: szip, n-bit, scale-offset, LZF.
const SIZED: [u16; 4] = [id::SZIP, id::NBIT, id::SCALEOFFSET, id::LZF];
/// Level of deflate where no one chose one.
const DEFLATE_LEVEL: u32 = 6;

/// Elements of an entry that goes through filters take at most so many bytes: a caller that reads one element undoes all.
pub(crate) const ENTRY_BYTES_MAX: u64 = 1 << 20;

/// Returns an error for filters that entries cannot go through. Optional ones are left out.
pub(crate) fn check(registry: &Registry, filters: &[FilterSpec]) -> Result<()> {
    for filter in filters.iter().filter(|filter| !filter.optional) {
        if SIZED.contains(&filter.id) {
            let error = Error::unsupported("create dataset").with("filter", filter.id);
            return Err(error.with("problem", "entries of a log have no size that it could be set up for"));
        }
        registry.get(filter.id).map_err(|e| Error::unsupported("create dataset").with("problem", e))?;
    }
    Ok(())
}

/// The filters of a dataset as far as entries go through them.
#[derive(Debug)]
pub(crate) struct Pipeline {
    stages: Vec<(u16, bool, Vec<u32>)>,
    version: TableVersion,
}

impl Pipeline {
    /// Returns the pipeline, or `None` if elements stay as they are.
    pub(crate) fn new(info: &DatasetInfo, version: TableVersion) -> Option<Self> {
        let stage = |filter: &FilterSpec| {
            let values = match (filter.id, filter.values.as_slice()) {
                (id::DEFLATE, []) => vec![DEFLATE_LEVEL],
                (id::SHUFFLE, _) => vec![info.datatype.size()],
                (_, given) => given.to_vec(),
            };
            (filter.id, filter.optional, values)
        };
        let kept = info.create.filters.iter().filter(|filter| match version {
            // The first version of tables knows nothing else.
            TableVersion::V1 => filter.id == id::DEFLATE,
            TableVersion::V2 => !SIZED.contains(&filter.id),
        });
        let stages: Vec<_> = kept.map(stage).collect();
        (!stages.is_empty()).then_some(Pipeline { stages, version })
    }

    fn stages(&self) -> Vec<Stage<'_>> {
        self.stages
            .iter()
            .map(|(id, optional, values)| Stage { id: *id, optional: *optional, values })
            .collect()
    }

    /// Returns the bytes of an entry, and what they became.
    pub(crate) fn encode(&self, registry: &Registry, raw: Vec<u8>) -> Result<(Vec<u8>, Coded)> {
        let failed = |e: filters::Error| Error::invalid("filter an entry").with("problem", e);
        let (bytes, mask) = registry.encode(&self.stages(), raw).map_err(failed)?;
        Ok(match self.version {
            TableVersion::V1 if mask == 0 => (bytes, Coded::Zlib),
            TableVersion::V1 => (bytes, Coded::Plain),
            TableVersion::V2 => (bytes, Coded::Filters(mask)),
        })
    }
}

/// Returns the elements of an entry; `stored` may go on behind it where its length is not known.
pub(crate) fn decode(
    registry: &Registry,
    info: &DatasetInfo,
    coded: Coded,
    stored: Vec<u8>,
    bytes: usize,
) -> Result<Vec<u8>> {
    let failed = |e: filters::Error| Error::corrupt("read an entry of the log").with("problem", e);
    match coded {
        Coded::Plain => Ok(stored),
        Coded::Zlib => {
            let stage = Stage { id: id::DEFLATE, optional: false, values: &[DEFLATE_LEVEL] };
            registry.decode(&[stage], 0, stored, bytes, bytes).map_err(failed)
        }
        Coded::Filters(mask) => {
            let pipeline = Pipeline::new(info, TableVersion::V2);
            let stages = pipeline.as_ref().map(Pipeline::stages).unwrap_or_default();
            // A checksum adds some bytes.
            registry.decode(&stages, mask, stored, bytes, bytes.saturating_add(64)).map_err(failed)
        }
    }
}
