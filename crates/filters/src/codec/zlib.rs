//! zlib streams: libdeflate with the feature `libdeflate`, else pure Rust with `deflate`.

use super::States;
use crate::error::{Error, Origin};
#[cfg(feature = "deflate")]
use crate::output::{Done, Output};

#[cfg(all(feature = "deflate", not(feature = "libdeflate")))]
#[path = "zlib_rust.rs"]
mod imp;

#[cfg(feature = "libdeflate")]
#[path = "zlib_libdeflate.rs"]
mod imp;

#[cfg(not(feature = "deflate"))]
mod imp {
    use crate::error::{Error, Origin};

    #[derive(Default)]
    pub(crate) struct CodecState;

    impl CodecState {
        pub(crate) fn decode(
            &mut self,
            at: Origin,
            _input: &[u8],
            _out: &mut [u8],
        ) -> Result<Option<usize>, Error> {
            Err(at.unsupported("zlib needs the cargo feature `deflate`"))
        }

        pub(crate) fn encode(
            &mut self,
            at: Origin,
            _input: &[u8],
            _level: u32,
            _out: &mut [u8],
        ) -> Result<usize, Error> {
            Err(at.unsupported("zlib needs the cargo feature `deflate`"))
        }
    }
}

pub(crate) use imp::CodecState;

/// Decodes one stream; bytes after it are ignored, as libhdf5 does.
#[cfg(feature = "deflate")]
pub(crate) fn decode(
    at: Origin,
    input: &[u8],
    out: &mut Output<'_>,
    states: &mut States,
) -> Result<Done, Error> {
    out.fill(|buffer| states.zlib.decode(at, input, buffer))
}

/// Decodes one stream into `out`; the number of bytes it had.
pub(crate) fn decode_into(
    at: Origin,
    input: &[u8],
    out: &mut [u8],
    states: &mut States,
) -> Result<usize, Error> {
    let written = states.zlib.decode(at, input, out)?;
    written.ok_or_else(|| at.corrupt("zlib stream does not fit its block"))
}

/// Encodes one stream into `out`, which has the space of [`super::bound_bytes`]; its length.
pub(crate) fn encode_into(
    at: Origin,
    input: &[u8],
    level: u32,
    out: &mut [u8],
    states: &mut States,
) -> Result<usize, Error> {
    states.zlib.encode(at, input, level.min(9), out)
}

#[cfg(all(test, feature = "deflate"))]
mod tests {
    use super::*;
    use crate::codec::bound_bytes;

    const AT: Origin = Origin(1);

    fn encoded(input: &[u8], level: u32) -> Vec<u8> {
        let mut out = vec![0; bound_bytes(input.len())];
        let len = encode_into(AT, input, level, &mut out, &mut States::default()).unwrap();
        out.truncate(len);
        out
    }

    fn sample(len: usize) -> Vec<u8> {
        (0..len).map(|i| (i * i / 97) as u8 ^ ((i as u64 * 2_654_435_761) >> 29) as u8 & 3).collect()
    }

    #[test]
    fn one_state_serves_all_levels_and_lengths() {
        let mut states = States::default();
        for len in [0, 1, 2, 255, 4096, 100_001] {
            let input = sample(len);
            for level in [0, 9, 1, 4, 6, 6] {
                let mut out = vec![0; bound_bytes(len)];
                let packed = encode_into(AT, &input, level, &mut out, &mut states).unwrap();
                assert_eq!(out[..packed], encoded(&input, level), "level {level}, {len} bytes");
                let mut back = vec![7; len];
                assert_eq!(decode_into(AT, &out[..packed], &mut back, &mut states).unwrap(), len);
                assert!(back == input);
            }
        }
    }

    #[test]
    fn bytes_after_the_stream_are_ignored() {
        let input = sample(1000);
        let mut stream = encoded(&input, 6);
        stream.extend_from_slice(&[0xff; 100]);
        let mut back = vec![0; 1000];
        assert_eq!(decode_into(AT, &stream, &mut back, &mut States::default()).unwrap(), 1000);
        assert!(back == input);
    }

    #[test]
    fn state_recovers_from_broken_and_long_streams() {
        let mut states = States::default();
        let input = sample(5000);
        let stream = encoded(&input, 6);
        let mut back = vec![0; 5000];
        assert!(decode_into(AT, &stream[..stream.len() / 2], &mut back, &mut states).is_err());
        assert!(decode_into(AT, &[9, 9, 9, 9], &mut back, &mut states).is_err());
        assert!(decode_into(AT, &stream, &mut back[..4999], &mut states).is_err());
        assert!(decode_into(AT, &stream[..stream.len() - 1], &mut back, &mut states).is_err());
        assert_eq!(decode_into(AT, &stream, &mut back, &mut states).unwrap(), 5000);
        assert!(back == input);
    }

    #[test]
    fn wrong_checksum_is_found() {
        let mut stream = encoded(&sample(100), 6);
        *stream.last_mut().unwrap() ^= 1;
        let mut back = vec![0; 100];
        let error = decode_into(AT, &stream, &mut back, &mut States::default()).unwrap_err();
        assert_eq!(error.kind(), crate::ErrorKind::Corrupt);
    }
}
