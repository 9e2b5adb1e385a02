//! The record, and the file that one crash leaves.

use std::fmt;
use std::io;
use std::ops::Range;
use std::sync::Arc;

use super::sample::Random;
use super::{Event, SECTOR_BYTES};
use crate::{File, Memory};

/// What a [`Crash`](crate::Crash) recorded: the file at the start, and the events since.
#[derive(Clone, Debug)]
pub struct Log {
    base: Arc<[u8]>,
    events: Arc<[Event]>,
}

/// One crash: when it struck, and which pending events the disk had.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CrashState {
    /// Events that had been issued.
    pub at: usize,
    /// The pending events that the disk kept, in the order it took them.
    pub kept: Vec<SurvivingEvent>,
    /// The seed and number of a random draw: `log.draw(seed, number)` makes the state again.
    pub drawn: Option<(u64, u64)>,
}

/// A pending event that the disk kept, at least in part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SurvivingEvent {
    /// Its index in the log.
    pub event: usize,
    /// How much of it.
    pub part: SurvivingPart,
}

/// How much of an event the disk kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SurvivingPart {
    /// All of it.
    Whole,
    /// Of a write, the sectors marked `true`; see [`Event::sectors`].
    Sectors(Vec<bool>),
    /// Of a write past the end, only the new length: zeros where its bytes should be.
    Length,
    /// Of a write all, but noise in the sectors marked `true`: power failed while they were written.
    Noise(Vec<bool>),
}

impl Event {
    /// Returns the parts of a write that cannot be torn, as ranges of its data; none for other events.
    pub fn sectors(&self) -> Vec<Range<usize>> {
        let Event::Write { offset, data } = self else { return Vec::new() };
        let mut sectors = Vec::new();
        let mut start = 0;
        let mut capacity = (SECTOR_BYTES - offset % SECTOR_BYTES) as usize;
        while start < data.len() {
            let end = start.saturating_add(capacity).min(data.len());
            sectors.push(start..end);
            (start, capacity) = (end, SECTOR_BYTES as usize);
        }
        sectors
    }

    fn apply(&self, file: &Memory) -> io::Result<()> {
        match self {
            Event::Write { offset, data } => file.write_at(*offset, data),
            Event::SetLen(len) => file.set_len(*len),
            Event::Sync(_) => Ok(()),
        }
    }

    fn apply_part(&self, part: &SurvivingPart, file: &Memory) -> io::Result<()> {
        match (self, part) {
            (_, SurvivingPart::Whole) => self.apply(file),
            (Event::Write { offset, data }, SurvivingPart::Sectors(kept)) => {
                let sectors = self.sectors().into_iter().zip(kept).filter(|(_, kept)| **kept);
                sectors
                    .map(|(sector, _)| sector)
                    .try_for_each(|sector| file.write_at(offset + sector.start as u64, &data[sector]))
            }
            (Event::Write { offset, data }, SurvivingPart::Length) => {
                let end = offset.saturating_add(data.len() as u64);
                if end > file.len()? { file.set_len(end) } else { Ok(()) }
            }
            (Event::Write { offset, data }, SurvivingPart::Noise(noisy)) => {
                let mut data = data.to_vec();
                let sectors = self.sectors().into_iter().zip(noisy).filter(|(_, noisy)| **noisy);
                sectors.for_each(|(sector, _)| noise(offset + sector.start as u64, &mut data[sector]));
                file.write_at(*offset, &data)
            }
            _ => Err(io::Error::new(io::ErrorKind::InvalidInput, "only writes are kept in part")),
        }
    }
}

/// Bytes that were never written, the same for the same place.
fn noise(at: u64, bytes: &mut [u8]) {
    let mut random = Random(at);
    bytes.iter_mut().for_each(|byte| *byte = random.next() as u8);
}

impl Log {
    /// Returns a record of a file and what happened to it. [`Crash`](crate::Crash) makes them; a test that asks what another
    /// order, or a sync less, would have done makes its own.
    pub fn new(base: Arc<[u8]>, events: Vec<Event>) -> Self {
        Log { base, events: events.into() }
    }

    /// Returns the file when recording began.
    pub fn base(&self) -> &[u8] {
        &self.base
    }

    /// Returns the events since.
    pub fn events(&self) -> &[Event] {
        &self.events
    }

    /// Returns how many of the first `at` events no crash can undo: all up to the last `sync`.
    pub fn durable(&self, at: usize) -> usize {
        let issued = &self.events[..at.min(self.events.len())];
        issued.iter().rposition(|event| matches!(event, Event::Sync(_))).map_or(0, |sync| sync + 1)
    }

    /// Returns the events that a crash after `at` events may undo.
    pub fn pending(&self, at: usize) -> Range<usize> {
        self.durable(at)..at.min(self.events.len())
    }

    /// Returns the file that a crash leaves.
    pub fn image(&self, state: &CrashState) -> io::Result<Vec<u8>> {
        let file = Memory::from_image(self.base.to_vec());
        self.events[..self.durable(state.at)].iter().try_for_each(|event| event.apply(&file))?;
        for SurvivingEvent { event, part } in &state.kept {
            let event = self.events.get(*event).ok_or(io::ErrorKind::InvalidInput)?;
            event.apply_part(part, &file)?;
        }
        file.into_image()
    }
}

impl fmt::Display for CrashState {
    /// Enough to make the state again.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "crash after {} events, disk kept [", self.at)?;
        for (index, SurvivingEvent { event, part }) in self.kept.iter().enumerate() {
            let space = if index == 0 { "" } else { " " };
            write!(f, "{space}{event}{part}")?;
        }
        write!(f, "]")?;
        self.drawn.map_or(Ok(()), |(seed, number)| write!(f, " (seed {seed}, draw {number})"))
    }
}

impl fmt::Display for SurvivingPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SurvivingPart::Whole => Ok(()),
            SurvivingPart::Length => write!(f, ":length"),
            SurvivingPart::Sectors(kept) => write!(f, ":{}", marks(kept, '.', '#')),
            SurvivingPart::Noise(noisy) => write!(f, ":{}", marks(noisy, '#', '?')),
        }
    }
}

fn marks(sectors: &[bool], no: char, yes: char) -> String {
    sectors.iter().map(|sector| if *sector { yes } else { no }).collect()
}
