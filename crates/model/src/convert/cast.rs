//! Numbers that the machine has: one loop per pair of types, compiled apart.

use super::half::Half;
use super::swap;
use crate::{ByteOrder, Datatype};

/// Bytes converted at a time where the source must be swapped first: both buffers stay in the first-level cache.
const BLOCK_BYTES: usize = 4096;

/// A number in the machine's own byte order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Native {
    I8,
    U8,
    I16,
    U16,
    I32,
    U32,
    I64,
    U64,
    F16,
    F32,
    F64,
}

/// Returns a type as a native number, and whether its bytes are in the other order.
fn native(t: &Datatype) -> Option<(Native, bool)> {
    let (kind, order) = match t {
        Datatype::Integer(t) if t.bits.size <= 8 && t.bits.is_full() => {
            (integer(t.bits.size, t.signed)?, t.bits.order)
        }
        Datatype::Float(t) if t.is_ieee() => (float(t.bits.size)?, t.bits.order),
        _ => return None,
    };
    match order {
        ByteOrder::Vax => None,
        order => Some((kind, order != ByteOrder::NATIVE)),
    }
}

fn integer(size: u32, signed: bool) -> Option<Native> {
    Some(match (size, signed) {
        (1, true) => Native::I8,
        (1, false) => Native::U8,
        (2, true) => Native::I16,
        (2, false) => Native::U16,
        (4, true) => Native::I32,
        (4, false) => Native::U32,
        (8, true) => Native::I64,
        (8, false) => Native::U64,
        _ => return None,
    })
}

fn float(size: u32) -> Option<Native> {
    match size {
        2 => Some(Native::F16),
        4 => Some(Native::F32),
        8 => Some(Native::F64),
        _ => None,
    }
}

/// A loop from native numbers to native numbers.
type Kernel = fn(&[u8], &mut [u8]);

/// A conversion between native numbers, with byte swaps around it.
#[derive(Debug, Clone)]
pub(super) struct Cast {
    kernel: Kernel,
    from_bytes: usize,
    to_bytes: usize,
    swap_from: bool,
    swap_to: bool,
}

impl Cast {
    /// Returns the conversion, where both types are numbers of the machine.
    pub(super) fn new(from: &Datatype, to: &Datatype) -> Option<Cast> {
        let ((a, swap_from), (b, swap_to)) = (native(from)?, native(to)?);
        let (from_bytes, to_bytes) = (from.size() as usize, to.size() as usize);
        Some(Cast { kernel: kernel(a, b), from_bytes, to_bytes, swap_from, swap_to })
    }

    pub(super) fn run(&self, from: &[u8], to: &mut [u8]) {
        if !self.swap_from && !self.swap_to {
            return (self.kernel)(from, to);
        }
        let count = BLOCK_BYTES / self.from_bytes.max(self.to_bytes);
        let mut buffer = [0; BLOCK_BYTES];
        let blocks = from.chunks(count * self.from_bytes).zip(to.chunks_mut(count * self.to_bytes));
        for (from, to) in blocks {
            self.run_block(from, to, &mut buffer);
        }
    }

    fn run_block(&self, from: &[u8], to: &mut [u8], buffer: &mut [u8; BLOCK_BYTES]) {
        if self.swap_from {
            let native = &mut buffer[..from.len()];
            swap::copy(self.from_bytes, from, native);
            (self.kernel)(native, to);
        } else {
            (self.kernel)(from, to);
        }
        if self.swap_to {
            swap::in_place(self.to_bytes, to);
        }
    }
}

/// Conversion of one number to another by HDF5's rules, without a callback.
trait To<T> {
    fn to(self) -> T;
}

macro_rules! int_to_int {
    ($from:ty => $($to:ty)*) => { $(
        impl To<$to> for $from {
            #[inline(always)]
            #[allow(clippy::cast_lossless, clippy::unnecessary_cast)]
            fn to(self) -> $to {
                const LOW: $from = if (<$from>::MIN as i128) < <$to>::MIN as i128 { <$to>::MIN as $from } else { <$from>::MIN };
                const HIGH: $from = if (<$from>::MAX as i128) > <$to>::MAX as i128 { <$to>::MAX as $from } else { <$from>::MAX };
                self.clamp(LOW, HIGH) as $to
            }
        }
    )* };
}

/// Rust's `as` is what HDF5 wants here: nearest even to floats; clipped and towards zero to integers.
macro_rules! by_as {
    ($from:ty => $($to:ty)*) => { $(
        impl To<$to> for $from {
            #[inline(always)]
            #[allow(clippy::cast_lossless, clippy::unnecessary_cast)]
            fn to(self) -> $to {
                self as $to
            }
        }
    )* };
}

macro_rules! half_to {
    ($($to:ty)*) => { $(
        impl To<$to> for Half {
            #[inline(always)]
            #[allow(clippy::cast_lossless, clippy::unnecessary_cast)]
            fn to(self) -> $to {
                self.to_f32() as $to
            }
        }
    )* };
}

