//! The container that callers hold: elements are shipped, in pieces that go over several connections at once where there are
//! many, or read and written in the file itself.

use algorithms::{copy, workers};
use model::{Result, Selection, Token};
use protocol::wire::Client;
use vol::{Container, Durability, FileAccess, Layer, OpObjectCopy, OpPlacement, OpRead, OpWrite, Placement};

use crate::direct::Direct;
use crate::pieces::{Cut, TransferParts};
use crate::placed::Placed;
use crate::session::Session;

/// Transfers up to this many bytes go in one piece.
const WHOLE_BYTES_MAX: usize = 4 << 20;
/// Transfers whose lock ran out are tried so often before their elements are shipped.
const DIRECT_ATTEMPTS: usize = 3;
/// One lock serves for so many bytes: others get their turn, and the list of chunks stays short.
const DIRECT_BYTES_MAX: usize = 1 << 30;

/// A container behind a server.
pub(crate) struct RemoteContainer {
    client: Client<Session>,
    /// The path and the access properties that the caller gave.
    path: String,
    access: FileAccess,
}

impl std::fmt::Debug for RemoteContainer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The path may hold a token.
        f.debug_struct("RemoteContainer").field("client", &self.client).finish_non_exhaustive()
    }
}

/// Elements on their way.
#[derive(Debug, Clone, Copy)]
struct Transfer<'a> {
    dataset: Token,
    selection: &'a Selection,
    bytes: usize,
}

impl Transfer<'_> {
    fn placement(&self) -> OpPlacement {
        OpPlacement { dataset: self.dataset, selection: self.selection.clone() }
    }

    /// Returns whether a buffer has as many bytes as the selection; where not, the server says what is wrong.
    fn fits(&self, placement: &Placement) -> bool {
        let count = self.selection.element_count(&placement.dims).ok();
        count.and_then(|count| count.checked_mul(placement.element_bytes.into())) == Some(self.bytes as u64)
    }
}

impl RemoteContainer {
    pub(crate) fn new(session: Session, path: &str, access: FileAccess) -> Self {
        RemoteContainer { client: Client::new(session), path: path.to_owned(), access }
    }

    pub(crate) fn session(&self) -> &Session {
        self.client.transport()
    }

    fn threads(&self) -> usize {
        self.client.transport().options.connections
    }

    fn read_in_pieces(&self, read: &mut OpRead<'_>) -> Result<()> {
        let info = self.client.dataset_info(read.dataset)?;
        let dataset = read.dataset;
        let buffer = std::mem::take(&mut read.into);
        let pieces = TransferParts::new(Cut::of(&info), read.selection, buffer)?;
        workers::each(pieces, self.threads(), |(selection, into), _| {
            self.client.dataset_read(&mut [OpRead { dataset, selection: &selection, into }])
        })
    }

    fn write_in_pieces(&self, write: &OpWrite<'_>) -> Result<()> {
        let info = self.client.dataset_info(write.dataset)?;
        let dataset = write.dataset;
        let pieces = TransferParts::new(Cut::of(&info), write.selection, write.from)?;
        workers::each(pieces, self.threads(), |(selection, from), _| {
            self.client.dataset_write(&[OpWrite { dataset, selection: &selection, from }])
        })
    }

