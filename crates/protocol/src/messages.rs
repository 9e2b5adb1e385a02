//! The frames around operations.

use crate::wire::{Reader, Wire};
use model::Result;
use vol::{OpPlacement, Placement};

/// The version of the protocol; both sides must have the same.
pub const VERSION: u32 = 4;

/// The prefix of files in a root by which clients know that they see the same folder.
pub const MARK_PREFIX: &str = ".hyperslab-direct-";

/// A number that no one guesses: of a session, of a server's life.
pub type Identity = [u8; 16];

macro_rules! message {
    ($($(#[$doc:meta])* $name:ident { $($(#[$field_doc:meta])* $field:ident: $type:ty),+ $(,)? })+) => { $(
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub struct $name { $($(#[$field_doc])* pub $field: $type),+ }

        impl Wire for $name {
            fn put(&self, out: &mut Vec<u8>) -> Result<()> {
                $( Wire::put(&self.$field, out)?; )+
                Ok(())
            }

            fn get(from: &mut Reader<'_>) -> Result<Self> {
                $( let $field = Wire::get(from)?; )+
                Ok($name { $($field),+ })
            }
        }
    )+ };
}

message! {
    /// The first frame of a connection.
    Hello {
        /// [`VERSION`].
        version: u32,
        /// [`crate::wire::VERSION`].
        wire_version: u32,
        /// The bearer token, where there is one.
        token: Option<String>,
    }
    /// The answer to it.
    Welcome {
        /// The number of this life of the server: after a restart it is another.
        life: Id,
        /// Bytes of bulk that one frame may have.
        bulk_bytes_max: u64,
        /// Seconds that a session lives without a connection.
        lease_seconds: u32,
    }
    /// The head of an open request: the session that the client chose for it.
    Begin {
        /// The number of the session.
        session: Id,
        /// Whether operations may be queued or started, so that the client knows tokens beforehand.
        queued: bool,
        /// Whether the client goes on at another node when this one dies: see `docs/protocol.md`, "Several nodes".
        nodes: bool,
        /// Whether the session began at another node, which died, or at an earlier life of this one.
        resumed: bool,
    }
    /// Goes on with a session.
    Attach {
        /// The number of the session.
        session: Id,
    }
    /// Where the file of a session is, for a client that sees it too.
    Whereabouts {
        /// The server's root, as the server sees it.
        root: String,
        /// The file, from there.
        name: String,
        /// The number that the system knows the file by.
        inode: u64,
        /// A file in the root.
        mark: String,
        /// Its content: a client that reads it there sees the same folder.
        proof: String,
    }
    /// Asks for a shared lock on datasets, and where their elements lie.
    Lock {
        /// The number of the lock, which the client chose. One that is there is taken anew.
        lock: u64,
        /// Whether elements will be written.
        write: bool,
        /// Which elements.
        ops: Vec<OpPlacement>,
    }
    /// The answer to it.
    Granted {
        /// The lock is the client's for so long, counted from before it asked.
        lease_ms: u32,
        /// Of each, in their order, without the path.
        placements: Vec<Placement>,
    }
    /// A lock's time begins anew.
    Renew {
        /// The number of the lock.
        lock: u64,
    }
    /// Gives a lock back.
    Unlock {
        /// The number of the lock.
        lock: u64,
    }
}

/// An [`Identity`] in a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Id(pub Identity);

impl Wire for Id {
    fn put(&self, out: &mut Vec<u8>) -> Result<()> {
        out.extend_from_slice(&self.0);
        Ok(())
    }

    fn get(from: &mut Reader<'_>) -> Result<Self> {
        from.array().map(Id)
    }
}

impl Id {
    /// Returns a new identity.
    pub fn random() -> Self {
        Id(system::random::unique())
    }
}

impl Begin {
    /// Returns the head for a session with one server.
    pub fn at_one(session: Id, queued: bool) -> Self {
        Begin { session, queued, nodes: false, resumed: false }
    }
}
