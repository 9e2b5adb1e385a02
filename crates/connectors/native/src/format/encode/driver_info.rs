//! Driver information: the block of superblocks 0 and 1 and the message of the others (format spec II.B).

use model::Result;

use super::Encoder;

/// Most bytes of driver data in a block.
const DATA_BYTES_MAX: usize = 1024;

/// Identification and data of a driver.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DriverData {
    pub(crate) id: [u8; 8],
    pub(crate) data: Vec<u8>,
}

/// A member of a multi-file container.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Member {
    /// First address of the kinds of data it holds.
    pub(crate) start: u64,
    /// End of its allocated space.
    pub(crate) end: u64,
    /// Name template, `%s` standing for the container's name.
    pub(crate) name: String,
}

impl DriverData {
    /// Files of one size that make one address space.
    pub(crate) fn family(member_bytes: u64) -> Self {
        DriverData { id: *b"NCSAfami", data: member_bytes.to_le_bytes().to_vec() }
    }

    /// Files by kind of data. `map` names (from 1) the kind whose file holds superblock, B-trees, raw data,
    /// global heaps, local heaps and object headers; members are in the order in which it first names them.
    pub(crate) fn multi(map: [u8; 6], members: &[Member]) -> Result<Self> {
        let mut e = Encoder::plain("driver information");
        let mut distinct = map.to_vec();
        distinct.sort_unstable();
        distinct.dedup();
        e.require(distinct.len() == members.len(), "number of members");
        e.require(map.iter().all(|kind| (1..=6).contains(kind)), "map of members").raw(&map).zeros(2);
        for member in members {
            e.u64(member.start).u64(member.end);
        }
        for member in members {
            let start = e.len();
            e.nul_text(&member.name).pad(start, 8);
        }
        Ok(DriverData { id: *b"NCSAmult", data: e.finish()? })
    }

    /// The block of superblocks 0 and 1, which follows the superblock.
    pub(crate) fn encode_block(&self) -> Result<Vec<u8>> {
        let mut e = Encoder::plain("driver information block");
        e.require(self.data.len() <= DATA_BYTES_MAX, "size of driver data");
        e.u8(0).zeros(3).count(self.data.len(), 4).raw(&self.id).raw(&self.data).finish()
    }

    /// The message of superblocks 2 and 3.
    pub(crate) fn encode_message(&self) -> Result<Vec<u8>> {
        let mut e = Encoder::plain("driver information message");
        e.require(!self.data.is_empty(), "no driver data");
        e.u8(0).raw(&self.id).count(self.data.len(), 2).raw(&self.data).finish()
    }
}
