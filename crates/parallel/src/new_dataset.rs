//! Datasets created one after another: of each, other ranks are told what they need to write its elements, and of the links to
//! all of them later.

use std::sync::atomic::Ordering;

use model::properties::Layout;
use model::{Error, Result, Token};
use protocol::wire;
use system::sync::RwLockReadGuard;
use vol::{OpDatasetCreate, OpRead, Operation};

use crate::group::{Group, Wishes};
use crate::ranks::{Call, hash_of, of_first};

/// What rank 0 says of a new dataset: whether this is all that changed, the changes, the dataset or the error.
type Answer = ((bool, Vec<u8>), (Token, Option<Error>));

impl Group {
    /// Creates a dataset. Links to datasets stay unsaid until something else changes or a rank looks for them.
    pub(crate) fn create_dataset(&self, op: &OpDatasetCreate) -> Result<Token> {
        let _turn = self.turn.write();
        let hash = hash_of(wire::to_bytes(op)?);
        let links = self.has_linked.swap(false, Ordering::Relaxed);
        let (call, wishes) =
            (Call::Operation(Operation::dataset_create), Wishes { links, ..Wishes::default() });
        let (handed, wishes) = self.begin_with(call, hash, Ok(()), wishes)?;
        let said = self.ranks.first_does(|| {
            let created = handed.and_then(|()| of_first(self.container().dataset_create(op)));
            wire::to_bytes(&self.answer(created, !wishes.links && op.place.is_some())?)
        });
        let ((is_all, changes), (token, error)) = wire::from_bytes::<Answer>(&self.note_broken(said)?)?;
        self.note_broken(match &op.place {
            Some(place) if !is_all => self.replica.apply_new(&changes, place, token),
            _ if self.ranks.is_first() => Ok(()),
            _ => self.replica.apply(&changes),
        })?;
        error.map_or(Ok(token), Err)
    }

    fn answer(&self, created: Result<Token>, may_be_short: bool) -> Result<Answer> {
        let new = match &created {
            Ok(token) if may_be_short => self.replica.changes_of_new(*token)?,
            _ => None,
        };
        // Also what failed may have changed something.
        let changes =
            new.map_or_else(|| Ok((true, self.replica.changes()?)), |changes| Ok((false, changes)))?;
        Ok(match created {
            Ok(token) => (changes, (token, None)),
            Err(error) => (changes, (Token::default(), Some(error))),
        })
    }

    /// Holds off collective calls while this rank reads, with all links in place if it looks for them.
    pub(crate) fn read_structure(
        &self,
        looks_for_links: impl Fn() -> bool,
    ) -> Result<RwLockReadGuard<'_, ()>> {
        loop {
            let reading = self.turn.read();
            if !self.replica.lacks_links() || !looks_for_links() {
                return Ok(reading);
            }
            drop(reading);
            // No other thread of this rank reads what is about to change.
            let _turn = self.turn.write();
            if self.replica.lacks_links() {
                self.has_linked.store(true, Ordering::Relaxed);
                self.note_broken(self.replica.link_new())?;
            }
        }
    }

    /// Returns whether elements are those of virtual datasets, whose sources are found by links.
    pub(crate) fn reads_links(&self, reads: &[OpRead<'_>]) -> bool {
        let is_virtual = |read: &OpRead<'_>| {
            let info = self.container().dataset_info(read.dataset);
            info.map_or(true, |info| matches!(info.create.layout, Layout::Virtual(_)))
        };
        reads.iter().any(is_virtual)
    }
}
