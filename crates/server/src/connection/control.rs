//! Requests that are not operations: who one is, and which container one uses.

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use model::{Error, Result};
use protocol::frame::{self, FrameKind, FrameLimits, Header};
use protocol::wire::{self, Answer, OpenRequest};
use protocol::{Attach, Begin, Hello, Lock, Renew, Unlock, VERSION, Welcome};
use vol::Access;

use super::{ARGUMENT_FACTOR, Connection};
use crate::audit::AuditedRequest;
use crate::memory::{OperationMemory, SMALL_BYTES};
use crate::party::Party;
use crate::rights::Principal;
use crate::session::Session;

/// Bytes of a lock without its selections.
const LOCK_BYTES: u64 = 512;

/// Datasets that are locked at once.
const LOCKED_MAX: usize = 1024;

impl<'a> Connection<'a> {
    /// Runs and answers a request; `false` where the connection ends with it.
    pub(super) fn request(&mut self, header: Header, memory: &mut OperationMemory<'a>) -> io::Result<bool> {
        if !self.frame.lengths.is_empty() {
            return Err(frame::broken("bulk where none belongs"));
        }
        self.frame.verify([])?;
        let arguments = std::mem::take(&mut self.frame.arguments);
        let answered = self.control(header.kind, &arguments);
        self.frame.arguments = arguments;
        let answered = answered.and_then(|bytes| {
            let copied = 2 * bytes.len() as u64;
            let charged = if copied > SMALL_BYTES { memory.grow_now(copied, "answer") } else { Ok(()) };
            charged.map(|()| bytes)
        });
        self.reply(header, answered)
    }

    /// Runs what is not an operation, and writes down who asked for it.
    fn control(&mut self, kind: FrameKind, arguments: &[u8]) -> Result<Vec<u8>> {
        let answered = self.run_control(kind, arguments);
        if let Some((what, name)) = audited(kind, arguments) {
            self.note(what, &name, answered.as_ref().map(drop));
        }
        answered
    }

    pub(super) fn note(&self, what: &str, name: &str, outcome: Result<(), &Error>) {
        let who = self.who.as_ref().map_or("?", |who| who.name.as_str());
        self.shared.audit.note(AuditedRequest { who, from: &self.peer, what, name }, outcome);
    }

    fn run_control(&mut self, kind: FrameKind, arguments: &[u8]) -> Result<Vec<u8>> {
        match kind {
            FrameKind::Hello => self.hello(&wire::from_bytes(arguments)?),
            FrameKind::Open => {
                let (begin, request) = wire::from_bytes::<(Begin, OpenRequest)>(arguments)?;
                self.open(&begin, &request)
            }
            FrameKind::Attach => self.attach(&wire::from_bytes(arguments)?),
            FrameKind::Delete => {
                let name: String = wire::from_bytes(arguments)?;
                let who = self.who()?;
                let _turn = self.turn();
                self.shared.containers.delete(who, &name)?;
                tracing::info!(peer = self.peer, who = who.name, name, "removed a container");
                Ok(Vec::new())
            }
            FrameKind::Accessible => {
                let name: String = wire::from_bytes(arguments)?;
                let _turn = self.turn();
                wire::to_bytes(&self.shared.containers.is_accessible(self.who()?, &name)?)
            }
            FrameKind::Direct => wire::to_bytes(&self.shared.containers.whereabouts(self.session()?)?),
            FrameKind::Lock => self.lock(&wire::from_bytes(arguments)?, arguments.len()),
            FrameKind::Renew => {
                let renew: Renew = wire::from_bytes(arguments)?;
                self.session()?.renew(renew.lock).map(|()| Vec::new())
            }
            _ => Ok(Vec::new()),
        }
    }

    fn session(&self) -> Result<&Arc<Session>> {
        self.session.as_ref().ok_or_else(|| Error::invalid("use container").with("problem", "none is open"))
    }

    fn lock(&self, asked: &Lock, bytes: usize) -> Result<Vec<u8>> {
        if asked.ops.len() > LOCKED_MAX {
            return Err(Error::limit("lock datasets").with("count", asked.ops.len()));
        }
        let remembered = LOCK_BYTES + bytes as u64 * ARGUMENT_FACTOR;
        let granted = self.session()?.lock(asked, remembered)?;
        self.shared.metrics.locks_total.fetch_add(1, Relaxed);
        wire::to_bytes(&granted)
    }

