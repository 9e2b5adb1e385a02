//! IEEE half precision. Own code: each direction is a few operations without branches, so that loops
//! vectorise, and `f64` rounds once (by way of `f32` it would round twice).

/// The bits of a half-precision number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Half(pub(super) u16);

impl Half {
    pub(super) fn to_f32(self) -> f32 {
        const SUBNORMAL: u32 = (127 - 14) << 23;
        let shifted = u32::from(self.0 & 0x7fff) << 13;
        // As a fraction of 2^-14 on top of it: subnormal operands would cost the machine a hundred cycles each.
        let subnormal = (f32::from_bits(shifted | SUBNORMAL) - f32::from_bits(SUBNORMAL)).to_bits();
        let magnitude = match self.0 & 0x7fff {
            0..0x400 => subnormal,
            0x400..0x7c00 => shifted + ((127 - 15) << 23),
            0x7c00 => 0x7f80_0000,
            // Quieted, as the machine does it.
            _ => shifted | 0x7fc0_0000,
        };
        f32::from_bits(magnitude | u32::from(self.0 & 0x8000) << 16)
    }

    pub(super) fn from_f64(value: f64) -> Half {
        let bits = value.to_bits();
        let sign = (bits >> 48) as u16 & 0x8000;
        let magnitude = bits & !(1 << 63);
        Half(sign | half_magnitude(magnitude))
    }

    pub(super) fn from_f32(value: f32) -> Half {
        Half::from_f64(f64::from(value))
    }
}

/// The bits of 2^28, whose last place is 2^-24: adding it rounds to the subnormals of half precision.
const SUBNORMAL_MAGIC: f64 = 268_435_456.0;

fn half_magnitude(magnitude: u64) -> u16 {
    const NORMAL_MIN: u64 = (1023 - 14) << 52;
    const OVERFLOW_MIN: u64 = (1023 + 16) << 52;
    const INFINITY: u64 = 0x7ff << 52;
    let subnormal =
        (f64::from_bits(magnitude) + SUBNORMAL_MAGIC).to_bits().wrapping_sub(SUBNORMAL_MAGIC.to_bits());
    // Nearest even: half of the last place less one, plus one if the last place is odd.
    let odd = magnitude >> 42 & 1;
    let normal = magnitude.wrapping_sub((1023 - 15) << 52).wrapping_add((1 << 41) - 1 + odd) >> 42;
    match magnitude {
        m if m > INFINITY => 0x7e00 | (m >> 42) as u16 & 0x3ff,
        m if m >= OVERFLOW_MIN => 0x7c00,
        m if m >= NORMAL_MIN => normal as u16,
        _ => subnormal as u16,
    }
}
