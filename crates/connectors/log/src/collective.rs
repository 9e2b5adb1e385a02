//! Operations that all processes call together: the leader runs them, and tells the others what came of it.

use std::sync::Arc;

use comm::Comm;
use model::{Error, Result};
use protocol::wire::{Answer, Reader, Request, Transport, Wire, respond};
use vol::Container;

/// The way from every process to the container that the leader has.
pub(crate) struct Collective {
    pub(crate) comm: Arc<dyn Comm>,
    pub(crate) leader: Option<Arc<dyn Container>>,
}

fn confused() -> Error {
    Error::invalid("call together").with("problem", "processes call different operations")
}

/// Returns an answer as bytes: the operation, whether it failed, values, byte strings, elements that were read.
fn pack(code: u32, answer: &Answer, into: &[&mut [u8]]) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    code.put(&mut out)?;
    answer.failed.put(&mut out)?;
    answer.bytes.put(&mut out)?;
    answer.bulk.put(&mut out)?;
    into.iter().for_each(|buffer| out.extend_from_slice(buffer));
    Ok(out)
}

fn unpack(bytes: &[u8], code: u32, answer: &mut Answer, into: &mut [&mut [u8]]) -> Result<()> {
    let mut from = Reader::new(bytes);
    if u32::get(&mut from)? != code {
        return Err(confused());
    }
    answer.failed = bool::get(&mut from)?;
    answer.bytes = Vec::get(&mut from)?;
    answer.bulk = Vec::get(&mut from)?;
    let total: usize = into.iter().map(|buffer| buffer.len()).sum();
    let mut elements = bytes.len().checked_sub(total).and_then(|at| bytes.get(at..)).ok_or_else(confused)?;
    for buffer in into {
        let (here, rest) = elements.split_at_checked(buffer.len()).ok_or_else(confused)?;
        buffer.copy_from_slice(here);
        elements = rest;
    }
    Ok(())
}

impl Transport for Collective {
    fn call(&self, mut request: Request<'_>, answer: &mut Answer) -> Result<()> {
        let code = request.code as u32;
        let mut message = Vec::new();
        if let Some(container) = &self.leader {
            let into = request.into.iter_mut().map(|buffer| &mut **buffer).collect();
            let own = Request { code: request.code, arguments: request.arguments, bulk: request.bulk, into };
            respond(&**container, own, answer);
            message = pack(code, answer, &request.into)?;
        }
        self.comm.bcast(0, &mut message)?;
        if self.leader.is_some() { Ok(()) } else { unpack(&message, code, answer, &mut request.into) }
    }
}
