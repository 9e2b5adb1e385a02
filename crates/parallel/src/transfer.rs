//! Transfers of elements: of one rank alone, and of all together.

use algorithms::transfer::Elements;
use model::convert::Conversions;
use model::heap::Heap;
use model::{Error, Kind, Reference, Result, Selection, Token};
use protocol::wire;
use vol::{
    ChunkGrid, Collective, Container, Direction, LeaderBytes, OpPlacement, OpRead, OpWrite, Placement,
    Transfer,
};

use crate::aggregate;
use crate::group::{Group, Wishes};
use crate::placed;
use crate::ranks::{Call, TransferCall, hash_of, of_first};

/// How elements of one dataset get to the file.
enum Way {
    /// They lie in the file as they are.
    Placed(Placement),
    /// They are in chunks with filters, each of which has an owner.
    Filtered(ChunkGrid),
    /// Rank 0 writes them.
    Shipped,
    /// This rank's own container takes them, whatever they are.
    Own,
}

/// Elements on their way to rank 0: the dataset, the selection and the bytes.
pub(crate) type Shipped = Vec<(Token, (Selection, Vec<u8>))>;

/// What is left for rank 0 after a rank wrote what it may: bytes, and elements.
type Written = (Vec<LeaderBytes>, Shipped);

impl Group {
    /// Returns how elements get to the file.
    fn way(&self, write: &OpWrite<'_>) -> Result<Way> {
        if self.is_shared() {
            return Ok(Way::Own);
        }
        let op = OpPlacement { dataset: write.dataset, selection: write.selection.clone() };
        match self.replica.place(&op) {
            Ok(placement) => {
                check_size(write, &placement.dims, placement.element_bytes)?;
                Ok(Way::Placed(placement))
            }
            // More chunks than a placement may have are better left to rank 0.
            Err(error) if error.kind() == Kind::Limit => Ok(Way::Shipped),
            Err(error) if error.kind() == Kind::Unsupported => self.way_of_others(write),
            Err(error) => Err(error),
        }
    }

    /// Returns how elements get to the file that do not lie there as they are.
    fn way_of_others(&self, write: &OpWrite<'_>) -> Result<Way> {
        let Some(grid) = self.replica.filtered(write.dataset)? else { return Ok(Way::Shipped) };
        write.selection.validate(&grid.dims)?;
        check_size(write, &grid.dims, grid.element_bytes)?;
        Ok(Way::Filtered(grid))
    }

