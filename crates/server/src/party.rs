//! Whom processor time and offences are counted to.

use system::socket::IpAddr;

/// One of those that share a server.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Party {
    /// All connections with one token, by the name of who has it.
    Token(String),
    /// Connections of an address that did not say who they are; those of this machine have none.
    Stranger(Option<IpAddr>),
}
