//! Szip (4): adaptive entropy coding in the frame that the szip library puts around it.
//!
//! Values: options mask, pixels per block, bits per pixel, pixels per scanline.
//! Chunk: uncompressed byte count (u32, little-endian), then the coded stream. Pixels of 32 and 64 bits are
//! coded as planes of bytes; every scanline is filled up to whole blocks.

use crate::codec::aec;
use crate::error::{Error, Origin};
use crate::input::Input;
use crate::names::id;
use crate::{Codecs, Done, Filter, FilterId, Output, Params, transpose};

const AT: Origin = Origin(id::SZIP);
const OPTION_MSB: u32 = 16;
const OPTION_NEAREST_NEIGHBOUR: u32 = 32;
const BLOCK_PIXELS_MAX: u32 = 32;
const SCANLINE_BLOCKS_MAX: u32 = 4096;

/// The szip filter.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Szip;

impl Filter for Szip {
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
        let layer = Layer::parse(params)?;
        let mut input = Input::new(AT, input);
        let bytes = AT.within(u64::from(input.u32_le()?), out.size().max)?;
        out.put(layer.decode(input.rest(), bytes)?)
    }

    fn encode_into(
        &self,
        params: &Params<'_>,
        input: &[u8],
        out: &mut Output<'_>,
        _codecs: &mut Codecs,
    ) -> Result<Done, Error> {
        let layer = Layer::parse(params)?;
        let bytes = u32::try_from(input.len()).map_err(|_| AT.invalid("chunk above 4 GiB"))?;
        if !input.len().is_multiple_of(layer.planes * layer.sample_bytes) {
            return Err(AT.incompressible("not a whole number of pixels"));
        }
        let stream = layer.encode(input)?;
        if stream.len() >= input.len() {
            return Err(AT.incompressible("does not shrink"));
        }
        out.put([&bytes.to_le_bytes()[..], &stream].concat())
    }
}

/// The layer of the szip library around the coder.
struct Layer {
    coder: aec::Settings,
    /// Byte planes per pixel; 1 = pixels are coded whole.
    planes: usize,
    sample_bytes: usize,
    big_endian: bool,
    scanline_samples: usize,
}

impl Layer {
    fn parse(params: &Params<'_>) -> Result<Self, Error> {
        let [options, block, pixel_bits, scanline] = *params.values else {
            return Err(AT.invalid("needs 4 values"));
        };
        let widths = matches!(pixel_bits, 1..=32 | 64);
        if !widths || block == 0 || block > BLOCK_PIXELS_MAX || block % 2 != 0 || scanline == 0 {
            let problem = format!("{pixel_bits} bits per pixel, blocks of {block}, scanlines of {scanline}");
            return Err(AT.invalid(problem));
        }
        let rsi_blocks = scanline.div_ceil(block);
        if rsi_blocks > SCANLINE_BLOCKS_MAX {
            return Err(AT.invalid(format!("scanline of {rsi_blocks} blocks")));
        }
        let is_planar = pixel_bits >= 32;
        let sample_bits = if is_planar { 8 } else { pixel_bits };
        Ok(Self {
            coder: aec::Settings {
                sample_bits,
                block_samples: block as usize,
                rsi_blocks: rsi_blocks as usize,
                predict: options & OPTION_NEAREST_NEIGHBOUR != 0,
            },
            planes: if is_planar { pixel_bits as usize / 8 } else { 1 },
            sample_bytes: sample_bits.div_ceil(8).next_power_of_two() as usize,
            big_endian: options & OPTION_MSB != 0,
            scanline_samples: scanline as usize,
        })
    }

    /// Samples of a scanline after filling it up.
    fn padded_samples(&self) -> usize {
        self.coder.block_samples * self.coder.rsi_blocks
    }

    fn decode(&self, stream: &[u8], bytes: usize) -> Result<Vec<u8>, Error> {
        let samples = bytes.div_ceil(self.sample_bytes);
        let lines = samples / self.scanline_samples;
        let padded = lines * self.padded_samples() + samples % self.scanline_samples;
        let mut out = AT.reserve(samples * self.sample_bytes)?;
        // A scanline, filled up, is one interval of the coder.
        let mut keep = |line: &[u32]| self.store(&line[..line.len().min(self.scanline_samples)], &mut out);
        aec::decode(AT, self.coder, stream, padded, &mut keep)?;
        out.truncate(bytes);
        Ok(self.join_planes(out))
    }

    fn join_planes(&self, coded: Vec<u8>) -> Vec<u8> {
        if self.planes == 1 {
            return coded;
        }
        let mut out = vec![0; coded.len()];
        let whole = coded.len() - coded.len() % self.planes;
        transpose::unshuffle(self.planes, &coded[..whole], &mut out[..whole]);
        out
    }

    fn store(&self, samples: &[u32], out: &mut Vec<u8>) {
        match (self.sample_bytes, self.big_endian) {
            (1, _) => out.extend(samples.iter().map(|sample| *sample as u8)),
            (2, false) => samples.iter().for_each(|s| out.extend_from_slice(&(*s as u16).to_le_bytes())),
            (2, true) => samples.iter().for_each(|s| out.extend_from_slice(&(*s as u16).to_be_bytes())),
            (_, false) => samples.iter().for_each(|s| out.extend_from_slice(&s.to_le_bytes())),
            (_, true) => samples.iter().for_each(|s| out.extend_from_slice(&s.to_be_bytes())),
        }
    }

    fn load(&self, bytes: &[u8]) -> u32 {
        let fold = |sum: u32, byte: &u8| sum << 8 | u32::from(*byte);
        if self.big_endian { bytes.iter().fold(0, fold) } else { bytes.iter().rev().fold(0, fold) }
    }

    fn encode(&self, input: &[u8]) -> Result<Vec<u8>, Error> {
        let mut planar;
        let coded = if self.planes > 1 {
            planar = AT.zeroed(input.len())?;
            transpose::shuffle(self.planes, input, &mut planar);
            &planar[..]
        } else {
            input
        };
        let mut encoder = aec::Encoder::new(self.coder);
        let mut samples = Vec::new();
        for line in coded.chunks(self.scanline_samples * self.sample_bytes) {
            samples.clear();
            samples.extend(line.chunks_exact(self.sample_bytes).map(|bytes| self.load(bytes)));
            let fill = if self.coder.predict { samples.last().copied().unwrap_or(0) } else { 0 };
            samples.resize(self.padded_samples(), fill);
            encoder.rsi(&samples);
        }
        Ok(encoder.finish())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Size;

    #[test]
    fn pixels_of_every_width_round_trip() {
        for (options, bits, bytes) in
            [(0xb1, 8, 1), (0xa9, 16, 2), (0xb1, 12, 2), (0x8d, 24, 4), (0xa9, 32, 4), (0xb1, 64, 8)]
        {
            for scanline in [8, 10, 50, 200] {
                let values = [options, 8, bits, scanline];
                let input: Vec<u8> = (0..bytes * 700u32)
                    .map(|i| {
                        if i % bytes == 0 && options & 16 == 0 {
                            (i / bytes / 3) as u8
                        } else if bytes == 1 {
                            (i / 9) as u8
                        } else {
                            0
                        }
                    })
                    .collect();
                let params = Params { values: &values };
                let packed = Szip.encode(&params, &input).unwrap();
                let size = Size { hint: 0, max: input.len() };
                assert!(Szip.decode(&params, &packed, size).unwrap() == input, "{values:?}");
            }
        }
    }
}
