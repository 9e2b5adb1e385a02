//! Arguments of single options.

use hyperslab::{Index, Order};

use crate::h5::render::element::PackedBits;

/// `-q`
pub(crate) fn parse_sort_by(text: &str) -> Result<Index, String> {
    match text {
        "name" => Ok(Index::Name),
        "creation_order" => Ok(Index::CreationOrder),
        _ => Err(format!("unknown order \"{text}\": it is name or creation_order")),
    }
}

/// `-z`
pub(crate) fn parse_sort_order(text: &str) -> Result<Order, String> {
    match text {
        "ascending" => Ok(Order::Increasing),
        "descending" => Ok(Order::Decreasing),
        _ => Err(format!("unknown direction \"{text}\": it is ascending or descending")),
    }
}

/// Most pairs of bits.
const PACKED_MAX: usize = 8;

/// `-M offset,length,offset,length…`
pub(crate) fn parse_packed_bits(text: &str) -> Result<Vec<PackedBits>, String> {
    let bad = |problem: &str| Err(format!("bad mask list \"{text}\": {problem}"));
    let Ok(numbers) = text.split(',').map(str::parse::<u32>).collect::<Result<Vec<_>, _>>() else {
        return bad("it is a list of offset,length");
    };
    if numbers.len() % 2 != 0 || numbers.len() / 2 > PACKED_MAX {
        return bad("it has one to eight pairs of offset,length");
    }
    let pairs = numbers.chunks_exact(2).map(|pair| (pair[0], pair[1]));
    if pairs.clone().any(|(offset, length)| length == 0 || offset >= 64 || offset + length > 64) {
        return bad("lengths are positive, and offset and length together at most 64");
    }
    let mask = |length: u32| if length == 64 { u64::MAX } else { (1 << length) - 1 };
    Ok(pairs.map(|(offset, length)| PackedBits { offset, length, mask: mask(length) }).collect())
}
