//! What all connections of a server have in common.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use model::{Error, Result};
use protocol::wire::OpenRequest;
use protocol::{Begin, Id};
use system::sync::Mutex;

use crate::admission::Admission;
use crate::audit::Audit;
use crate::config::{Auth, Config, ServerLimits};
use crate::containers::{Containers, Means};
use crate::memory::Memory;
use crate::metrics::Metrics;
use crate::offences::Offences;
use crate::party::Party;
use crate::rights::{Principal, Rights};
use crate::session::Session;
use crate::turns::Turns;

/// A running server.
pub(crate) struct Shared {
    pub(crate) life: Id,
    pub(crate) limits: ServerLimits,
    pub(crate) containers: Containers,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) memory: Memory,
    /// `None`: everybody may do everything.
    pub(crate) rights: Option<Rights>,
    pub(crate) audit: Audit,
    pub(crate) admission: Arc<Admission>,
    pub(crate) turns: Turns,
    pub(crate) offences: Offences,
    sessions: Mutex<HashMap<Id, Arc<Session>>>,
    /// Threads of connections.
    pub(crate) connections: AtomicUsize,
    pub(crate) stopping: AtomicBool,
}

impl Shared {
    /// `token` is the one that was made for this server, where it was.
    pub(crate) fn new(config: &Config, token: Option<&str>) -> Result<Self> {
        let metrics = Arc::<Metrics>::default();
        Ok(Shared {
            life: Id::random(),
            limits: config.limits.clone(),
            containers: Containers::new(config)?,
            memory: Memory::new(&config.limits)?,
            rights: match &config.auth {
                Auth::Tokens(rights) => Some(rights.clone()),
                Auth::Made => Some(token.map_or_else(Rights::default, Rights::owner)),
                Auth::Off => None,
            },
            audit: Audit::open(config.audit.as_deref())?,
            admission: Arc::new(Admission::new(&config.limits)),
            turns: Turns::new(config.limits.running_max, metrics.clone()),
            metrics,
            offences: Offences::new(config.limits.offence_delay_max),
            sessions: Mutex::default(),
            connections: AtomicUsize::new(0),
            stopping: AtomicBool::new(false),
        })
    }

    /// Returns the user with this token.
    pub(crate) fn who(&self, token: Option<&str>) -> Result<Principal> {
        match &self.rights {
            None => Ok(Principal::trusted("anybody")),
            Some(rights) => rights.principal(token).ok_or_else(|| {
                let problem = if token.is_some() { "an unknown token" } else { "no token" };
                Error::denied("talk to client").with("problem", problem)
            }),
        }
    }

    /// Returns the party that the work of a client is counted for: without tokens, only addresses tell clients apart.
    pub(crate) fn party(&self, who: &Principal, stranger: &Party) -> Party {
        match self.has_tokens() {
            true => Party::Token(who.name.clone()),
            false => stranger.clone(),
        }
    }

    /// Begins a session, or finds the one that a lost answer was about.
    pub(crate) fn open(&self, who: &Principal, begin: &Begin, request: &OpenRequest) -> Result<Arc<Session>> {
        if let Ok(session) = self.session(who, begin.session) {
            return Ok(session);
        }
        let count = self.check_sessions(who)?;
        if self.stopping.load(Ordering::Acquire) {
            return Err(Error::busy("open container").with("problem", "the server stops"));
        }
        let session = Arc::new(self.containers.begin(who, begin, request, self.means(count))?);
        self.sessions.lock().insert(session.id, session.clone());
        Ok(session)
    }

    /// Returns how many sessions there are, where one more is allowed.
    fn check_sessions(&self, who: &Principal) -> Result<usize> {
        let sessions = self.sessions.lock();
        let count = sessions.len();
        let of_token = sessions.values().filter(|session| session.owner == who.name).count();
        if count >= self.limits.sessions_max {
            return Err(Error::busy("open container").with("sessions", count));
        }
        if self.has_tokens() && of_token >= self.limits.sessions_per_token_max() {
            return Err(Error::busy("open container").with("sessions with this token", of_token));
        }
        Ok(count)
    }

    /// Returns whether clients can be told apart.
    fn has_tokens(&self) -> bool {
        self.rights.is_some()
    }

    /// Returns what a session that is begun next to `sessions` others has.
    fn means(&self, sessions: usize) -> Means<'_> {
        let cache_bytes = self.limits.cache_bytes(sessions);
        Means { metrics: &self.metrics, memory: &self.memory, cache_bytes }
    }

    /// Returns a session of this client.
    pub(crate) fn session(&self, who: &Principal, id: Id) -> Result<Arc<Session>> {
        let session = self.sessions.lock().get(&id).filter(|session| session.owner == who.name).cloned();
        session.ok_or_else(|| Error::not_found("find session"))
    }

    /// A session is over.
    pub(crate) fn end(&self, session: &Session, in_good_order: bool) {
        if self.sessions.lock().remove(&session.id).is_some() {
            session.end(in_good_order);
            self.containers.ended(session);
        }
    }

    /// Ends sessions whose clients did not come back.
    pub(crate) fn expire(&self) {
        let sessions: Vec<Arc<Session>> = self.sessions.lock().values().cloned().collect();
        sessions.iter().for_each(|session| session.expire_locks());
        for session in sessions.iter().filter(|session| session.is_expired(self.limits.lease)) {
            self.metrics.sessions_expired.fetch_add(1, Ordering::Relaxed);
            tracing::warn!(
                who = session.owner,
                name = session.name,
                "a client did not come back: its session ended"
            );
            self.end(session, false);
        }
    }

    /// Commits and closes what is open.
    pub(crate) fn finish(&self) -> Result<()> {
        let sessions = std::mem::take(&mut *self.sessions.lock());
        let mut outcome = Ok(());
        for session in sessions.values() {
            if let Err(error) = session.finish() {
                tracing::error!(name = session.name, why = %error, "could not close a container");
                outcome = outcome.and(Err(error));
            }
            self.containers.ended(session);
        }
        outcome
    }

    pub(crate) fn metrics_text(&self) -> String {
        let sessions = self.sessions.lock().len() as u64;
        let connections = self.admission.count() as u64;
        self.metrics.text(&[
            ("connections", connections),
            ("sessions", sessions),
            ("memory_bytes", self.memory.server().used()),
        ])
    }
}
