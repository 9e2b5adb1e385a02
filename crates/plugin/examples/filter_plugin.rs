//! A filter of Rust: bytes in the opposite order. A client value of 1 makes it panic.

use filters::{Codecs, Done, Error, ErrorKind, Filter, FilterId, Output, Params};

struct Reverse;

impl Filter for Reverse {
    fn id(&self) -> FilterId {
        311
    }

    fn name(&self) -> &'static str {
        "reverse"
    }

    fn decode_into(
        &self,
        params: &Params<'_>,
        input: &[u8],
        out: &mut Output<'_>,
        _codecs: &mut Codecs,
    ) -> Result<Done, Error> {
        match params.get(0) {
            Some(1) => panic!("asked to panic"),
            Some(2) => Err(Error::new(ErrorKind::Invalid, self.id(), "a value of 2")),
            _ => out.put(input.iter().rev().copied().collect()),
        }
    }

    fn encode_into(
        &self,
        params: &Params<'_>,
        input: &[u8],
        out: &mut Output<'_>,
        codecs: &mut Codecs,
    ) -> Result<Done, Error> {
        self.decode_into(params, input, out, codecs)
    }
}

hyperslab_plugin::export_filter!(Reverse);
