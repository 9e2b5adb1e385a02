//! N-bit (5): only the significant bits of each number.
//!
//! Values: count of all values, 1 = pass through, elements per chunk, then the type tree.
//! Bits outside a number's precision and padding of compounds come back as zero.

use crate::bits::{BitReader, BitWriter};
use crate::error::{Error, Origin};
use crate::names::id;
use crate::nbit_tree::Node;
use crate::{Codecs, Done, Filter, FilterId, Output, Params, Size};

const AT: Origin = Origin(id::NBIT);

/// The n-bit filter.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Nbit;

impl Filter for Nbit {
    fn id(&self) -> FilterId {
        AT.0
    }

    fn decode_into(
        &self,
        params: &Params<'_>,
        input: &[u8],
        out: &mut Output<'_>,
        _codecs: &mut Codecs,
    ) -> Result<Done, Error> {
        match plan(params)? {
            Some(plan) => out.put(plan.decode(input, out.size())?),
            None => AT.within(input.len() as u64, out.size().max).map(Done::Prefix),
        }
    }

    fn encode_into(
        &self,
        params: &Params<'_>,
        input: &[u8],
        out: &mut Output<'_>,
        _codecs: &mut Codecs,
    ) -> Result<Done, Error> {
        match plan(params)? {
            Some(plan) => out.put(plan.encode(input)?),
            None => Ok(Done::Prefix(input.len())),
        }
    }
}

struct Plan {
    elements: usize,
    node: Node,
}

/// Returns what the values ask for; `None` = pass through.
fn plan(params: &Params<'_>) -> Result<Option<Plan>, Error> {
    let [count, pass_through, elements, tree @ ..] = params.values else {
        return Err(AT.invalid("fewer than 3 values"));
    };
    if *count as usize != params.values.len() {
        return Err(AT.invalid(format!("{} values, {count} announced", params.values.len())));
    }
    if *pass_through == 1 {
        return Ok(None);
    }
    Ok(Some(Plan { elements: *elements as usize, node: Node::parse(tree)? }))
}

impl Plan {
    fn unpacked_bytes(&self) -> u64 {
        (self.elements as u64).saturating_mul(self.node.size() as u64)
    }

    fn decode(&self, input: &[u8], size: Size) -> Result<Vec<u8>, Error> {
        let bytes = AT.within(self.unpacked_bytes(), size.max)?;
        let mut bits = BitReader::new(input);
        let needed = self.node.packed_bits().saturating_mul(self.elements as u64);
        if needed > bits.left() as u64 {
            return Err(AT.corrupt(format!("{needed} bits needed, {} there", bits.left())));
        }
        let mut out = AT.zeroed(bytes)?;
        for element in out.chunks_exact_mut(self.node.size()) {
            self.node.unpack(&mut bits, element);
        }
        Ok(out)
    }

    fn encode(&self, input: &[u8]) -> Result<Vec<u8>, Error> {
        if input.len() as u64 != self.unpacked_bytes() {
            let problem = format!("{} bytes given, values say {}", input.len(), self.unpacked_bytes());
            return Err(AT.invalid(problem));
        }
        let mut bits = BitWriter::new(AT.reserve(input.len() + 1)?);
        for element in input.chunks_exact(self.node.size()) {
            self.node.pack(element, &mut bits);
        }
        Ok(bits.finish_with_spare())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ATOMIC: [u32; 8] = [8, 0, 4, 1, 2, 0, 5, 3];
    const SIZE: Size = Size { hint: 0, max: 1 << 16 };

    #[test]
    fn reference_bytes_of_five_bit_numbers() {
        let input: Vec<u8> = [1i16, 2, -3, 15].iter().flat_map(|v| (v << 3).to_le_bytes()).collect();
        let params = Params { values: &ATOMIC };
        let packed = Nbit.encode(&params, &input).unwrap();
        assert_eq!(packed, [0x08, 0xba, 0xf0]);
        let back = Nbit.decode(&params, &packed, SIZE).unwrap();
        // No sign extension: bits above the precision are zero.
        let kept: Vec<u8> = input.chunks(2).flat_map(|b| [b[0], 0]).collect();
        assert_eq!(back, kept);
    }

    #[test]
    fn compound_of_numbers_characters_and_arrays_round_trips() {
        let values = [23, 0, 4, 3, 8, 3, 0, 1, 2, 0, 5, 3, 2, 4, 1, 4, 2, 4, 1, 2, 0, 5, 3];
        let mut input = Vec::new();
        for i in 0..4u8 {
            input.extend_from_slice(&[i << 3, 0, b'a' + i, 0, (i + 1) << 3, 0, 31 << 3, 0]);
        }
        let params = Params { values: &values };
        let packed = Nbit.encode(&params, &input).unwrap();
        assert_eq!(Nbit.decode(&params, &packed, SIZE).unwrap(), input);
    }

    #[test]
    fn wide_floats_keep_their_precision_bits() {
        for order in [0, 1] {
            let values = [8, 0, 3, 1, 16, order, 77, 30];
            let params = Params { values: &values };
            let packed = vec![0xa5; (77 * 3) / 8 + 1];
            let unpacked = Nbit.decode(&params, &packed, SIZE).unwrap();
            let again = Nbit.encode(&params, &unpacked).unwrap();
            assert_eq!(Nbit.decode(&params, &again, SIZE).unwrap(), unpacked);
            assert_eq!(again[..28], packed[..28]);
        }
    }

    #[test]
    fn short_input_is_corrupt() {
        let error = Nbit.decode(&Params { values: &ATOMIC }, &[1, 2], SIZE).unwrap_err();
        assert_eq!(error.kind(), crate::ErrorKind::Corrupt);
    }

    #[test]
    fn endless_nesting_is_refused() {
        let mut values = vec![0, 0, 1];
        values.extend([2, 8].repeat(5000));
        values[0] = values.len() as u32;
        assert!(Nbit.decode(&Params { values: &values }, &[], SIZE).is_err());
    }
}
