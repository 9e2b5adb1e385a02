//! Indexes and heaps that change where they changed: a change costs what it touches, not what the structure holds.
//!
//! Nothing here knows objects, caches or commits: a structure asks [`Blocks`] for bytes, and for space.
//! Two rules keep a file readable by anyone at every instant of a commit:
//!
//! - A block that others point to by its address (a node of a B-tree, a direct block of a heap) is not overwritten where the
//!   last commit has it. It moves to new space, its old space is released, and whatever points to it changes too.
//!   The last link of that chain is an object header, which is published in one write.
//! - A block that stays where it is (the header of a heap, an array) is changed in place only such that a caller that follows the
//!   old pointers still finds what they led to. A byte is written in one turn of a commit only.
//!
//! A change that fails with `Unsupported` changed nothing: what came before it can be finished, and the structure built anew.
//! After any other error, drop the structure and give the commit up: half of the change may be in it.

mod btree1;
pub(crate) mod btree2;
pub(crate) mod chunk_tree;
pub(crate) mod fractal_heap;
mod local_heap;
pub(crate) mod symbol_table;

#[cfg(test)]
mod tests;

use files::DataKind;
use filters::Registry;
use model::Result;

use crate::format::{Address, Sizes};
use crate::txn::PublishOrder;

/// The bytes of a file while they change.
pub(crate) trait Blocks {
    fn sizes(&self) -> Sizes;

    /// Returns the filters that blocks can have.
    fn filters(&self) -> &Registry;

    /// Returns bytes as they are now, with all changes.
    fn read(&self, at: Address, len: u64, what: &str) -> Result<Vec<u8>>;

    /// Allocates `len` bytes of a kind.
    fn allocate(&mut self, len: u64, kind: DataKind) -> Address;

    /// Gives space up: it is used again after the next commit, or at once where nothing committed is there.
    fn release(&mut self, at: Address, len: u64);

    fn release_raw(&mut self, at: Address, len: u64);

    /// Returns whether the last commit has nothing there, so that it may be overwritten freely.
    fn is_fresh(&self, at: Address, len: u64) -> bool;

    /// Writes bytes that are published in this turn, where something committed is there.
    fn write(&mut self, at: Address, data: &[u8], turn: PublishOrder) -> Result<()>;

    /// Returns the number of the commit that changes will be part of.
    fn generation(&self) -> u64;

    /// Returns whether the commit of this number is in the file: what was given up for it within a structure is used again.
    fn is_committed(&self, generation: u64) -> bool;

    /// Returns where a block goes that was at `at`: the same place where nothing committed is there, else new space, and the old one is
    /// released.
    fn relocate(&mut self, at: Address, len: u64, kind: DataKind) -> Address {
        if self.is_fresh(at, len) {
            return at;
        }
        self.release(at, len);
        self.allocate(len, kind)
    }
}
