//! The container that callers hold: large transfers are cut into pieces that go over several connections at once.

use model::properties::Layout;
use model::selection::Strips;
use model::{Error, Result, Selection};
use vol::wire::Client;
use vol::{Container, DatasetInfo, Layer, OpRead, OpWrite, workers};

use crate::session::Session;

/// Transfers up to this many bytes go in one piece.
const WHOLE_BYTES_MAX: usize = 4 << 20;
/// Pieces of larger ones: large enough that a round trip is nothing beside them, small enough for the caches.
const PIECE_BYTES: u64 = 1 << 20;
/// Chunks that lie in two pieces are decoded twice.
const CHUNKED_PIECE_BYTES: u64 = 16 << 20;

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
        let pieces = Pieces::new(&info, read.selection, room)?;
        workers::each(pieces, self.threads(), |(selection, into), _| {
            self.client.dataset_read(&mut [OpRead { dataset, selection: &selection, into }])
        })
    }

    fn write_in_pieces(&self, write: &OpWrite<'_>) -> Result<()> {
        let info = self.client.dataset_info(write.dataset)?;
        let dataset = write.dataset;
        let pieces = Pieces::new(&info, write.selection, write.from)?;
        workers::each(pieces, self.threads(), |(selection, from), _| {
            self.client.dataset_write(&[OpWrite { dataset, selection: &selection, from }])
        })
    }
}

impl Layer for RemoteContainer {
    fn inner(&self) -> &dyn Container {
        &self.client
    }

    fn dataset_read(&self, reads: &mut [OpRead<'_>]) -> Result<()> {
        if reads.iter().map(|read| read.into.len()).sum::<usize>() <= WHOLE_BYTES_MAX {
            return self.client.dataset_read(reads);
        }
        reads.iter_mut().try_for_each(|read| match read.into.len() {
            0..=WHOLE_BYTES_MAX => self.client.dataset_read(std::slice::from_mut(read)),
            _ => self.read_in_pieces(read),
        })
    }

    fn dataset_write(&self, writes: &[OpWrite<'_>]) -> Result<()> {
        if writes.iter().map(|write| write.from.len()).sum::<usize>() <= WHOLE_BYTES_MAX {
            return self.client.dataset_write(writes);
        }
        writes.iter().try_for_each(|write| match write.from.len() {
            0..=WHOLE_BYTES_MAX => self.client.dataset_write(std::slice::from_ref(write)),
            _ => self.write_in_pieces(write),
        })
    }
}

/// Bytes that are given out piece by piece.
trait Bytes: Default {
    fn len(&self) -> usize;
    fn split(self, at: usize) -> (Self, Self);
}

impl Bytes for &[u8] {
    fn len(&self) -> usize {
        (**self).len()
    }

    fn split(self, at: usize) -> (Self, Self) {
        self.split_at(at)
    }
}

impl Bytes for &mut [u8] {
    fn len(&self) -> usize {
        (**self).len()
    }

    fn split(self, at: usize) -> (Self, Self) {
        self.split_at_mut(at)
    }
}

/// The pieces of a transfer, in order.
struct Pieces<B> {
    strips: Strips,
    dims: Vec<u64>,
    each: u64,
    rest: B,
}

impl<B: Bytes> Pieces<B> {
    fn new(info: &DatasetInfo, selection: &Selection, rest: B) -> Result<Self> {
        let (dims, each) = (info.space.dims().to_vec(), u64::from(info.datatype.size()).max(1));
        if selection.element_count(&dims)?.checked_mul(each) != Some(rest.len() as u64) {
            let error = Error::invalid("transfer elements").with("buffer bytes", rest.len());
            return Err(error.with("problem", "not as many as are selected"));
        }
        let strips = match &info.create.layout {
            Layout::Chunked { shape, .. } if shape.len() == dims.len() => {
                selection.strips(&dims, (CHUNKED_PIECE_BYTES / each).max(1))?.between_chunks(shape)?
            }
            _ => selection.strips(&dims, (PIECE_BYTES / each).max(1))?,
        };
        Ok(Pieces { strips, dims, each, rest })
    }

    fn piece(&mut self, selection: Selection) -> Result<(Selection, B)> {
        let bytes = selection.element_count(&self.dims)?.checked_mul(self.each);
        let bytes = bytes.and_then(|bytes| usize::try_from(bytes).ok()).filter(|&n| n <= self.rest.len());
        let bytes =
            bytes.ok_or_else(|| Error::invalid("transfer elements").with("problem", "cut wrongly"))?;
        let (piece, rest) = std::mem::take(&mut self.rest).split(bytes);
        self.rest = rest;
        Ok((selection, piece))
    }
}

impl<B: Bytes> Iterator for Pieces<B> {
    type Item = Result<(Selection, B)>;

    fn next(&mut self) -> Option<Self::Item> {
        let selection = self.strips.next()?;
        Some(self.piece(selection))
    }
}
