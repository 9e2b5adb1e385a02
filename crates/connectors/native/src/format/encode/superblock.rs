//! Superblock, versions 0 to 3 (format spec II.A), and the B-tree K message of its extension.

use model::Result;

use super::super::superblock::{SIGNATURE, Superblock, TreeK};
use super::super::symbol_table::SymbolTableEntry;
use super::Encoder;

impl Superblock {
    /// Returns the bytes of the superblock in its own version. Versions 2 and 3 leave tree sizes to the extension.
    pub(crate) fn encode(&self) -> Result<Vec<u8>> {
        let mut e = Encoder::new("superblock", self.sizes);
        e.raw(&SIGNATURE).u8(self.version);
        e.require(self.flags <= 7, "consistency flags").require(self.end > 0, "end of file is zero");
        match self.version {
            0 | 1 => self.version_0_1(&mut e),
            2 | 3 => self.version_2_3(&mut e),
            n => {
                e.refuse(format!("version {n}"));
            }
        }
        e.finish()
    }

    fn sizes_into(&self, e: &mut Encoder) {
        e.count(self.sizes.offset, 1).count(self.sizes.length, 1);
    }

    fn version_0_1(&self, e: &mut Encoder) {
        e.require(self.extension.is_none(), "this version has no extension");
        e.require(self.version == 1 || self.k.chunk == TreeK::default().chunk, "chunk K needs version 1");
        e.zeros(4);
        self.sizes_into(e);
        e.zeros(1).u16(self.k.group_leaf).u16(self.k.group_internal).u32(u32::from(self.flags));
        if self.version == 1 {
            e.u16(self.k.chunk).zeros(2);
        }
        e.uint(self.base, self.sizes.offset).address(None).uint(self.end, self.sizes.offset);
        e.address(self.driver_info);
        let root = SymbolTableEntry { name_offset: 0, header: Some(self.root), cached: self.root_cached };
        root.encode_into(e);
    }

    fn version_2_3(&self, e: &mut Encoder) {
        e.require(self.driver_info.is_none(), "this version has its driver information in the extension");
        self.sizes_into(e);
        e.u8(self.flags).uint(self.base, self.sizes.offset).address(self.extension);
        e.uint(self.end, self.sizes.offset).defined(self.root).checksum();
    }
}

/// Returns the B-tree K values message (format spec IV.A.2.t).
pub(crate) fn tree_k(k: TreeK) -> Result<Vec<u8>> {
    let mut e = Encoder::plain("B-tree K message");
    e.require(k.chunk > 0 && k.group_internal > 0 && k.group_leaf > 0, "tree K is zero");
    e.u8(0).u16(k.chunk).u16(k.group_internal).u16(k.group_leaf).finish()
}
