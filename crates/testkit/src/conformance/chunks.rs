//! Chunks as they are stored.

use model::{Dataspace, Kind, Result, Selection, Token, UNLIMITED};

use crate::kit::*;
use crate::{Case, Subject};

super::suite! { "chunks":
    |c| c.raw_chunks => only_written_chunks_are_listed, chunks_are_listed_in_pages, raw_chunk_has_its_elements,
        written_raw_chunk_is_read_as_elements, missing_raw_chunk_is_not_found, raw_chunk_off_the_grid_is_refused,
        raw_chunk_of_a_wrong_size_is_refused, raw_chunks_of_a_contiguous_dataset_are_refused;
}

fn data(c: &Case<'_>) -> Result<Token> {
    let extent = Dataspace::resizable(&[4, 6], &[UNLIMITED, 6])?;
    c.ints_with(c.root()?, "d", extent, chunked(&[2, 3]))
}

fn only_written_chunks_are_listed(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    let data = data(&c)?;
    same(c.chunk_list(data, 0, 10)?.entries.len(), 0)?;
    c.put(data, &block(&[3, 5], &[1, 1])?, &[1])?;
    c.commit(vol::Durability::None)?;
    let page = c.chunk_list(data, 0, 10)?;
    same((page.entries.len(), page.more), (1, false))?;
    same(
        (page.entries[0].offset.as_slice(), page.entries[0].bytes, page.entries[0].filter_mask),
        (&[2, 3][..], 24, 0),
    )
}

fn chunks_are_listed_in_pages(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    let data = data(&c)?;
    c.put(data, &Selection::All, &counting(24))?;
    c.commit(vol::Durability::None)?;
    let mut offsets = Vec::new();
    for skip in [0, 3] {
        let page = c.chunk_list(data, skip, 3)?;
        same(page.more, skip == 0)?;
        offsets.extend(page.entries.into_iter().map(|chunk| chunk.offset));
    }
    offsets.sort();
    same(offsets, [[0, 0], [0, 3], [2, 0], [2, 3]])
}

fn raw_chunk_has_its_elements(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    let data = data(&c)?;
    c.put(data, &Selection::All, &counting(24))?;
    let (mask, bytes) = c.chunk_read(data, &[2, 3])?;
    same((mask, to_ints(&bytes)), (0, vec![15, 16, 17, 21, 22, 23]))
}

fn written_raw_chunk_is_read_as_elements(s: &Subject) -> Result<()> {
    let mut c = s.fresh()?;
    let made = data(&c)?;
    c.chunk_write(made, &[0, 3], 0, &to_bytes(&[1, 2, 3, 4, 5, 6]))?;
    c.reopen()?;
    let data = vol::path::token(&*c.container, c.root()?, "d", 16)?;
    same(c.get(data, &block(&[0, 2], &[2, 4])?)?, [0, 1, 2, 3, 0, 4, 5, 6])
}

fn missing_raw_chunk_is_not_found(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    fails(c.chunk_read(data(&c)?, &[0, 0]), Kind::NotFound)
}

fn raw_chunk_off_the_grid_is_refused(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    let data = data(&c)?;
    for offset in [&[1, 0][..], &[0, 4], &[4, 0], &[0], &[0, 0, 0]] {
        fails(c.chunk_read(data, offset), Kind::Invalid)?;
        fails(c.chunk_write(data, offset, 0, &[0; 24]), Kind::Invalid)?;
    }
    Ok(())
}

fn raw_chunk_of_a_wrong_size_is_refused(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    let data = data(&c)?;
    for len in [0, 23, 25] {
        fails(c.chunk_write(data, &[0, 0], 0, &vec![0; len]), Kind::Invalid)?;
    }
    same(c.chunk_list(data, 0, 10)?.entries.len(), 0)
}

fn raw_chunks_of_a_contiguous_dataset_are_refused(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    let data = c.ints(c.root()?, "d", &[4])?;
    fails(c.chunk_list(data, 0, 1), Kind::Invalid)?;
    fails(c.chunk_read(data, &[0]), Kind::Invalid)?;
    fails(c.chunk_write(data, &[0], 0, &[0; 16]), Kind::Invalid)
}