    fn ship_reads(&self, reads: &mut [OpRead<'_>]) -> Result<()> {
        if reads.iter().map(|read| read.into.len()).sum::<usize>() <= WHOLE_BYTES_MAX {
            return self.client.dataset_read(reads);
        }
        reads.iter_mut().try_for_each(|read| match read.into.len() {
            0..=WHOLE_BYTES_MAX => self.client.dataset_read(std::slice::from_mut(read)),
            _ => self.read_in_pieces(read),
        })
    }

    fn ship_writes(&self, writes: &[OpWrite<'_>]) -> Result<()> {
        if writes.iter().map(|write| write.from.len()).sum::<usize>() <= WHOLE_BYTES_MAX {
            return self.client.dataset_write(writes);
        }
        writes.iter().try_for_each(|write| match write.from.len() {
            0..=WHOLE_BYTES_MAX => self.client.dataset_write(std::slice::from_ref(write)),
            _ => self.write_in_pieces(write),
        })
    }
}

/// Elements in the file itself.
impl RemoteContainer {
    /// Returns the file, where all these transfers may be made in it.
    fn direct(&self, transfers: &[Transfer<'_>]) -> Option<&Direct> {
        let direct = self.client.transport().direct.as_ref()?;
        let is_shipped = |transfer: &Transfer<'_>| transfer.bytes == 0 || direct.is_shipped(transfer.dataset);
        (!transfers.iter().any(is_shipped)).then_some(direct)
    }

    /// Runs transfers under one lock; whether that was possible.
    fn directly(
        &self,
        transfers: &[Transfer<'_>],
        write: bool,
        mut run: impl FnMut(usize, &Placed<'_>) -> Result<()>,
    ) -> Result<bool> {
        let Some(direct) = self.direct(transfers) else { return Ok(false) };
        for _ in 0..DIRECT_ATTEMPTS {
            let ops = transfers.iter().map(Transfer::placement).collect();
            let Some((lease, placements)) = direct.lock(self.client.transport(), ops, write) else { break };
            let pairs = || transfers.iter().zip(&placements);
            if !pairs().all(|(transfer, placement)| transfer.fits(placement)) {
                break;
            }
            let file = direct.file()?;
            let done = pairs().enumerate().try_for_each(|(number, (transfer, placement))| {
                run(number, &Placed::new(&file, placement, transfer.selection, &lease)?)
            });
            if write {
                direct.wrote();
            }
            if !lease.is_lost() {
                return done.map(|()| true);
            }
        }
        Ok(false)
    }

    /// Reads elements as [`Self::directly`] does, for a transfer of any size.
    fn read_directly(&self, reads: &mut [OpRead<'_>]) -> Result<bool> {
        let of = |read: &OpRead<'_>| (read.dataset, read.into.len());
        if let [read] = reads
            && let (dataset, bytes) = of(read)
            && bytes > DIRECT_BYTES_MAX
            && self.direct(&[Transfer { dataset, selection: read.selection, bytes }]).is_some()
        {
            let info = self.client.dataset_info(dataset)?;
            let buffer = std::mem::take(&mut read.into);
            for piece in TransferParts::of(Cut::of(&info), DIRECT_BYTES_MAX as u64, read.selection, buffer)? {
                let (selection, into) = piece?;
                Layer::dataset_read(self, &mut [OpRead { dataset, selection: &selection, into }])?;
            }
            return Ok(true);
        }
        let transfers: Vec<Transfer<'_>> = reads
            .iter()
            .map(|read| Transfer { dataset: read.dataset, selection: read.selection, bytes: read.into.len() })
            .collect();
        self.directly(&transfers, false, |number, placed| {
            placed.read(transfers[number].selection, reads[number].into)
        })
    }

    /// Writes elements as [`Self::read_directly`] reads them.
    fn write_directly(&self, writes: &[OpWrite<'_>]) -> Result<bool> {
        let transfers: Vec<Transfer<'_>> = writes
            .iter()
            .map(|op| Transfer { dataset: op.dataset, selection: op.selection, bytes: op.from.len() })
            .collect();
        if let [write] = writes
            && write.from.len() > DIRECT_BYTES_MAX
            && self.direct(&transfers).is_some()
        {
            let dataset = write.dataset;
            let info = self.client.dataset_info(dataset)?;
            for piece in
                TransferParts::of(Cut::of(&info), DIRECT_BYTES_MAX as u64, write.selection, write.from)?
            {
                let (selection, from) = piece?;
                Layer::dataset_write(self, &[OpWrite { dataset, selection: &selection, from }])?;
            }
            return Ok(true);
        }
        self.directly(&transfers, true, |number, placed| {
            placed.write(transfers[number].selection, writes[number].from)
        })
    }

    /// Syncs what this process wrote itself before the server reports all as durable.
    fn sync(&self, durability: Durability) -> Result<()> {
        match &self.client.transport().direct {
            Some(direct) if durability != Durability::None => direct.sync(),
            _ => Ok(()),
        }
    }
}

impl Layer for RemoteContainer {
    fn inner(&self) -> &dyn Container {
        &self.client
    }

    fn commit(&self, durability: Durability) -> Result<()> {
        // As with a file that is open to read: there is nothing to commit, and the server would ask for the right to.
        if !self.client.transport().is_writable() {
            return self.client.info().map(drop);
        }
        self.sync(durability)?;
        self.client.commit(durability)
    }

    fn close(&self) -> Result<()> {
        self.sync(self.client.transport().durability())?;
        self.client.close()
    }

    fn object_copy(&self, op: &OpObjectCopy) -> Result<Token> {
        // Only the caller's resolver knows what its external links lead to. Through several nodes each step is one of its own.
        let has_nodes = self.client.transport().kept.is_some();
        match has_nodes || op.options.expand_external_links && self.access.resolver.is_some() {
            true => copy::within(self, op, copy::CopyContext::of(&self.access, &self.path)),
            false => self.client.object_copy(op),
        }
    }

    fn dataset_read(&self, reads: &mut [OpRead<'_>]) -> Result<()> {
        if self.read_directly(reads)? { Ok(()) } else { self.ship_reads(reads) }
    }

    fn dataset_write(&self, writes: &[OpWrite<'_>]) -> Result<()> {
        if self.write_directly(writes)? { Ok(()) } else { self.ship_writes(writes) }
    }
}
