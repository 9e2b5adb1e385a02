//! External data files message (format spec IV.A.2.h).

use model::Result;

use super::super::external_files::Slot;
use super::super::{Address, Sizes, all_ones};
use super::Encoder;

/// Returns the list of files whose names are in the local heap at `heap`. Only the last can be unlimited.
pub(crate) fn encode(heap: Address, slots: &[Slot], sizes: Sizes) -> Result<Vec<u8>> {
    let mut e = Encoder::new("external file list", sizes);
    let before_last = slots.len().saturating_sub(1);
    e.require(slots[..before_last].iter().all(|s| s.size != u64::MAX), "unlimited before the last file");
    e.u8(1).zeros(3).count(slots.len(), 2).count(slots.len(), 2).defined(heap);
    for slot in slots {
        let size = if slot.size == u64::MAX { all_ones(sizes.length) } else { slot.size };
        e.length(slot.name_offset).length(slot.offset).length(size);
    }
    e.finish()
}