/// Integers of more than 53 bits are infinite as halves, so `f64` loses nothing that counts.
macro_rules! to_half {
    ($($from:ty)*) => { $(
        impl To<Half> for $from {
            #[inline(always)]
            #[allow(clippy::cast_lossless)]
            fn to(self) -> Half {
                Half::from_f64(self as f64)
            }
        }
    )* };
}

int_to_int!(i8 => i8 u8 i16 u16 i32 u32 i64 u64);
int_to_int!(u8 => i8 u8 i16 u16 i32 u32 i64 u64);
int_to_int!(i16 => i8 u8 i16 u16 i32 u32 i64 u64);
int_to_int!(u16 => i8 u8 i16 u16 i32 u32 i64 u64);
int_to_int!(i32 => i8 u8 i16 u16 i32 u32 i64 u64);
int_to_int!(u32 => i8 u8 i16 u16 i32 u32 i64 u64);
int_to_int!(i64 => i8 u8 i16 u16 i32 u32 i64 u64);
int_to_int!(u64 => i8 u8 i16 u16 i32 u32 i64 u64);
by_as!(i8 => f32 f64);
by_as!(u8 => f32 f64);
by_as!(i16 => f32 f64);
by_as!(u16 => f32 f64);
by_as!(i32 => f32 f64);
by_as!(u32 => f32 f64);
by_as!(i64 => f32 f64);
by_as!(u64 => f32 f64);
by_as!(f32 => i8 u8 i16 u16 i32 u32 i64 u64 f32 f64);
by_as!(f64 => i8 u8 i16 u16 i32 u32 i64 u64 f32 f64);
half_to!(i8 u8 i16 u16 i32 u32 i64 u64 f32 f64);
to_half!(i8 u8 i16 u16 i32 u32 i64 u64 f64);

impl To<Half> for f32 {
    #[inline(always)]
    fn to(self) -> Half {
        Half::from_f32(self)
    }
}

impl To<Half> for Half {
    #[inline(always)]
    fn to(self) -> Half {
        self
    }
}

macro_rules! loop_of {
    ($from_bytes:expr, $load:expr, $to_bytes:expr, $store:expr) => {{
        fn run(from: &[u8], to: &mut [u8]) {
            let (from, _) = from.as_chunks::<{ $from_bytes }>();
            let (to, _) = to.as_chunks_mut::<{ $to_bytes }>();
            for (to, from) in to.iter_mut().zip(from) {
                *to = $store($load(*from).to());
            }
        }
        run as Kernel
    }};
}

/// Bytes to a half and back.
fn half_load(bytes: [u8; 2]) -> Half {
    Half(u16::from_ne_bytes(bytes))
}

fn half_store(half: Half) -> [u8; 2] {
    half.0.to_ne_bytes()
}

macro_rules! row {
    ($to:expr, $from_bytes:expr, $load:expr) => {
        match $to {
            Native::I8 => loop_of!($from_bytes, $load, 1, i8::to_ne_bytes),
            Native::U8 => loop_of!($from_bytes, $load, 1, u8::to_ne_bytes),
            Native::I16 => loop_of!($from_bytes, $load, 2, i16::to_ne_bytes),
            Native::U16 => loop_of!($from_bytes, $load, 2, u16::to_ne_bytes),
            Native::I32 => loop_of!($from_bytes, $load, 4, i32::to_ne_bytes),
            Native::U32 => loop_of!($from_bytes, $load, 4, u32::to_ne_bytes),
            Native::I64 => loop_of!($from_bytes, $load, 8, i64::to_ne_bytes),
            Native::U64 => loop_of!($from_bytes, $load, 8, u64::to_ne_bytes),
            Native::F16 => loop_of!($from_bytes, $load, 2, half_store),
            Native::F32 => loop_of!($from_bytes, $load, 4, f32::to_ne_bytes),
            Native::F64 => loop_of!($from_bytes, $load, 8, f64::to_ne_bytes),
        }
    };
}

fn kernel(from: Native, to: Native) -> Kernel {
    match from {
        Native::I8 => row!(to, 1, i8::from_ne_bytes),
        Native::U8 => row!(to, 1, u8::from_ne_bytes),
        Native::I16 => row!(to, 2, i16::from_ne_bytes),
        Native::U16 => row!(to, 2, u16::from_ne_bytes),
        Native::I32 => row!(to, 4, i32::from_ne_bytes),
        Native::U32 => row!(to, 4, u32::from_ne_bytes),
        Native::I64 => row!(to, 8, i64::from_ne_bytes),
        Native::U64 => row!(to, 8, u64::from_ne_bytes),
        Native::F16 => row!(to, 2, half_load),
        Native::F32 => row!(to, 4, f32::from_ne_bytes),
        Native::F64 => row!(to, 8, f64::from_ne_bytes),
    }
}
