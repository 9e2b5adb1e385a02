//! Scale-offset (6): numbers as differences from the smallest, in as few bits as they need.
//!
//! Values (20): scale type, factor, elements, class, size, sign, byte order, fill defined, fill value.
//! Chunk: bits per code, size of the minimum, the minimum, zeros up to byte 21, then the codes packed
//! most significant bit first. The code of all ones is the fill value, if one is defined.

use crate::bits::{BitReader, BitWriter, low_bits};
use crate::error::{Error, Origin};
use crate::input::Input;
use crate::names::id;
use crate::scaleoffset_values::{Element, Scale, Settings};
use crate::{Codecs, Done, Filter, FilterId, Output, Params, Size};

const AT: Origin = Origin(id::SCALEOFFSET);
const HEADER_BYTES: usize = 21;
const MIN_BYTES: u8 = 8;

/// The scale-offset filter.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ScaleOffset;

impl Filter for ScaleOffset {
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
        let settings = Settings::parse(params.values)?;
        if settings.passes_through() {
            return AT.within(input.len() as u64, out.size().max).map(Done::Prefix);
        }
        out.put(decode(&settings, input, out.size())?)
    }

    fn encode_into(
        &self,
        params: &Params<'_>,
        input: &[u8],
        out: &mut Output<'_>,
        _codecs: &mut Codecs,
    ) -> Result<Done, Error> {
        let settings = Settings::parse(params.values)?;
        if settings.passes_through() {
            return Ok(Done::Prefix(input.len()));
        }
        if input.len() as u64 != settings.raw_bytes() {
            let problem = format!("{} bytes given, values say {}", input.len(), settings.raw_bytes());
            return Err(AT.invalid(problem));
        }
        out.put(encode(&settings, input)?)
    }
}

fn decode(settings: &Settings, input: &[u8], size: Size) -> Result<Vec<u8>, Error> {
    let element = settings.element;
    let bytes = AT.within(settings.raw_bytes(), size.max)?;
    let mut header = Input::new(AT, input);
    let code_bits = header.u32_le()?;
    let min = parse_min(&mut header)?;
    let payload = input.get(HEADER_BYTES..).ok_or_else(|| AT.corrupt("shorter than its header"))?;
    if code_bits > element.bits() {
        return Err(AT.corrupt(format!("{code_bits} bits for numbers of {} bytes", element.size)));
    }
    let codes = BitReader::new(payload);
    if u64::from(code_bits) * settings.elements as u64 > codes.left() as u64 {
        return Err(AT.corrupt("payload ends too early"));
    }
    if code_bits == element.bits() {
        return raw(element, &payload[..bytes]);
    }
    let restore = Restore::new(settings, code_bits, min);
    let mut out = AT.zeroed(bytes)?;
    match element.size {
        1 => restore.fill::<1>(codes, &mut out),
        2 => restore.fill::<2>(codes, &mut out),
        4 => restore.fill::<4>(codes, &mut out),
        _ => restore.fill::<8>(codes, &mut out),
    }
    Ok(out)
}

/// The minimum is as wide as its size byte says; libhdf5 always writes 8 bytes.
fn parse_min(header: &mut Input<'_>) -> Result<u64, Error> {
    let width = usize::from(header.u8()?.min(MIN_BYTES));
    let mut min = [0; MIN_BYTES as usize];
    min[..width].copy_from_slice(header.take(width)?);
    Ok(u64::from_le_bytes(min))
}

/// Full-width codes are the numbers themselves, in the writer's order, which is little-endian in practice.
fn raw(element: Element, payload: &[u8]) -> Result<Vec<u8>, Error> {
    let mut out = AT.reserve(payload.len())?;
    out.extend_from_slice(payload);
    if element.big_endian {
        out.chunks_exact_mut(element.size).for_each(<[u8]>::reverse);
    }
    Ok(out)
}

/// From codes back to the bits of numbers.
struct Restore {
    scale: Scale,
    big_endian: bool,
    code_bits: u32,
    min: u64,
    fill: Option<u64>,
    fill_code: u64,
    power: f64,
}

impl Restore {
    fn new(settings: &Settings, code_bits: u32, min: u64) -> Self {
        let power = match settings.scale {
            Scale::Decimal { digits } => 10f64.powi(digits),
            Scale::Integer { .. } => 1.0,
        };
        let (scale, big_endian) = (settings.scale, settings.element.big_endian);
        let fill_code = low_bits(code_bits);
        Self { scale, big_endian, code_bits, min, fill: settings.fill, fill_code, power }
    }

