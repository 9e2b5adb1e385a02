//! Agreement of ranks on a call, and exchange of their errors.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use comm::Comm;
use model::{Context, Error, Result};
use protocol::wire::{self, Wire};
use vol::Operation;

/// What all ranks do together. An operation of the contract has its own number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Call {
    Operation(Operation),
    Connector(ConnectorCall),
    Transfer(TransferCall),
}

/// Calls of a connector, and their numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ConnectorCall {
    CheckCreate = 1001,
    Create,
    Open,
    Follow,
    Delete,
    IsAccessible,
    Recover,
}

/// Collective transfers, and their steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TransferCall {
    Read = 2001,
    Write,
    WriteValues,
    End,
}

impl Call {
    fn number(self) -> u32 {
        match self {
            Call::Operation(operation) => operation.number(),
            Call::Connector(call) => call as u32,
            Call::Transfer(call) => call as u32,
        }
    }
}

/// Returns what a number stands for, for people.
fn name(number: u32) -> String {
    if let Some(operation) = Operation::of(number) {
        return operation.name().to_owned();
    }
    let names = [
        "check_create",
        "create container",
        "open container",
        "follow container",
        "delete container",
        "is_accessible",
        "recover container",
    ];
    let transfers =
        ["collective read", "collective write", "collective write of values", "end of a collective transfer"];
    let named = names.get((number as usize).wrapping_sub(1001));
    let named = named.or_else(|| transfers.get((number as usize).wrapping_sub(2001)));
    named.map_or_else(|| format!("call {number}"), |name| (*name).to_owned())
}

/// Bytes of a [`Header`].
const HEADER_BYTES: usize = 21;

/// The first words of a rank, the same number of bytes for all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Header {
    number: u32,
    /// The rank cannot take part.
    failed: bool,
    /// A hash of the arguments that must be the same.
    hash: u64,
    /// A number that may differ.
    pub(crate) own: u64,
}

impl Wire for Header {
    fn put(&self, out: &mut Vec<u8>) -> Result<()> {
        self.number.put(out)?;
        self.failed.put(out)?;
        self.hash.put(out)?;
        self.own.put(out)
    }

    fn get(from: &mut wire::Reader<'_>) -> Result<Self> {
        Ok(Header {
            number: Wire::get(from)?,
            failed: Wire::get(from)?,
            hash: Wire::get(from)?,
            own: Wire::get(from)?,
        })
    }
}

/// Returns a hash of arguments, the same in all processes of one program.
pub(crate) fn hash_of(arguments: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    arguments.hash(&mut hasher);
    hasher.finish()
}

/// The ranks of a container.
#[derive(Clone)]
pub(crate) struct Ranks(pub(crate) Arc<dyn Comm>);

impl Ranks {
    pub(crate) fn is_first(&self) -> bool {
        self.0.rank() == 0
    }

    /// Agrees on a call: all ranks make it with arguments of the same hash, and can. Returns the own numbers of all.
    ///
    /// # Errors
    /// Returns the same error to all ranks: that some make another call, or the error of the first that cannot take part.
    pub(crate) fn agree(&self, call: Call, hash: u64, own: u64, ready: Result<()>) -> Result<Vec<u64>> {
        let header = Header { number: call.number(), failed: ready.is_err(), hash, own };
        let mut said = Vec::with_capacity(HEADER_BYTES);
        header.put(&mut said)?;
        let all = self.0.allgather_equal(&said)?;
        let all = all.iter().map(|bytes| wire::from_bytes(bytes)).collect::<Result<Vec<Header>>>()?;
        check_same(&all)?;
        if all.iter().any(|header| header.failed) {
            return Err(self.first_error(ready.err())?);
        }
        Ok(all.iter().map(|header| header.own).collect())
    }

    /// Returns the error of the first rank that has one.
    fn first_error(&self, own: Option<Error>) -> Result<Error> {
        let own = own.map_or(Ok(Vec::new()), |error| wire::to_bytes(&error))?;
        let all = self.0.allgather(&own)?;
        let (rank, bytes) = all
            .iter()
            .enumerate()
            .find(|(_, bytes)| !bytes.is_empty())
            .ok_or_else(|| Error::invalid("agree on an operation").with("problem", "no rank says why"))?;
        Ok(wire::from_bytes::<Error>(bytes)?.during(format!("take part as rank {rank}")))
    }

    /// Ends something that every rank did for itself: an error of one is an error of all. Returns the own numbers of
    /// all.
    pub(crate) fn end(&self, own: u64, done: Result<()>) -> Result<Vec<u64>> {
        self.agree(Call::Transfer(TransferCall::End), 0, own, done)
    }

    /// Returns to all ranks what the first one does.
    pub(crate) fn first_does(&self, run: impl FnOnce() -> Result<Vec<u8>>) -> Result<Vec<u8>> {
        let mut message = Vec::new();
        if self.is_first() {
            message = match run() {
                Ok(bytes) => [&[1], bytes.as_slice()].concat(),
                Err(error) => [vec![0], wire::to_bytes(&error)?].concat(),
            };
        }
        self.0.bcast(0, &mut message)?;
        match message.split_first() {
            Some((1, _)) => {
                message.remove(0);
                Ok(message)
            }
            Some((_, error)) => Err(wire::from_bytes(error)?),
            None => Err(Error::invalid("agree on an operation").with("problem", "no word from rank 0")),
        }
    }

    /// Agrees on a call, and returns to all ranks what the first one does.
    pub(crate) fn first_does_call<T: Wire>(
        &self,
        call: Call,
        hash: u64,
        run: impl FnOnce() -> Result<T>,
    ) -> Result<T> {
        self.agree(call, hash, 0, Ok(()))?;
        wire::from_bytes(&self.first_does(|| wire::to_bytes(&run()?))?)
    }
}

/// Returns ranks as text: `1, 3`.
fn listed(all: &[Header], is_one: impl Fn(&Header) -> bool) -> String {
    let ranks = all.iter().enumerate().filter(|(_, header)| is_one(header));
    ranks.map(|(rank, _)| rank.to_string()).collect::<Vec<_>>().join(", ")
}

fn check_same(all: &[Header]) -> Result<()> {
    let Some(first) = all.first() else { return Ok(()) };
    let disagree = |problem: &str| Error::invalid("agree on an operation").with("problem", problem);
    if all.iter().any(|header| header.number != first.number) {
        let mut numbers: Vec<u32> = all.iter().map(|header| header.number).collect();
        numbers.sort_unstable();
        numbers.dedup();
        let calls = numbers.iter().map(|number| {
            format!("rank {}: {}", listed(all, |header| header.number == *number), name(*number))
        });
        let calls = calls.collect::<Vec<_>>().join("; ");
        return Err(disagree("ranks make different calls").with("calls", calls));
    }
    if all.iter().any(|header| header.hash != first.hash) {
        let others = listed(all, |header| header.hash != first.hash);
        let error = disagree("ranks make the same call with different arguments");
        return Err(error.with("call", name(first.number)).with("ranks unlike rank 0", others));
    }
    Ok(())
}

/// Adds to an error that it is one of rank 0.
pub(crate) fn of_first<T>(done: Result<T>) -> Result<T> {
    done.during("run operation on rank 0")
}
