//! Free-space managers: header and section list (format spec III.I).

use model::Result;

use super::super::free_space::{Client, Detail, Manager, Section};
use super::super::{Address, Sizes};
use super::Encoder;

impl Manager {
    /// Returns the header.
    pub(crate) fn encode(&self, sizes: Sizes) -> Result<Vec<u8>> {
        let mut e = Encoder::block("free-space manager", sizes, b"FSHD", 0);
        e.u8(match self.client {
            Client::FractalHeap => 0,
            Client::File => 1,
        });
        e.length(self.bytes).length(self.sections).length(self.stored_sections).length(self.ghost_sections);
        e.u16(self.classes).u16(self.shrink_percent).u16(self.expand_percent).u16(self.address_bits);
        e.length(self.section_bytes_max).address(self.list);
        e.length(self.list_used_bytes).length(self.list_bytes).checksum().finish()
    }

    /// Returns the number of bytes that a list of these sections uses.
    pub(crate) fn list_bytes_of(&self, sections: &[Section], sizes: Sizes) -> usize {
        let sets = self.sets(sections).len();
        let count_bytes = model::bytes::uint_width(sections.len() as u64);
        let row_bytes = self.offset_bytes() + 6;
        let rows = sections.iter().filter(|s| matches!(s.detail, Detail::Row { .. })).count();
        9 + sizes.offset
            + sets * (count_bytes + self.size_bytes())
            + sections.len() * (self.offset_bytes() + 1)
            + rows * row_bytes
    }

    /// Returns the number of bytes that a list of so many plain sections may use.
    pub(crate) fn list_bytes_max(&self, count: usize, sizes: Sizes) -> u64 {
        let count_bytes = model::bytes::uint_width(count as u64);
        let section_bytes = count_bytes + self.size_bytes() + self.offset_bytes() + 1;
        (9 + sizes.offset) as u64 + count as u64 * section_bytes as u64
    }

    /// Returns the sections of one size together, sizes and addresses ascending.
    fn sets<'a>(&self, sections: &'a [Section]) -> Vec<Vec<&'a Section>> {
        let mut sorted: Vec<&Section> = sections.iter().collect();
        sorted.sort_by_key(|s| (s.bytes, s.offset));
        sorted.chunk_by(|a, b| a.bytes == b.bytes).map(<[_]>::to_vec).collect()
    }

    /// Returns the section list, which fills `list_used_bytes` of its `list_bytes`.
    pub(crate) fn encode_list(&self, header: Address, sections: &[Section], sizes: Sizes) -> Result<Vec<u8>> {
        let mut e = Encoder::block("free-space sections", sizes, b"FSSE", 0);
        e.require(sections.len() as u64 == self.stored_sections, "number of sections").defined(header);
        for set in self.sets(sections) {
            e.count(set.len(), self.count_bytes()).uint(set[0].bytes, self.size_bytes());
            for section in set {
                self.section(&mut e, section);
            }
        }
        let used = usize::try_from(self.list_used_bytes).unwrap_or(usize::MAX);
        match used.checked_sub(4).and_then(|end| end.checked_sub(e.len())).filter(|&gap| gap <= 1 << 30) {
            Some(gap) => e.zeros(gap).checksum(),
            None => e.refuse("used size of list"),
        };
        e.finish_in(self.list_bytes)
    }

    fn section(&self, e: &mut Encoder, section: &Section) {
        e.uint(section.offset, self.offset_bytes());
        match section.detail {
            Detail::Plain(kind) => {
                e.u8(kind);
            }
            Detail::Row { block_offset, row, column, entries } => {
                e.require(self.client == Client::FractalHeap, "rows are of heaps");
                e.u8(1).uint(block_offset, self.offset_bytes()).u16(row).u16(column).u16(entries);
            }
        }
    }
}
