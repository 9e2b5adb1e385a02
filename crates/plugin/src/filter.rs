//! Filters across the boundary: asking one of the other side, and answering for one of ours.

use filters::{Codecs, Done, ErrorKind, Filter, FilterId, Output, Params, Size};
use model::{Error, Kind, Result};
use protocol::wire;

use crate::abi::filter as code;
use crate::call::{Message, Reply, broken};
use crate::connector::Source;
use crate::serve::arguments;

/// Client values, and the bytes that are expected and allowed.
type FilterArguments = (Vec<u32>, (u64, u64));

/// A filter of a plugin.
pub(crate) struct ForeignFilter<S> {
    pub(crate) id: FilterId,
    pub(crate) name: &'static str,
    pub(crate) source: S,
}

impl<S: Source> ForeignFilter<S> {
    fn run(&self, code: u32, params: &Params<'_>, input: &[u8], size: Size) -> Result<Vec<u8>> {
        let sizes = (size.expected() as u64, size.max as u64);
        let arguments = wire::to_bytes::<FilterArguments>(&(params.values.to_vec(), sizes))?;
        let message = Message { code, arguments: &arguments, bulk: vec![input], ..Message::default() };
        let mut bulk = self.source.ask(message)?.answer.bulk;
        Ok(if bulk.len() == 1 { bulk.remove(0) } else { bulk.concat() })
    }

    fn run_into(
        &self,
        code: u32,
        params: &Params<'_>,
        input: &[u8],
        out: &mut Output<'_>,
    ) -> std::result::Result<Done, filters::Error> {
        let done = self.run(code, params, input, out.size());
        out.put(done.map_err(|error| filters::Error::new(filter_kind(&error), self.id, error.to_string()))?)
    }
}

impl<S: Source> Filter for ForeignFilter<S> {
    fn id(&self) -> FilterId {
        self.id
    }

    fn name(&self) -> &'static str {
        self.name
    }

    fn decode_into(
        &self,
        params: &Params<'_>,
        input: &[u8],
        out: &mut Output<'_>,
        _codecs: &mut Codecs,
    ) -> std::result::Result<Done, filters::Error> {
        self.run_into(code::DECODE, params, input, out)
    }

    fn encode_into(
        &self,
        params: &Params<'_>,
        input: &[u8],
        out: &mut Output<'_>,
        _codecs: &mut Codecs,
    ) -> std::result::Result<Done, filters::Error> {
        self.run_into(code::ENCODE, params, input, out)
    }
}

/// Returns the kind of a filter's error. What does not apply to a chunk is unsupported on the way.
fn filter_kind(error: &Error) -> ErrorKind {
    match error.kind() {
        Kind::Unsupported => ErrorKind::Incompressible,
        Kind::Limit => ErrorKind::Limit,
        Kind::Invalid => ErrorKind::Invalid,
        _ => ErrorKind::Corrupt,
    }
}

/// Returns the error of a filter's error, as the interface carries it.
fn wire_error(error: &filters::Error) -> Error {
    let base = match error.kind() {
        ErrorKind::Unsupported | ErrorKind::Incompressible => Error::unsupported("run filter"),
        ErrorKind::Limit => Error::limit("run filter"),
        ErrorKind::Invalid => Error::invalid("run filter"),
        ErrorKind::Corrupt => Error::corrupt("run filter"),
    };
    base.with("problem", error.problem())
}

/// Answers for a filter of ours.
pub(crate) fn answer_filter(filter: &dyn Filter, message: &Message<'_>) -> Result<Reply> {
    let (values, (expected, max)): FilterArguments = arguments(message)?;
    let &[input] = message.bulk.as_slice() else { return Err(broken("not one byte string")) };
    let params = Params { values: &values };
    let bytes = |n: u64| usize::try_from(n).unwrap_or(usize::MAX);
    let done = match message.code {
        code::ENCODE => filter.encode(&params, input),
        code::DECODE => filter.decode(&params, input, Size { hint: bytes(expected), max: bytes(max) }),
        code => return Err(Error::unsupported("ask filter").with("code", code)),
    };
    let mut reply = Reply::default();
    reply.answer.bulk.push(done.map_err(|error| wire_error(&error))?);
    Ok(reply)
}
