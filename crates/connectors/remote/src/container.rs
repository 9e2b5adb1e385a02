//! The container that callers hold: large transfers are cut into pieces that go over several connections at once.

use model::{Result, Selection, Token};
use vol::wire::Client;
use vol::{Container, Durability, Layer, OpPlacement, OpRead, OpWrite, Placement, workers};

use crate::direct::Direct;
use crate::pieces::{Cut, Pieces};
use crate::placed::Placed;
use crate::session::Session;

/// Transfers up to this many bytes go in one piece.
const WHOLE_BYTES_MAX: usize = 4 << 20;
/// Transfers whose lock ran out are tried so often before their elements are shipped.
const DIRECT_ATTEMPTS: usize = 3;

/// A container behind a server.
#[derive(Debug)]
pub(crate) struct RemoteContainer {
    client: Client<Session>,
}

impl RemoteContainer {
    pub(crate) fn new(session: Session) -> Self {
        RemoteContainer { client: Client::new(session) }
    }

    fn threads(&self) -> usize {
        self.client.transport().options.connections
    }

    fn read_in_pieces(&self, read: &mut OpRead<'_>) -> Result<()> {
        let info = self.client.dataset_info(read.dataset)?;
        let dataset = read.dataset;
        let room = std::mem::take(&mut read.into);
        let pieces = Pieces::new(Cut::of(&info), read.selection, room)?;
        workers::each(pieces, self.threads(), |(selection, into), _| {
            self.client.dataset_read(&mut [OpRead { dataset, selection: &selection, into }])
        })
    }

    fn write_in_pieces(&self, write: &OpWrite<'_>) -> Result<()> {
        let info = self.client.dataset_info(write.dataset)?;
        let dataset = write.dataset;
        let pieces = Pieces::new(Cut::of(&info), write.selection, write.from)?;
        workers::each(pieces, self.threads(), |(selection, from), _| {
            self.client.dataset_write(&[OpWrite { dataset, selection: &selection, from }])
        })
    }

    /// The file, where all these transfers may be made in it.
    fn direct(&self, mut transfers: impl Iterator<Item = (Token, usize)>) -> Option<&Direct> {
        let direct = self.client.transport().direct.as_ref()?;
        let is_shipped = |(dataset, bytes): (Token, usize)| bytes == 0 || direct.is_shipped(dataset);
        (!transfers.any(is_shipped)).then_some(direct)
    }

    /// Reads elements in the file itself; whether that was possible.
    fn read_directly(&self, reads: &mut [OpRead<'_>]) -> Result<bool> {
        let Some(direct) = self.direct(reads.iter().map(|read| (read.dataset, read.into.len()))) else {
            return Ok(false);
        };
        for _ in 0..DIRECT_ATTEMPTS {
            let ops = reads.iter().map(|read| placement(read.dataset, read.selection)).collect();
            let Some((lease, placements)) = direct.lock(self.client.transport(), ops, false) else { break };
            let mut pairs = reads.iter().zip(&placements);
            if !pairs.all(|(read, placement)| fits(placement, read.selection, read.into.len())) {
                break;
            }
            let file = direct.file()?;
            let done = reads.iter_mut().zip(&placements).try_for_each(|(read, placement)| {
                Placed::new(&file, placement, read.selection, &lease)?.read(read.selection, read.into)
            });
            if !lease.is_lost() {
                return done.map(|()| true);
            }
        }
        Ok(false)
    }

    /// Writes elements in the file itself; whether that was possible.
    fn write_directly(&self, writes: &[OpWrite<'_>]) -> Result<bool> {
        let Some(direct) = self.direct(writes.iter().map(|write| (write.dataset, write.from.len()))) else {
            return Ok(false);
        };
        for _ in 0..DIRECT_ATTEMPTS {
            let ops = writes.iter().map(|write| placement(write.dataset, write.selection)).collect();
            let Some((lease, placements)) = direct.lock(self.client.transport(), ops, true) else { break };
            let mut pairs = writes.iter().zip(&placements);
            if !pairs.all(|(write, placement)| fits(placement, write.selection, write.from.len())) {
                break;
            }
            let file = direct.file()?;
            let done = writes.iter().zip(&placements).try_for_each(|(write, placement)| {
                Placed::new(&file, placement, write.selection, &lease)?.write(write.selection, write.from)
            });
            direct.wrote();
            if !lease.is_lost() {
                return done.map(|()| true);
            }
        }
        Ok(false)
    }

    /// What we wrote ourselves is durable before the server says so of all.
    fn sync(&self, durability: Durability) -> Result<()> {
        match &self.client.transport().direct {
            Some(direct) if durability != Durability::None => direct.sync(),
            _ => Ok(()),
        }
    }
}

fn placement(dataset: Token, selection: &Selection) -> OpPlacement {
    OpPlacement { dataset, selection: selection.clone() }
}

/// Whether a buffer has as many bytes as the selection; where not, the server says what is wrong.
fn fits(placement: &Placement, selection: &Selection, bytes: usize) -> bool {
    let count = selection.element_count(&placement.dims).ok();
    count.and_then(|count| count.checked_mul(placement.element_bytes.into())) == Some(bytes as u64)
}

impl Layer for RemoteContainer {
    fn inner(&self) -> &dyn Container {
        &self.client
    }

    fn commit(&self, durability: Durability) -> Result<()> {
        self.sync(durability)?;
        self.client.commit(durability)
    }

    fn close(&self) -> Result<()> {
        self.sync(self.client.transport().durability())?;
        self.client.close()
    }

    fn dataset_read(&self, reads: &mut [OpRead<'_>]) -> Result<()> {
        if self.read_directly(reads)? {
            return Ok(());
        }
        if reads.iter().map(|read| read.into.len()).sum::<usize>() <= WHOLE_BYTES_MAX {
            return self.client.dataset_read(reads);
        }
        reads.iter_mut().try_for_each(|read| match read.into.len() {
            0..=WHOLE_BYTES_MAX => self.client.dataset_read(std::slice::from_mut(read)),
            _ => self.read_in_pieces(read),
        })
    }

    fn dataset_write(&self, writes: &[OpWrite<'_>]) -> Result<()> {
        if self.write_directly(writes)? {
            return Ok(());
        }
        if writes.iter().map(|write| write.from.len()).sum::<usize>() <= WHOLE_BYTES_MAX {
            return self.client.dataset_write(writes);
        }
        writes.iter().try_for_each(|write| match write.from.len() {
            0..=WHOLE_BYTES_MAX => self.client.dataset_write(std::slice::from_ref(write)),
            _ => self.write_in_pieces(write),
        })
    }
}
