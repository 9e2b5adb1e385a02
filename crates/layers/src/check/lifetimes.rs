//! Lifetimes of containers and objects: tokens are known, and nothing works after the end.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use model::{Error, Kind, Result, Token};
use system::sync::RwLock;
use vol::{Call, Container, Observer, Operation};

use crate::check::{broken, container};

/// Tokens that the container is known to know.
pub(crate) struct KnownTokens {
    container: Arc<dyn Container>,
    tokens: RwLock<HashSet<Token>>,
}

impl KnownTokens {
    pub(crate) fn new(container: Arc<dyn Container>) -> Self {
        KnownTokens { container, tokens: RwLock::default() }
    }

    /// Returns an error unless the token is one of this container. One that was not used before is asked for.
    pub(crate) fn check(&self, operation: Operation, token: Token) -> Result<()> {
        if self.tokens.read().contains(&token) {
            return Ok(());
        }
        let rule = "the token is one of this container";
        match self.container.object_info(token) {
            Ok(_) => {
                self.note(token);
                Ok(())
            }
            // A connector for a part of the model may not tell.
            Err(error) if error.kind() == Kind::Unsupported => Ok(()),
            Err(error) if error.kind() == Kind::NotFound => {
                Err(broken(Kind::NotFound, operation, rule).with("value", token).because(error))
            }
            Err(error) => Err(error.during(format!("check {}", operation.name()))),
        }
    }

    fn note(&self, token: Token) {
        self.tokens.write().insert(token);
    }
}

/// Sees every call: its token is known, and after closing it fails.
pub(crate) struct TokenLifetimes {
    known: Arc<KnownTokens>,
    is_closed: AtomicBool,
}

impl TokenLifetimes {
    pub(crate) fn new(known: Arc<KnownTokens>) -> Self {
        TokenLifetimes { known, is_closed: AtomicBool::new(false) }
    }
}

impl Observer for TokenLifetimes {
    /// Whether the container was closed already.
    type Begun = bool;

    fn begin(&self, call: &Call) -> Result<bool> {
        let is_closed = self.is_closed.load(Ordering::SeqCst);
        if let Some(token) = call.object.filter(|_| !is_closed) {
            self.known.check(call.operation, token)?;
        }
        Ok(is_closed)
    }

    fn end(&self, call: &Call, was_closed: bool, error: Option<&Error>) -> Result<()> {
        if error.is_some() {
            return Ok(());
        }
        if call.operation == Operation::close {
            self.is_closed.store(true, Ordering::SeqCst);
        }
        container(call.operation, "nothing works after closing", !was_closed, "it did")
    }
}