    /// Writes elements of this rank, without a word to the others.
    pub(crate) fn write_alone(&self, writes: &[OpWrite<'_>]) -> Result<()> {
        if !self.is_writable {
            return Err(Error::denied("write elements").with("problem", "the container is open to read"));
        }
        let ways = writes.iter().map(|write| self.way(write)).collect::<Result<Vec<_>>>()?;
        for (write, way) in writes.iter().zip(&ways) {
            match way {
                Way::Placed(placement) => {
                    let for_leader = placed::write(&*self.replica, placement, write.selection, write.from)?;
                    self.buffer(&for_leader)?;
                }
                Way::Own => self.container().dataset_write(std::slice::from_ref(write))?,
                Way::Filtered(_) | Way::Shipped => return Err(collective_only()),
            }
        }
        Ok(())
    }

    /// Buffers bytes for the leader until the next collective call.
    ///
    /// # Errors
    /// Returns `Limit` if the buffer would be larger than it may be.
    fn buffer(&self, pieces: &[LeaderBytes]) -> Result<()> {
        let more: u64 = pieces.iter().map(|piece| piece.bytes.len() as u64).sum();
        if more > 0 && self.replica.buffered_bytes() + more > self.buffered_bytes_max {
            let error = Error::limit("write committed elements independently").with("bytes", more);
            return Err(error.with("limit", self.buffered_bytes_max).with("help", "flush the file before"));
        }
        let pieces: Vec<_> = pieces.iter().map(|piece| (piece.at, piece.bytes.as_slice())).collect();
        self.replica.write_for_commit(&pieces)
    }

    /// Agrees on a write, and gives space to all elements. Elements that have their space are written before: so one
    /// exchange says that all ranks make the same call and are done with it.
    fn begin_write(&self, writes: &[OpWrite<'_>]) -> Result<Begun> {
        let ways = writes.iter().map(|write| self.way(write)).collect::<Result<Vec<_>>>();
        let is_missing = |way: &Way| matches!(way, Way::Placed(placement) if placed::has_missing(placement));
        let mut wishes = ways.as_ref().map_or(Wishes::default(), |ways| Wishes {
            space: ways.iter().any(is_missing),
            more: false,
            links: false,
            rounds: aggregate::rounds(writes.iter().zip(ways).filter_map(scattered)),
        });
        let mut ready = self.check_writable().and_then(|()| ways.as_ref().map(drop).map_err(Clone::clone));
        let mut written = None;
        if let (Ok(ways), Ok(()), true) = (&ways, &ready, wishes == Wishes::default()) {
            (written, ready) = self.write_early(writes, ways);
        }
        wishes.more = written.as_ref().is_none_or(|(for_leader, _)| !for_leader.is_empty());
        let hash = hash_of(writes.iter().map(|write| write.dataset.0).collect::<Vec<_>>());
        let call = Call::Transfer(TransferCall::Write);
        let (handed, wishes) = self.begin_with(call, hash, ready, wishes)?;
        let Wishes { space, more, rounds, .. } = wishes;
        if !space {
            return Ok(Begun { ways: ways?, handed, written, is_done: !more && rounds == 0, rounds });
        }
        self.allocate(writes, handed)?;
        let ways = writes.iter().map(|write| self.way(write)).collect::<Result<_>>()?;
        Ok(Begun { ways, handed: Ok(()), written, is_done: false, rounds })
    }

    /// Writes elements before the ranks agree, if all of them lie in the file as they are. Returns what is left for rank 0.
    fn write_early(&self, writes: &[OpWrite<'_>], ways: &[Way]) -> (Option<Written>, Result<()>) {
        if !ways.iter().all(|way| matches!(way, Way::Placed(_))) {
            return (None, Ok(()));
        }
        match self.check().and_then(|()| self.write_own(writes, ways, 0)) {
            Ok(written) => (Some(written), Ok(())),
            Err(error) => (None, Err(error)),
        }
    }

    fn check_writable(&self) -> Result<()> {
        match self.is_writable {
            true => Ok(()),
            false => Err(Error::denied("write elements").with("problem", "the container is open to read")),
        }
    }

    /// Allocates the elements of all ranks on rank 0.
    fn allocate(&self, writes: &[OpWrite<'_>], handed: Result<()>) -> Result<()> {
        let own: Vec<_> = writes.iter().map(|write| (write.dataset, write.selection.clone())).collect();
        let all = self.ranks.0.gather(0, &wire::to_bytes(&own)?)?;
        let allocate = |_: &dyn Container| {
            handed?;
            for bytes in &all {
                for (dataset, selection) in wire::from_bytes::<Vec<(Token, Selection)>>(bytes)? {
                    match self.replica.allocate(&OpPlacement { dataset, selection }) {
                        Err(error) if error.kind() != Kind::Unsupported => return Err(error),
                        _ => {}
                    }
                }
            }
            Ok(Vec::new())
        };
        self.lead(allocate).map(drop)
    }

    /// Writes what this rank may, and returns what rank 0 must: bytes, and elements. Scattered elements go to
    /// aggregators if there are `rounds` for them.
    fn write_own(&self, writes: &[OpWrite<'_>], ways: &[Way], rounds: u64) -> Result<Written> {
        let (mut for_leader, mut shipped) = (Vec::new(), Vec::new());
        for (write, way) in writes.iter().zip(ways) {
            match way {
                Way::Placed(_) if rounds > 0 && scattered((write, way)).is_some() => {}
                Way::Placed(placement) => {
                    for_leader.extend(placed::write(&*self.replica, placement, write.selection, write.from)?);
                }
                Way::Own => self.container().dataset_write(std::slice::from_ref(write))?,
                Way::Filtered(_) => {}
                Way::Shipped if write.from.is_empty() => {}
                Way::Shipped => {
                    shipped.push((write.dataset, (write.selection.clone(), write.from.to_vec())));
                }
            }
        }
        self.replica.end_write()?;
        Ok((for_leader, shipped))
    }

    /// Writes elements of all ranks in the agreed number of rounds; all ranks do so, whether they have any or not.
    fn write_scattered(&self, writes: &[OpWrite<'_>], begun: &Begun) -> Result<Vec<LeaderBytes>> {
        let mut aggregation = aggregate::Aggregation::new(self, begun.rounds);
        for (write, placement) in writes.iter().zip(&begun.ways).filter_map(scattered) {
            aggregation.add_all(placement, write.selection, write.from);
        }
        aggregation.finish()
    }

    /// Writes on rank 0 what the other ranks may not write.
    pub(crate) fn write_by_first(&self, for_leader: Vec<LeaderBytes>, shipped: &Shipped) -> Result<()> {
        let written = self.to_leader(for_leader)?;
        let all = self.ranks.0.gather(0, &wire::to_bytes(shipped)?)?;
        let write = |container: &dyn Container| {
            written?;
            for bytes in &all {
                for (dataset, (selection, from)) in wire::from_bytes::<Shipped>(bytes)? {
                    let write = OpWrite { dataset, selection: &selection, from: &from };
                    of_first(container.dataset_write(&[write]))?;
                }
            }
            Ok(Vec::new())
        };
        self.lead(write).map(drop)
    }
}

/// A write that all ranks agreed on.
struct Begun {
    ways: Vec<Way>,
    /// The leader's result of what others buffered for it.
    handed: Result<()>,
    /// What is left for rank 0 of elements that this rank wrote before.
    written: Option<Written>,
    /// Every rank has written all of its elements.
    is_done: bool,
    /// Rounds in which elements go to aggregators.
    rounds: u64,
}

/// Returns a write whose elements are better gathered before they are written.
fn scattered<'a, 'd>((write, way): (&'a OpWrite<'d>, &'a Way)) -> Option<(&'a OpWrite<'d>, &'a Placement)> {
    match way {
        Way::Placed(placement) if aggregate::is_scattered(placement, write.selection) => {
            Some((write, placement))
        }
        _ => None,
    }
}

fn collective_only() -> Error {
    Error::unsupported("write elements independently").with(
        "problem",
        "elements with filters, or that are not in the file as they are, are written collectively",
    )
}

fn check_size(write: &OpWrite<'_>, dims: &[u64], element_bytes: u32) -> Result<()> {
    let count = write.selection.element_count(dims)?;
    match count.checked_mul(element_bytes.into()) == Some(write.from.len() as u64) {
        true => Ok(()),
        false => Err(Error::invalid("write dataset")
            .with("elements", count)
            .with("buffer bytes", write.from.len())),
    }
}

/// One rank's elements with values: the selection, the elements, the bytes and the references of their heap.
type Values = ((Selection, Vec<u8>), (Vec<u8>, Vec<Reference>));

/// Writes elements with values, in the memory datatype of the dataset's type.
fn write_values(
    container: &dyn Container,
    dataset: Token,
    selection: &Selection,
    values: &[u8],
    heap: &mut Heap,
) -> Result<()> {
    let info = container.dataset_info(dataset)?;
    let elements = Elements {
        container,
        dataset,
        file_type: &info.datatype,
        space: &info.space,
        selection,
        conversions: &Conversions::default(),
        transfer: Transfer::Independent,
    };
    elements.write(&info.datatype.memory_type(), values, heap)
}

impl Collective for Group {
    fn refuse(&self, direction: Direction, dataset: Token, error: Error) -> Error {
        let _turn = self.turn.write();
        let call = match direction {
            Direction::Read => TransferCall::Read,
            Direction::Write => TransferCall::Write,
        };
        let agreed = self.ranks.agree(Call::Transfer(call), hash_of(vec![dataset.0]), 0, Err(error.clone()));
        agreed.err().unwrap_or(error)
    }

    fn read_all(&self, reads: &mut [OpRead<'_>]) -> Result<()> {
        let _turn = self.turn.write();
        let hash = hash_of(reads.iter().map(|read| read.dataset.0).collect::<Vec<_>>());
        self.ranks.agree(Call::Transfer(TransferCall::Read), hash, 0, self.check())?;
        self.before_read()?;
        self.ranks.end(0, self.container().dataset_read(reads)).map(drop)
    }

    fn write_all(&self, writes: &[OpWrite<'_>]) -> Result<()> {
        let _turn = self.turn.write();
        let mut begun = self.begin_write(writes)?;
        let datasets: Vec<_> = writes.iter().map(|write| write.dataset).collect();
        if begun.is_done {
            return self.replica.elements_changed_of(&datasets);
        }
        let mut written = match begun.written.take() {
            Some(written) => Ok(written),
            None => self.write_own(writes, &begun.ways, begun.rounds),
        };
        if begun.rounds > 0 {
            let scattered = self.write_scattered(writes, &begun);
            written = written.and_then(|(bytes, shipped)| Ok(([bytes, scattered?].concat(), shipped)));
            written = written.and_then(|written| self.replica.end_write().map(|()| written));
        }
        let Begun { ways, handed, .. } = begun;
        let for_first = written.as_ref().map_or(0, |(bytes, shipped)| bytes.len() + shipped.len());
        let done = handed.and_then(|()| written.as_ref().map(drop).map_err(Clone::clone));
        let all = self.ranks.end(for_first as u64, done)?;
        if all.iter().any(|count| *count > 0) {
            let (for_leader, shipped) = written?;
            self.write_by_first(for_leader, &shipped)?;
        }
        for (write, way) in writes.iter().zip(&ways) {
            if let Way::Filtered(grid) = way {
                self.write_filtered(write, grid)?;
            }
        }
        self.replica.elements_changed_of(&datasets)
    }

    fn write_values_all(
        &self,
        dataset: Token,
        selection: &Selection,
        values: &[u8],
        heap: &Heap,
    ) -> Result<()> {
        let _turn = self.turn.write();
        let hash = hash_of(dataset.0);
        let call = Call::Transfer(TransferCall::WriteValues);
        let handed = self.begin(call, hash, self.check_writable())?;
        if self.is_shared() {
            let written = write_values(self.container(), dataset, selection, values, &mut heap.clone());
            let written = written.and_then(|()| self.replica.end_write());
            return self.ranks.end(0, handed.and(written)).map(drop);
        }
        let (bytes, references) = heap.parts();
        let own = ((selection.clone(), values.to_vec()), (bytes.to_vec(), references.to_vec()));
        let all = self.ranks.0.gather(0, &wire::to_bytes::<Values>(&own)?)?;
        let write = |container: &dyn Container| {
            handed?;
            for bytes in &all {
                let ((selection, values), (heap, references)) = wire::from_bytes::<Values>(bytes)?;
                let heap = &mut Heap::from_parts(heap, references);
                of_first(write_values(container, dataset, &selection, &values, heap))?;
            }
            Ok(Vec::new())
        };
        self.lead(write).map(drop)
    }
}
