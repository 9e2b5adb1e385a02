//! The description of an opened file that the leader sends to the other processes.

use model::{Error, Result, Token};
use protocol::wire;
use vol::Container;

use crate::load::Loaded;
use crate::logs::{Log, Segment};
use crate::table_bytes::{FileRange, TableBytes};

/// Numbers, and tables that are not as they are in the file.
type Message = (Vec<u64>, Vec<Vec<u8>>);

/// The number of ranges that says of a table that it is in the message instead.
const IN_MESSAGE: u64 = u64::MAX;

fn put_table(table: Option<&TableBytes>, (numbers, memory): &mut Message) {
    match table {
        None => numbers.push(0),
        Some(TableBytes::File(ranges)) => {
            numbers.push(ranges.len() as u64 + 1);
            ranges.iter().for_each(|range| numbers.extend([range.offset, range.bytes]));
        }
        Some(TableBytes::Memory(bytes)) => {
            numbers.push(IN_MESSAGE);
            memory.push(bytes.clone());
        }
    }
}

/// Returns what a file holds, for the other processes.
pub(crate) fn to_bytes(inner: &dyn Container, group: Token, loaded: &Loaded) -> Result<Vec<u8>> {
    let numbers = vec![inner.info()?.root.to_u64(), group.to_u64(), loaded.id_next, loaded.logs.len() as u64];
    let mut message: Message = (numbers, Vec::new());
    for (number, log) in &loaded.logs {
        message.0.extend([*number, log.segments.len() as u64]);
        let segments = log.segments.iter();
        segments.for_each(|segment| message.0.extend([segment.file.into(), segment.offset, segment.bytes]));
    }
    put_table(loaded.merged.as_ref(), &mut message);
    put_table(loaded.starts.as_ref(), &mut message);
    for (flush, table) in &loaded.flushes {
        message.0.push(*flush);
        put_table(Some(table), &mut message);
    }
    wire::to_bytes(&message)
}

/// What is left of a message.
struct Received {
    numbers: std::vec::IntoIter<u64>,
    memory: std::vec::IntoIter<Vec<u8>>,
}

impl Received {
    fn number(&mut self) -> Result<u64> {
        let broken = || Error::invalid("open log").with("problem", "the leader sent something else");
        self.numbers.next().ok_or_else(broken)
    }

    fn log(&mut self) -> Result<Log> {
        let count = self.number()?;
        let segment = |_| {
            let file = self.number()? as u32;
            Ok(Segment { file, offset: self.number()?, bytes: self.number()? })
        };
        Ok(Log { segments: (0..count).map(segment).collect::<Result<_>>()? })
    }

    fn table(&mut self) -> Result<Option<TableBytes>> {
        match self.number()? {
            0 => Ok(None),
            IN_MESSAGE => Ok(self.memory.next().map(TableBytes::Memory)),
            count => {
                let range = |_| Ok(FileRange { offset: self.number()?, bytes: self.number()? });
                Ok(Some(TableBytes::File((1..count).map(range).collect::<Result<_>>()?)))
            }
        }
    }
}

/// Returns the root, the log's group, and what the file holds.
pub(crate) fn from_bytes(bytes: &[u8]) -> Result<(Token, Token, Loaded)> {
    let (numbers, memory) = wire::from_bytes::<Message>(bytes)?;
    let mut from = Received { numbers: numbers.into_iter(), memory: memory.into_iter() };
    let (root, group) = (Token::from_u64(from.number()?), Token::from_u64(from.number()?));
    let (id_next, count) = (from.number()?, from.number()?);
    let logs = (0..count).map(|_| Ok((from.number()?, from.log()?))).collect::<Result<_>>()?;
    let (merged, starts) = (from.table()?, from.table()?);
    let mut flushes = Vec::new();
    while let Some(flush) = from.numbers.next() {
        flushes.extend(from.table()?.map(|table| (flush, table)));
    }
    Ok((root, group, Loaded { logs, merged, starts, flushes, id_next }))
}
