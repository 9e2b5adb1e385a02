//! Words of HDF5/JSON for small choices, in both directions.

use model::datatype::{BitPad, Normalization, ReferenceKind, StringPad};
use model::properties::{AllocTime, ChunkIndexKind, CreationOrder, FillTime, SpaceStrategy};
use model::{ByteOrder, CharacterSet, Error, Result};

use crate::text::Value;

/// A choice that has a word for each of its values.
pub(crate) trait Word: Copy + PartialEq + 'static {
    const WORDS: &'static [(&'static str, Self)];

    /// Returns its word.
    fn word(self) -> &'static str {
        // Every value is in the table: a test looks.
        Self::WORDS.iter().find(|(_, value)| *value == self).map_or("", |(word, _)| word)
    }

    /// Returns the value that a word stands for.
    fn from_word(value: &Value<'_>) -> Result<Self> {
        let word = value.text()?;
        let found = Self::WORDS.iter().find(|(w, _)| *w == word);
        found
            .map(|(_, value)| *value)
            .ok_or_else(|| Error::corrupt("read JSON value").with("unknown word", word))
    }
}

macro_rules! words {
    ($($ty:ty { $($word:literal => $value:expr,)* })*) => { $(
        impl Word for $ty {
            const WORDS: &'static [(&'static str, Self)] = &[$(($word, $value),)*];
        }
    )* };
}

words! {
    ByteOrder {
        "H5T_ORDER_LE" => ByteOrder::Little,
        "H5T_ORDER_BE" => ByteOrder::Big,
        "H5T_ORDER_VAX" => ByteOrder::Vax,
    }
    BitPad {
        "H5T_PAD_ZERO" => BitPad::Zero,
        "H5T_PAD_ONE" => BitPad::One,
    }
    Normalization {
        "H5T_NORM_IMPLIED" => Normalization::Implied,
        "H5T_NORM_MSBSET" => Normalization::MsbSet,
        "H5T_NORM_NONE" => Normalization::None,
    }
    StringPad {
        "H5T_STR_NULLTERM" => StringPad::NullTerminated,
        "H5T_STR_NULLPAD" => StringPad::NullPadded,
        "H5T_STR_SPACEPAD" => StringPad::SpacePadded,
    }
    CharacterSet {
        "H5T_CSET_ASCII" => CharacterSet::Ascii,
        "H5T_CSET_UTF8" => CharacterSet::Utf8,
        "H5T_CSET_UTF-8" => CharacterSet::Utf8,
    }
    ReferenceKind {
        "H5T_STD_REF_OBJ" => ReferenceKind::Object1,
        "H5T_STD_REF_DSETREG" => ReferenceKind::DatasetRegion1,
        "H5R_OBJECT2" => ReferenceKind::Object,
        "H5R_DATASET_REGION2" => ReferenceKind::Region,
        "H5R_ATTR" => ReferenceKind::Attribute,
    }
    CreationOrder {
        "H5P_CRT_ORDER_UNTRACKED" => CreationOrder::Untracked,
        "H5P_CRT_ORDER_TRACKED" => CreationOrder::Tracked,
        "H5P_CRT_ORDER_INDEXED" => CreationOrder::Indexed,
    }
    AllocTime {
        "H5D_ALLOC_TIME_DEFAULT" => AllocTime::Default,
        "H5D_ALLOC_TIME_EARLY" => AllocTime::Early,
        "H5D_ALLOC_TIME_LATE" => AllocTime::Late,
        "H5D_ALLOC_TIME_INCR" => AllocTime::Incremental,
    }
    FillTime {
        "H5D_FILL_TIME_ALLOC" => FillTime::Alloc,
        "H5D_FILL_TIME_NEVER" => FillTime::Never,
        "H5D_FILL_TIME_IFSET" => FillTime::IfSet,
    }
    ChunkIndexKind {
        "H5D_CHUNK_IDX_BTREE" => ChunkIndexKind::BTree1,
        "H5D_CHUNK_IDX_SINGLE" => ChunkIndexKind::Single,
        "H5D_CHUNK_IDX_NONE" => ChunkIndexKind::Implicit,
        "H5D_CHUNK_IDX_FARRAY" => ChunkIndexKind::FixedArray,
        "H5D_CHUNK_IDX_EARRAY" => ChunkIndexKind::ExtensibleArray,
        "H5D_CHUNK_IDX_BT2" => ChunkIndexKind::BTree2,
    }
    SpaceStrategy {
        "H5F_FSPACE_STRATEGY_FSM_AGGR" => SpaceStrategy::FsmAggregate,
        "H5F_FSPACE_STRATEGY_PAGE" => SpaceStrategy::Page,
        "H5F_FSPACE_STRATEGY_AGGR" => SpaceStrategy::Aggregate,
        "H5F_FSPACE_STRATEGY_NONE" => SpaceStrategy::None,
    }
}

/// Returns bytes as hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write;
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        // Writing to a string does not fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Returns the bytes of hexadecimal digits.
pub(crate) fn from_hex(text: &str) -> Result<Vec<u8>> {
    let wrong = || Error::corrupt("read hexadecimal bytes").with("characters", text.len());
    let digit = |b: u8| char::from(b).to_digit(16).map(|d| d as u8).ok_or_else(wrong);
    if !text.len().is_multiple_of(2) {
        return Err(wrong());
    }
    text.as_bytes().chunks_exact(2).map(|pair| Ok(digit(pair[0])? << 4 | digit(pair[1])?)).collect()
}