    /// Decodes numbers of `N` bytes until `out` is full.
    fn fill<const N: usize>(&self, mut codes: BitReader<'_>, out: &mut [u8]) {
        for slot in out.as_chunks_mut::<N>().0 {
            let bytes = self.value(codes.read(self.code_bits), N).to_le_bytes();
            *slot = std::array::from_fn(|i| bytes[if self.big_endian { N - 1 - i } else { i }]);
        }
    }

    fn value(&self, code: u64, size: usize) -> u64 {
        match (self.fill, self.scale, size) {
            (Some(fill), ..) if code == self.fill_code => fill,
            (_, Scale::Integer { .. }, _) => code.wrapping_add(self.min),
            // The arithmetic is done in the type's own precision, as libhdf5 does.
            (_, Scale::Decimal { .. }, 4) => {
                let value = code as f32 / self.power as f32 + f32::from_bits(self.min as u32);
                u64::from(value.to_bits())
            }
            _ => (code as f64 / self.power + f64::from_bits(self.min)).to_bits(),
        }
    }
}

fn encode(settings: &Settings, input: &[u8]) -> Result<Vec<u8>, Error> {
    let element = settings.element;
    let values: Vec<u64> = input.chunks_exact(element.size).map(|bytes| element.load(bytes)).collect();
    let coded = match settings.scale {
        Scale::Integer { bits } => code_integers(settings, &values, bits),
        Scale::Decimal { digits } => code_floats(settings, &values, digits),
    };
    let mut out = AT.reserve(HEADER_BYTES + input.len() + 1)?;
    out.extend_from_slice(&coded.bits.to_le_bytes());
    out.push(MIN_BYTES);
    out.extend_from_slice(&coded.min.to_le_bytes());
    out.resize(HEADER_BYTES, 0);
    let mut writer = BitWriter::new(out);
    if coded.bits == element.bits() {
        let mut out = writer.finish();
        values.iter().for_each(|value| out.extend_from_slice(&value.to_le_bytes()[..element.size]));
        return Ok(out);
    }
    coded.codes.iter().for_each(|code| writer.write(*code, coded.bits));
    Ok(writer.finish_with_spare())
}

/// The numbers of a chunk as codes. `codes` is empty when `bits` is the full width.
struct Coded {
    bits: u32,
    min: u64,
    codes: Vec<u64>,
}

impl Coded {
    fn raw(bits: u32, min: u64) -> Self {
        Self { bits, min, codes: Vec::new() }
    }
}

/// Returns the number of bits for `span` different codes, one more if a fill value needs its own.
fn bits_for(span: u64, has_fill: bool) -> u32 {
    let codes = span.saturating_add(u64::from(has_fill));
    codes.saturating_sub(1).checked_ilog2().map_or(0, |log| log + 1)
}

fn code_integers(settings: &Settings, values: &[u64], user_bits: u32) -> Coded {
    let element = settings.element;
    let key = |value: u64| element.extend(value) ^ if element.signed { 1 << 63 } else { 0 };
    let kept = || values.iter().copied().filter(|value| Some(*value) != settings.fill);
    let min = kept().min_by_key(|value| key(*value)).unwrap_or(0);
    let max = kept().max_by_key(|value| key(*value)).unwrap_or(0);
    let width = low_bits(element.bits());
    let range = max.wrapping_sub(min) & width;
    let min_wide = element.extend(min);
    let bits = match user_bits {
        0 if range > width - 2 => return Coded::raw(element.bits(), min_wide),
        0 => bits_for(range + 1, settings.fill.is_some()),
        fixed => fixed,
    };
    if bits >= element.bits() {
        return Coded::raw(element.bits(), min_wide);
    }
    let code = |value: u64| {
        if Some(value) == settings.fill { low_bits(bits) } else { value.wrapping_sub(min) & low_bits(bits) }
    };
    Coded { bits, min: min_wide, codes: values.iter().map(|value| code(*value)).collect() }
}

