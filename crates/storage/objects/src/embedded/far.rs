//! Large bytes in the data file.

use system::sync::Mutex;

use super::data::Data;
use super::space::Space;
use crate::layout::value::DataRange;
use crate::layout::writer::{Far, ReadRange};
use crate::{Error, Result};

/// Below a page of the index, a place of their own costs more.
pub(super) const NEAR_BYTES_MAX: u64 = 2048;
const WINDOW_BYTES: u64 = 64 << 10;

/// The data file, with its free bytes where an update needs some.
#[derive(Clone, Copy, Debug)]
pub(super) struct FarFile<'a> {
    pub(super) data: &'a Data,
    pub(super) space: Option<&'a Mutex<Space>>,
}

impl Far for FarFile<'_> {
    fn near_bytes_max(&self) -> u64 {
        NEAR_BYTES_MAX
    }

    fn window_bytes(&self) -> u64 {
        WINDOW_BYTES
    }

    fn has_sums(&self) -> bool {
        true
    }

    fn take(&self, length: u64) -> Result<u64> {
        let space = self.space.ok_or_else(|| Error::Corrupt("the free space is unknown".into()))?;
        Ok(space.lock().take(length))
    }

    fn write(&self, at: u64, bytes: &[u8]) -> Result<()> {
        self.data.write(at, bytes)
    }

    fn read(&self, pieces: Vec<ReadRange<'_>>) -> Result<()> {
        pieces.into_iter().try_for_each(|piece| self.data.read(piece.at, piece.into))
    }
}

/// Makes bytes free. While the space is unknown nothing is needed: they are found when it is looked for.
pub(super) fn give(space: Option<&Mutex<Space>>, places: &[DataRange]) {
    if let Some(space) = space.filter(|_| !places.is_empty()) {
        let mut space = space.lock();
        places.iter().for_each(|place| space.give(place.at, place.length));
    }
}