    pub(super) fn unlock(&mut self) -> io::Result<()> {
        if !self.frame.lengths.is_empty() {
            return Err(frame::broken("bulk where none belongs"));
        }
        self.frame.verify([])?;
        let unlock: Unlock =
            wire::from_bytes(&self.frame.arguments).map_err(|_| frame::broken("a lock without a number"))?;
        let session = self.session().map_err(|_| frame::broken("a lock without a session"))?;
        session.unlock(unlock.lock);
        Ok(())
    }

    fn who(&self) -> Result<&Principal> {
        self.who.as_ref().ok_or_else(|| Error::denied("serve").with("problem", "there was no hello"))
    }

    fn hello(&mut self, hello: &Hello) -> Result<Vec<u8>> {
        if hello.version != VERSION || hello.wire_version != wire::VERSION {
            let error = Error::unsupported("talk to client").with("version", hello.version);
            return Err(error.with("server", VERSION).with("wire", wire::VERSION));
        }
        let who = self.shared.who(hello.token.as_deref())?;
        if let Some((number, socket)) = &self.number {
            self.shared.admission.know(*number, &who.name)?;
            let patience = socket.set_patience(self.shared.limits.patience);
            patience.map_err(|e| Error::io("set up connection", &e))?;
        }
        self.shared.turns.charge(&self.party);
        self.party = self.shared.party(&who, &self.party);
        // Clients without tokens cannot be told apart: one that is refused does not make all others late.
        if let Party::Token(_) = self.party {
            self.delay(self.shared.offences.delay(&self.party));
        }
        self.account = self.shared.memory.token(&who.name);
        self.who = Some(who);
        let limits = &self.shared.limits;
        let bulk_bytes_max = limits.frame_bytes_max();
        self.limits =
            FrameLimits { arguments_max: limits.arguments_bytes_max, parts_max: 1 << 20, bulk_bytes_max };
        let lease_seconds = u32::try_from(limits.lease.as_secs()).unwrap_or(u32::MAX);
        wire::to_bytes(&Welcome { life: self.shared.life, bulk_bytes_max, lease_seconds })
    }

    fn open(&mut self, begin: &Begin, request: &OpenRequest) -> Result<Vec<u8>> {
        let turn = self.turn();
        let session = self.shared.open(self.who()?, begin, request)?;
        drop(turn);
        tracing::info!(
            peer = self.peer,
            who = session.owner,
            name = session.name,
            writes = session.writable,
            "opened a container"
        );
        self.enter(session);
        Ok(Vec::new())
    }

    fn attach(&mut self, attach: &Attach) -> Result<Vec<u8>> {
        let session = self.shared.session(self.who()?, attach.session)?;
        let done = session.queue_done();
        self.enter(session);
        wire::to_bytes(&done)
    }

    fn enter(&mut self, session: Arc<Session>) {
        session.join();
        self.account = session.budget.clone();
        self.kept = None;
        if let Some(before) = self.session.replace(session) {
            before.leave();
        }
    }

    /// Answers what is not an operation; a client that no one knows is sent away.
    fn reply(&mut self, header: Header, answered: Result<Vec<u8>>) -> io::Result<bool> {
        let mut answer = Answer::new();
        match answered {
            Ok(bytes) => answer.bytes.extend_from_slice(&bytes),
            Err(error) => {
                let error = self.shared.containers.hidden.hide(error);
                if self.refused(header.kind, &error) {
                    self.offend();
                }
                answer.fail(&error);
            }
        }
        self.answer(header, &answer, &[], &[])?;
        Ok(self.who.is_some())
    }
}

/// Returns what of a request is written down: what is wanted, and the container.
fn audited(kind: FrameKind, arguments: &[u8]) -> Option<(&'static str, String)> {
    let name = || wire::from_bytes::<String>(arguments).unwrap_or_default();
    Some(match kind {
        FrameKind::Hello => ("hello", String::new()),
        FrameKind::Attach => ("attach", String::new()),
        FrameKind::Direct => ("direct", String::new()),
        FrameKind::Delete => ("delete", name()),
        FrameKind::Accessible => ("accessible", name()),
        FrameKind::Open => match wire::from_bytes::<(Begin, OpenRequest)>(arguments) {
            Ok((_, request)) if request.create.is_some() => ("create", request.path),
            Ok((_, request)) if request.access.access == Access::Write => ("open to write", request.path),
            Ok((_, request)) => ("open to read", request.path),
            Err(_) => ("open", String::new()),
        },
        _ => return None,
    })
}