fn code_floats(settings: &Settings, values: &[u64], digits: i32) -> Coded {
    let size = settings.element.size;
    let float =
        |bits: u64| if size == 4 { f64::from(f32::from_bits(bits as u32)) } else { f64::from_bits(bits) };
    let power = 10f64.powi(digits);
    let fill = settings.fill.map(float);
    // Nearer than the kept precision a number counts as the fill value.
    let nearest = 10f64.powi(-digits);
    let is_fill = |value: f64| fill.is_some_and(|fill| (value - fill).abs() < nearest);
    let kept = || values.iter().filter(|bits| !is_fill(float(**bits)));
    let by_value = |a: &&u64, b: &&u64| float(**a).total_cmp(&float(**b));
    let min_bits = kept().min_by(by_value).copied().unwrap_or(0);
    let max_bits = kept().max_by(by_value).copied().unwrap_or(0);
    let (min, max) = (float(min_bits) * power, float(max_bits) * power);
    let range = (max - min).round();
    let full = settings.element.bits();
    // Also true for NaN and infinity, which no code can stand for.
    if range.is_nan() || range > 2f64.powi(full as i32 - 1) {
        return Coded::raw(full, min_bits);
    }
    let bits = bits_for((range as u64).saturating_add(1), fill.is_some());
    if bits >= full {
        return Coded::raw(full, min_bits);
    }
    let code = |bits_of: u64| match float(bits_of) {
        value if is_fill(value) => low_bits(bits),
        value => (value * power - min).round() as u64,
    };
    Coded { bits, min: min_bits, codes: values.iter().map(|value| code(*value)).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: Size = Size { hint: 0, max: 1 << 16 };

    fn values(head: [u32; 8]) -> Vec<u32> {
        let mut values = head.to_vec();
        values.resize(20, 0);
        values
    }

    fn hex(text: &str) -> Vec<u8> {
        let digits: Vec<u8> = text.bytes().filter(|b| *b != b' ').collect();
        digits.chunks(2).map(|d| u8::from_str_radix(str::from_utf8(d).unwrap(), 16).unwrap()).collect()
    }

    #[test]
    fn reference_bytes_of_integers() {
        let input: Vec<u8> = [100i32, 101, 107, 104, -5, 100].iter().flat_map(|v| v.to_le_bytes()).collect();
        let values = values([2, 0, 6, 0, 4, 1, 0, 1]);
        let params = Params { values: &values };
        let packed = ScaleOffset.encode(&params, &input).unwrap();
        assert_eq!(packed, hex("07000000 08 fbffffffffffffff 0000000000000000 d3ab86d01a40"));
        assert_eq!(ScaleOffset.decode(&params, &packed, SIZE).unwrap(), input);
    }

    #[test]
    fn reference_bytes_of_floats() {
        let numbers = [1.23f64, 4.56, 7.891, 0.5];
        let input: Vec<u8> = numbers.iter().flat_map(|v| v.to_le_bytes()).collect();
        let values = values([0, 2, 4, 1, 8, 0, 0, 1]);
        let params = Params { values: &values };
        let packed = ScaleOffset.encode(&params, &input).unwrap();
        assert_eq!(packed, hex("0a000000 08 000000000000e03f 0000000000000000 12596b8c0000"));
        let back = ScaleOffset.decode(&params, &packed, SIZE).unwrap();
        for (bytes, number) in back.as_chunks::<8>().0.iter().zip(numbers) {
            assert!((f64::from_le_bytes(*bytes) - number).abs() <= 0.005);
        }
    }

    #[test]
    fn full_range_integers_are_kept_raw() {
        let input: Vec<u8> = [i16::MIN, i16::MAX, 0, 5].iter().flat_map(|v| v.to_be_bytes()).collect();
        let values = values([2, 0, 4, 0, 2, 1, 1, 1]);
        let params = Params { values: &values };
        let packed = ScaleOffset.encode(&params, &input).unwrap();
        assert_eq!(packed.len(), 21 + 8);
        assert_eq!(ScaleOffset.decode(&params, &packed, SIZE).unwrap(), input);
    }

    #[test]
    fn equal_numbers_without_fill_need_no_payload() {
        let input = vec![7u8; 64];
        let values = values([2, 0, 64, 0, 1, 0, 0, 0]);
        let params = Params { values: &values };
        let packed = ScaleOffset.encode(&params, &input).unwrap();
        assert_eq!(packed[..4], [0; 4]);
        assert_eq!(ScaleOffset.decode(&params, &packed, SIZE).unwrap(), input);
    }

    #[test]
    fn not_a_number_is_kept_raw() {
        let input: Vec<u8> = [1.0f32, f32::NAN].iter().flat_map(|v| v.to_le_bytes()).collect();
        let values = values([0, 2, 2, 1, 4, 0, 0, 1]);
        let params = Params { values: &values };
        let packed = ScaleOffset.encode(&params, &input).unwrap();
        assert_eq!(ScaleOffset.decode(&params, &packed, SIZE).unwrap(), input);
    }
}
