//! Operations: received, run and answered, or queued.

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use system::clock::Instant;

use model::{Charge, Kind, Result};
use protocol::frame::{self, FrameKind, Header};
use protocol::wire::{Answer, Request};
use vol::Operation;

use super::Connection;
use crate::guard;
use crate::memory::{OperationMemory, SMALL_BYTES};
use crate::session::Session;

impl<'a> Connection<'a> {
    pub(super) fn call(&mut self, header: Header, memory: &mut OperationMemory<'a>) -> io::Result<()> {
        let (session, code) = self.operation(header)?;
        if header.kind == FrameKind::Started && !session.has_queue() {
            return Err(frame::broken("an operation that cannot be started"));
        }
        let mut answer = Answer::new();
        let received = self.receive_bulk(memory)?;
        let began = Instant::now();
        let is_received = received.is_ok();
        match received {
            Err(refused) => answer.fail(&refused),
            Ok(()) => self.run(&session, code, memory, &mut answer),
        }
        if self.ran(code, &answer, began.elapsed()) && is_received {
            memory.clear();
            self.offend();
        }
        if code == Operation::close && !answer.failed {
            self.shared.containers.ended(&session);
        }
        let header = Header { acknowledged: session.queue_done(), ..header };
        let buffers = if answer.failed { Vec::new() } else { self.frame.buffer_lengths().to_vec() };
        let elements = std::mem::take(&mut self.elements);
        let sent = self.answer(header, &answer, &buffers, &slices(&elements, &buffers));
        self.elements = elements;
        answer.recycle();
        sent
    }

    /// Runs an operation whose byte strings are there, with memory for the elements that it reads and for its answer.
    fn run(
        &mut self,
        session: &Session,
        code: Operation,
        memory: &mut OperationMemory<'a>,
        answer: &mut Answer,
    ) {
        let wanted = frame::total(self.frame.buffer_lengths()).unwrap_or(u64::MAX);
        if let Err(refused) = memory.extend(&mut self.elements, wanted, "elements") {
            return answer.fail(&refused);
        }
        let bulk = slices(&self.bulk, self.frame.bulk_lengths());
        let into = slices_mut(&mut self.elements, self.frame.buffer_lengths());
        let request = Request { code, arguments: &self.frame.arguments, bulk, into };
        let turn = self.shared.turns.take(&self.party);
        session.call(self.frame.header, request, answer);
        drop(turn);
        // Some of it is charged already.
        answer.charge = answer.charge.take().or(guard::answered());
        let charged = answer.charge.as_ref().map_or(0, Charge::bytes);
        let bytes = answer.bytes.len() + answer.bulk.iter().map(Vec::len).sum::<usize>();
        let more = (bytes as u64).saturating_sub(charged);
        if more > SMALL_BYTES
            && let Err(refused) = memory.grow_now(more, "answer")
        {
            answer.fail(&refused);
        }
    }

    pub(super) fn queued(
        &mut self,
        header: Header,
        before: Option<Instant>,
        memory: &mut OperationMemory<'a>,
    ) -> io::Result<()> {
        let (session, code) = self.operation(header)?;
        if !session.has_queue() || !protocol::may_be_queued(code) || header.buffers > 0 {
            return Err(frame::broken("an operation that cannot be queued"));
        }
        let received = self.receive_bulk(memory)?;
        let began = before.unwrap_or_else(Instant::now);
        match received {
            Err(refused) => session.queue_failed(header.sequence, &refused),
            Ok(()) => {
                let bulk = slices(&self.bulk, self.frame.bulk_lengths());
                let request = Request { code, arguments: &self.frame.arguments, bulk, into: Vec::new() };
                // Those that came together have one turn: it costs as much as a small one.
                let _turn = before.is_none().then(|| self.shared.turns.take(&self.party));
                session.queue(header, request);
            }
        }
        let now = Instant::now();
        self.shared.metrics.ran(code, false, now.duration_since(began));
        self.ended = (!self.stream.buffer().is_empty()).then_some(now);
        Ok(())
    }

    pub(super) fn operation(&self, header: Header) -> io::Result<(Arc<Session>, Operation)> {
        let session = self.session.clone().ok_or_else(|| frame::broken("an operation without a session"))?;
        let code = Operation::of(u32::from(header.code)).ok_or_else(|| frame::broken("unknown operation"))?;
        Ok((session, code))
    }

    /// Returns the byte strings of the frame, one after another.
    fn receive_bulk(&mut self, memory: &mut OperationMemory<'a>) -> io::Result<Result<()>> {
        let bytes = frame::total(self.frame.bulk_lengths())?;
        let received = match memory.receive(&mut self.stream, &mut self.bulk, bytes)? {
            Ok(()) => Ok(()),
            Err((refused, left)) => {
                // What is not read yet waits at the client.
                memory.clear();
                self.offend();
                frame::skip_bytes(&mut self.stream, left)?;
                Err(refused)
            }
        };
        if received.is_ok() {
            self.frame.verify(slices(&self.bulk, self.frame.bulk_lengths()))?;
        }
        let sum = bytes + (self.frame.arguments.len() + frame::HEADER_BYTES) as u64;
        self.shared.metrics.bytes_received.fetch_add(sum, Relaxed);
        Ok(received)
    }

    /// Counts and logs an operation; whether it was refused.
    fn ran(&self, code: Operation, answer: &Answer, took: Duration) -> bool {
        self.shared.metrics.ran(code, answer.failed, took);
        let Err(error) = answer.check() else { return false };
        let is_refused = matches!(error.kind(), Kind::Denied | Kind::Limit);
        if is_refused {
            let who = self.who.as_ref().map_or("?", |who| who.name.as_str());
            let name = self.session.as_ref().map_or("", |session| session.name.as_str());
            tracing::warn!(peer = self.peer, who, name, operation = code.name(), why = %error, "refused an operation");
            self.note(code.name(), name, Err(&error));
        }
        is_refused
    }
}

/// Returns what `bytes` hold one after another.
fn slices<'b>(bytes: &'b [u8], lengths: &[u64]) -> Vec<&'b [u8]> {
    let mut rest = bytes;
    let next = |length: &u64| {
        let (slice, after) = rest.split_at_checked(*length as usize)?;
        rest = after;
        Some(slice)
    };
    lengths.iter().map_while(next).collect()
}

fn slices_mut<'b>(bytes: &'b mut [u8], lengths: &[u64]) -> Vec<&'b mut [u8]> {
    let mut rest = bytes;
    let next = |length: &u64| {
        let (slice, after) = std::mem::take(&mut rest).split_at_mut_checked(*length as usize)?;
        rest = after;
        Some(slice)
    };
    lengths.iter().map_while(next).collect()
}
