//! File space info message, version 1 (format spec IV.A.2.x).

use model::Result;
use model::properties::SpaceStrategy;

use super::super::Sizes;
use super::super::file_space::FileSpace;
use super::Encoder;

/// Managers of small and of large sections, six kinds of data each.
const MANAGERS: usize = 12;

impl FileSpace {
    /// Returns the message body. Where space persists there are twelve managers (absent ones are undefined).
    pub(crate) fn encode(&self, sizes: Sizes) -> Result<Vec<u8>> {
        let mut e = Encoder::new("file space info", sizes);
        let strategy = match self.strategy {
            SpaceStrategy::FsmAggregate => 0,
            SpaceStrategy::Page => 1,
            SpaceStrategy::Aggregate => 2,
            SpaceStrategy::None => 3,
        };
        e.require(self.managers.len() == if self.persist { MANAGERS } else { 0 }, "number of managers");
        e.u8(1).u8(strategy).u8(u8::from(self.persist)).length(self.threshold).length(self.page_bytes);
        e.u16(self.page_end_threshold).address(self.end);
        for &manager in &self.managers {
            e.address(manager);
        }
        e.finish()
    }
}
