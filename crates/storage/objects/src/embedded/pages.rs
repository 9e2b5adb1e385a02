//! References in pages of redb's file. redb allocates a page before it looks for it, so one that is said to be larger than
//! the file would take memory that the file does not pay for. Such a reference is replaced by one that leads nowhere: where
//! redb verifies, it finds a checksum that is wrong, as it does after a crash; else it finds the file's end. redb's design
//! document describes the pages; nothing else of them is looked at here.

use std::io;

/// Bytes of a page of order 0.
const PAGE: u64 = 4096;
const LEAF: u8 = 1;
const BRANCH: u8 = 2;
/// Levels of a tree; redb has fewer.
const DEPTH_MAX: u32 = 32;
/// Where the number of the first page stands that a commit slot refers to, and of the second one.
const ROOTS: [usize; 2] = [8, 40];
/// Where the two commit slots are in the head.
const SLOTS: [usize; 2] = [64, 192];
/// Pages that the list of tables may take; three are of an index, and redb has some of its own.
const PAGES_MAX: usize = 64;

fn number_at<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..)?.first_chunk().copied()
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u64> {
    number_at(bytes, at).map(|bytes| u32::from_le_bytes(bytes).into())
}

/// Returns the size of a page, which its number tells.
fn page_bytes(number: u64) -> u64 {
    PAGE.checked_shl((number >> 59) as u32).unwrap_or(u64::MAX)
}

/// A small page that no file has.
const NOWHERE: u64 = 0xFF_FFFF_FFFF;

/// Replaces the number of a page that is larger than the file.
fn defuse_at(bytes: &mut [u8], at: usize, file_bytes: u64) {
    if let Some(number) = bytes.get_mut(at..).and_then(|bytes| bytes.first_chunk_mut::<8>())
        && page_bytes(u64::from_le_bytes(*number)) > file_bytes
    {
        *number = NOWHERE.to_le_bytes();
    }
}

/// Returns where the numbers of the pages below a branch stand, if there is space for them.
fn children(page: &[u8]) -> impl Iterator<Item = usize> + use<> {
    let keys = number_at(page, 2).map_or(0, u16::from_le_bytes);
    let (count, is_branch) = (usize::from(keys) + 1, page.first() == Some(&BRANCH));
    let count_max = page.len().saturating_sub(8) / 24;
    (0..count).filter(move |_| is_branch && count <= count_max).map(move |n| 8 + 16 * count + 8 * n)
}

/// Replaces what a page that was read, from `offset` on, says of pages that are larger than the file; `tables` is what
/// [`tables`] found.
pub(super) fn defuse(page: &mut [u8], offset: u64, file_bytes: u64, tables: &[u64]) {
    for at in children(page) {
        defuse_at(page, at, file_bytes);
    }
    for at in tables.iter().filter_map(|at| at.checked_sub(offset)) {
        defuse_at(page, usize::try_from(at).unwrap_or(usize::MAX), file_bytes);
    }
}

/// Where pages are.
#[derive(Clone, Copy)]
struct Regions {
    bytes: u64,
    /// Before the pages of a region.
    head_bytes: u64,
    file_bytes: u64,
}

impl Regions {
    fn new(head: &[u8], file_bytes: u64) -> Option<Regions> {
        let (head_pages, pages) = (u32_at(head, 16)?, u32_at(head, 20)?);
        Some(Regions { bytes: (head_pages + pages) * PAGE, head_bytes: head_pages * PAGE, file_bytes })
    }

    /// Returns the place of a page, if it is in the file.
    fn place(&self, number: u64) -> Option<(u64, usize)> {
        let (size, order) = (page_bytes(number), number >> 59);
        let (index, region) = (number & (0xF_FFFF >> order), (number >> 20) & 0xF_FFFF);
        let at = (PAGE + self.head_bytes).checked_add(region.checked_mul(self.bytes)?)?;
        let at = at.checked_add(index.checked_mul(size)?)?;
        (at.checked_add(size)? <= self.file_bytes).then_some((at, size as usize))
    }
}

