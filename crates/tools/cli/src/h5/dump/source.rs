//! Reading values of datasets and attributes, in parts of bounded size.

use std::cell::Cell;

use hyperslab::vol::algorithms::maps;
use hyperslab::vol::algorithms::stored::sparse;
use hyperslab::vol::algorithms::transfer::{Elements, from_file_type};
use hyperslab::vol::model::convert::Conversions;
use hyperslab::vol::model::{Heap, Selection};
use hyperslab::vol::{AttributeInfo, Container, DatasetInfo, OpRead, Pin};
use hyperslab::{Dataspace, Datatype, Error, Kind, Result, Token, Transfer};

use super::lenient;
use super::streams::Stream;

/// Bytes of elements that are held at a time.
pub(crate) const STRIP_BYTES: u64 = 4 << 20;

/// References that are printed, each with what it points to. h5dump holds all of them in memory.
const REFERENCES_MAX: u64 = 1 << 28;

/// The values that are printed: whose, and of what type.
pub(crate) enum Source<'a> {
    /// A dataset.
    Dataset { token: Token, info: &'a DatasetInfo },
    /// An attribute of an object.
    Attribute { object: Token, info: &'a AttributeInfo },
    /// One side of the pairs of a map.
    Pairs { map: Token, side: Side, datatype: &'a Datatype, space: &'a Dataspace },
}

/// The side of a pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    Keys,
    Values,
}

impl Source<'_> {
    pub(crate) fn datatype(&self) -> &Datatype {
        match self {
            Source::Dataset { info, .. } => &info.datatype,
            Source::Attribute { info, .. } => &info.datatype,
            Source::Pairs { datatype, .. } => datatype,
        }
    }

    pub(crate) fn space(&self) -> &Dataspace {
        match self {
            Source::Dataset { info, .. } => &info.space,
            Source::Attribute { info, .. } => &info.space,
            Source::Pairs { space, .. } => space,
        }
    }

    pub(crate) fn stream(&self) -> Stream {
        match self {
            Source::Dataset { .. } | Source::Pairs { .. } => Stream::Data,
            Source::Attribute { .. } => Stream::Attributes,
        }
    }
}

/// Elements that were read: in the memory datatype, with what they point to.
pub(crate) struct Block {
    pub(crate) datatype: Datatype,
    pub(crate) bytes: Vec<u8>,
    pub(crate) heap: Heap,
}

/// Pairs that are fetched at a time.
const PAIRS: u64 = 4096;

/// Reads one side of all pairs of a map, in the order in which it lists its keys.
pub(crate) fn read_pairs(
    container: &dyn Container,
    map: Token,
    (side, datatype): (Side, &Datatype),
    memory: &Datatype,
) -> Result<Block> {
    let (mut bytes, mut heap, conversions) = (Vec::new(), Heap::new(), Conversions::default());
    maps::each_page(container, map, PAIRS, |keys| {
        bytes.extend(match side {
            Side::Keys => maps::to_elements(datatype, keys.iter().copied(), &mut heap)?,
            Side::Values => {
                let _pin = Pin::of(container, datatype)?;
                let raw = container.map_get(map, keys)?.into_iter().flatten().collect::<Vec<_>>().concat();
                from_file_type(container, datatype, &raw, memory, &conversions, &mut heap)?
            }
        });
        Ok(())
    })?;
    Ok(Block { datatype: memory.clone(), bytes, heap })
}

/// Reads some elements of a dataset as `datatype`; `failed` tells whether some of them stand for what cannot be read.
pub(crate) fn read_block(
    container: &dyn Container,
    dataset: Token,
    info: &DatasetInfo,
    selection: &Selection,
    datatype: &Datatype,
    failed: &Cell<bool>,
) -> Result<Block> {
    let conversions = Conversions::default();
    let (file_type, space) = (&info.datatype, &info.space);
    let (conversions, transfer) = (&conversions, Transfer::Independent);
    let elements = Elements { container, dataset, file_type, space, selection, conversions, transfer };
    let len = elements.count()?.checked_mul(u64::from(datatype.size())).and_then(|n| usize::try_from(n).ok());
    let len = len.ok_or_else(|| Error::limit("read elements"))?;
    let (mut bytes, mut heap) = (vec![0; len], Heap::new());
    match elements.read(datatype, &mut bytes, &mut heap) {
        Err(error) if error.kind() == Kind::Corrupt && lenient::can_be_missing(datatype) => {
            let mut raw = vec![0; elements.count()? as usize * file_type.size() as usize];
            let _pin = Pin::of(container, file_type)?;
            container.dataset_read(&mut [OpRead { dataset, selection, into: &mut raw }])?;
            bytes = lenient::convert(container, file_type, &raw, datatype, &mut heap, failed)?;
        }
        result => result?,
    }
    Ok(Block { datatype: datatype.clone(), bytes, heap })
}

/// Returns the parts in which elements are read, so that memory stays bounded.
pub(crate) fn strips(
    container: &dyn Container,
    source: &Source<'_>,
    memory: &Datatype,
) -> Result<Box<dyn Iterator<Item = Selection>>> {
    let count = source.space().element_count()?;
    let is_listed =
        matches!(source, Source::Dataset { token, info } if sparse(container, *token, info)?.is_some());
    if !is_listed && matches!(memory, Datatype::Reference(_)) && count > REFERENCES_MAX {
        return Err(Error::limit("print references").with("count", count).with("limit", REFERENCES_MAX));
    }
    match source {
        _ if count == 0 => Ok(Box::new(std::iter::empty())),
        Source::Attribute { .. } | Source::Pairs { .. } => Ok(Box::new(std::iter::once(Selection::All))),
        Source::Dataset { token, info } => {
            let element_bytes = u64::from(memory.size().max(info.datatype.size())).max(1);
            let strip = (STRIP_BYTES / element_bytes).max(1);
            if let Some(stored) = crate::h5::holes::stored(container, *token, info)? {
                let missing = count - stored.len();
                eprintln!(
                    "hyperslab dump: {missing} elements are not stored and left out; --expand prints them"
                );
                return Ok(Box::new(stored.blocks_of(strip).filter_map(|block| block.selection().ok())));
            }
            Ok(Box::new(Selection::All.strips(info.space.dims(), strip)?))
        }
    }
}