/// Returns where the head of a file and the list of its tables refer to pages that are larger than the file. What lies outside
/// of the file is left to redb, which finds nothing there.
pub(super) fn tables(
    head: &[u8],
    file_bytes: u64,
    read: impl Fn(u64, &mut [u8]) -> io::Result<()>,
) -> io::Result<Vec<u64>> {
    let (Some(regions), mut found) = (Regions::new(head, file_bytes), Vec::new()) else {
        return Ok(Vec::new());
    };
    let mut pending: Vec<(u64, u32)> = Vec::new();
    for slot in SLOTS {
        for root in ROOTS {
            let number = number_at(head, slot + root).map_or(0, u64::from_le_bytes);
            match page_bytes(number) > file_bytes {
                true => found.push((slot + root) as u64),
                false => pending.push((number, 0)),
            }
        }
    }
    // There are few tables: in whatever goes on, most pages are none of theirs.
    for _ in 0..PAGES_MAX {
        let Some((number, depth)) = pending.pop() else { break };
        let Some((at, size)) = regions.place(number) else { continue };
        let mut page = vec![0; size];
        read(at, &mut page)?;
        if depth < DEPTH_MAX {
            let numbers = children(&page).filter_map(|at| number_at(&page, at)).map(u64::from_le_bytes);
            pending.extend(numbers.map(|child| (child, depth + 1)));
        }
        if page.first() == Some(&LEAF) {
            found.extend(roots_in(&page, file_bytes).map(|within| at + within as u64));
        }
    }
    Ok(found)
}

/// Returns where the tables of one page refer to such pages: each is a name and what redb knows of it, with the number of the first
/// page after ten bytes.
fn roots_in(page: &[u8], file_bytes: u64) -> impl Iterator<Item = usize> {
    let count = number_at(page, 2).map_or(0, |bytes| usize::from(u16::from_le_bytes(bytes)));
    let end_of = move |n: usize| u32_at(page, 4 + 4 * n).unwrap_or(0) as usize;
    // The ends of all names, then those of all values.
    let starts = (0..count).map(move |n| if n == 0 { end_of(count - 1) } else { end_of(count + n - 1) });
    let number_of = move |at: &usize| number_at(page, *at).map_or(0, u64::from_le_bytes);
    starts.map(|start| start.saturating_add(10)).filter(move |at| page_bytes(number_of(at)) > file_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reference_to_a_huge_page_leads_nowhere() {
        let mut page = vec![0; 4096];
        page[0] = BRANCH;
        page[2] = 1;
        // The second child is of order 20.
        page[8 + 2 * 16 + 15] = 20 << 3;
        let good = page.clone();
        defuse(&mut page, 8192, 1 << 40, &[]);
        assert_eq!(page, good);
        defuse(&mut page, 8192, 1 << 20, &[8192 + 100]);
        assert_eq!(number_at(&page, 8 + 2 * 16 + 8), Some(NOWHERE.to_le_bytes()));
        assert_eq!(page[..8 + 2 * 16 + 8], good[..8 + 2 * 16 + 8]);
        // More children than there is space for.
        page[2..4].copy_from_slice(&u16::MAX.to_le_bytes());
        defuse(&mut page, 8192, 1 << 20, &[]);
    }

    #[test]
    fn roots_of_tables_that_are_huge_are_found() {
        let mut head = vec![0; 512];
        head[16..24].copy_from_slice(&[0, 0, 0, 0, 0, 0, 16, 0]);
        // One leaf with one table: the name takes 4 bytes.
        let mut leaf = vec![0; 4096];
        leaf[0] = LEAF;
        leaf[2] = 1;
        leaf[4] = 16;
        leaf[8] = 100;
        leaf[16 + 9] = 1;
        leaf[16 + 10 + 7] = 20 << 3;
        let read = |_: u64, page: &mut [u8]| {
            page.copy_from_slice(&leaf);
            Ok(())
        };
        let found = tables(&head, 1 << 20, read).unwrap();
        assert!(found.iter().all(|at| *at == 4096 + 26) && !found.is_empty(), "{found:?}");
        head[SLOTS[1] + ROOTS[1] + 7] = 0xff;
        let found = tables(&head, 1 << 20, read).unwrap();
        assert!(found.contains(&((SLOTS[1] + ROOTS[1]) as u64)), "{found:?}");
    }
}
