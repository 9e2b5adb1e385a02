//! Extents that change, and what fills them.

use model::properties::{DatasetCreate, Fill, FillTime, FillValue};
use model::{Dataspace, Kind, Result, Selection, Token, UNLIMITED};

use crate::kit::*;
use crate::{Case, Subject};

super::suite! { "resizing":
    |c| c.resize => grown_extent_keeps_its_elements, shrunken_extent_keeps_what_is_inside,
        shrink_then_grow_reads_zeros, extent_grows_in_every_dimension, extent_shrinks_to_nothing_and_back,
        resizing_beyond_the_maximum_is_refused, resizing_to_another_rank_is_refused,
        resizing_without_chunks_is_refused, resized_extent_survives_reopening, resizing_to_the_same_extent_changes_nothing,
        extent_grows_far, row_by_row_appending_reads_back;
    |c| c.fill_values => unwritten_elements_read_as_the_fill_value, partly_written_chunk_shows_the_fill_value_elsewhere,
        fill_value_survives_reopening, fill_value_of_a_wrong_size_is_refused;
    |c| c.fill_values && c.resize => shrink_then_grow_reads_fill_value, grown_extent_shows_the_fill_value,
        every_way_of_resizing_agrees_with_a_plain_array;
}

fn resizable(c: &Case<'_>, dims: &[u64], shape: &[u64], fill: Option<i32>) -> Result<Token> {
    let value = fill.map_or(FillValue::Default, |fill| FillValue::Value(to_bytes(&[fill])));
    let create = DatasetCreate { fill: Fill { value, time: FillTime::Alloc }, ..chunked(shape) };
    let extent = Dataspace::resizable(dims, &vec![UNLIMITED; dims.len()])?;
    c.ints_with(c.root()?, "d", extent, create)
}

fn grown_extent_keeps_its_elements(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    let data = resizable(&c, &[2, 2], &[2, 2], None)?;
    c.put(data, &Selection::All, &[1, 2, 3, 4])?;
    c.dataset_resize(data, &[3, 3])?;
    same(c.get(data, &Selection::All)?, [1, 2, 0, 3, 4, 0, 0, 0, 0])
}

fn shrunken_extent_keeps_what_is_inside(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    let data = resizable(&c, &[4, 4], &[3, 3], None)?;
    c.put(data, &Selection::All, &counting(16))?;
    c.dataset_resize(data, &[2, 3])?;
    same(c.get(data, &Selection::All)?, [0, 1, 2, 4, 5, 6])?;
    fails(c.get(data, &block(&[3, 3], &[1, 1])?), Kind::Invalid)
}

fn shrink_then_grow_reads_zeros(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    let data = resizable(&c, &[6], &[4], None)?;
    c.put(data, &Selection::All, &[1; 6])?;
    c.dataset_resize(data, &[2])?;
    c.dataset_resize(data, &[7])?;
    same(c.get(data, &Selection::All)?, [1, 1, 0, 0, 0, 0, 0])
}

fn extent_grows_in_every_dimension(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    let data = resizable(&c, &[1, 1, 1], &[2, 2, 2], None)?;
    c.put(data, &Selection::All, &[9])?;
    for dims in [[3, 1, 1], [3, 3, 1], [3, 3, 3]] {
        c.dataset_resize(data, &dims)?;
        same(c.dataset_info(data)?.space.dims(), dims)?;
    }
    c.put(data, &block(&[2, 2, 2], &[1, 1, 1])?, &[8])?;
    let mut wanted = [0; 27];
    (wanted[0], wanted[26]) = (9, 8);
    same(c.get(data, &Selection::All)?, wanted)
}

fn extent_shrinks_to_nothing_and_back(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    let data = resizable(&c, &[3, 3], &[2, 2], None)?;
    c.put(data, &Selection::All, &counting(9))?;
    c.dataset_resize(data, &[0, 3])?;
    same(c.get(data, &Selection::All)?.len(), 0)?;
    c.dataset_resize(data, &[2, 2])?;
    same(c.get(data, &Selection::All)?, [0; 4])
}

fn resizing_beyond_the_maximum_is_refused(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    let extent = Dataspace::resizable(&[2, 2], &[4, UNLIMITED])?;
    let data = c.ints_with(c.root()?, "d", extent, chunked(&[2, 2]))?;
    fails(c.dataset_resize(data, &[5, 2]), Kind::Invalid)?;
    c.dataset_resize(data, &[4, 100])?;
    same(c.dataset_info(data)?.space.dims(), [4, 100])
}

fn resizing_to_another_rank_is_refused(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    let data = resizable(&c, &[2, 2], &[2, 2], None)?;
    for dims in [&[][..], &[2], &[2, 2, 2]] {
        fails(c.dataset_resize(data, dims), Kind::Invalid)?;
    }
    Ok(())
}

fn resizing_without_chunks_is_refused(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    let data = c.ints(c.root()?, "d", &[4])?;
    fails(c.dataset_resize(data, &[3]), Kind::Invalid)?;
    fails(c.dataset_resize(data, &[5]), Kind::Invalid)
}

fn resized_extent_survives_reopening(s: &Subject) -> Result<()> {
    let mut c = s.fresh()?;
    let data = resizable(&c, &[2], &[2], None)?;
    c.dataset_resize(data, &[5])?;
    c.put(data, &Selection::All, &counting(5))?;
    c.reopen()?;
    let data = vol::path::token(&*c.container, c.root()?, "d", 16)?;
    let info = c.dataset_info(data)?;
    same((info.space.dims(), info.space.max_dims()), (&[5][..], &[UNLIMITED][..]))?;
    same(c.get(data, &Selection::All)?, counting(5))
}

fn resizing_to_the_same_extent_changes_nothing(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    let data = resizable(&c, &[3], &[2], None)?;
    c.put(data, &Selection::All, &[1, 2, 3])?;
    c.dataset_resize(data, &[3])?;
    same(c.get(data, &Selection::All)?, [1, 2, 3])
}

fn extent_grows_far(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    let data = resizable(&c, &[1], &[16], None)?;
    c.dataset_resize(data, &[1 << 40])?;
    let end = block(&[(1 << 40) - 1], &[1])?;
    c.put(data, &end, &[7])?;
    same(c.get(data, &end)?, [7])?;
    c.dataset_resize(data, &[1])?;
    c.dataset_resize(data, &[1 << 40])?;
    same(c.get(data, &end)?, [0])
}

fn row_by_row_appending_reads_back(s: &Subject) -> Result<()> {
    let mut c = s.fresh()?;
    let data = resizable(&c, &[0, 3], &[4, 2], None)?;
    for row in 0..50 {
        c.dataset_resize(data, &[row + 1, 3])?;
        let first = row as i32 * 3;
        c.put(data, &block(&[row, 0], &[1, 3])?, &[first, first + 1, first + 2])?;
    }
    c.reopen()?;
    let data = vol::path::token(&*c.container, c.root()?, "d", 16)?;
    same(c.get(data, &Selection::All)?, counting(150))
}

fn unwritten_elements_read_as_the_fill_value(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    let fill = Fill { value: FillValue::Value(to_bytes(&[-7])), time: FillTime::Alloc };
    let plain = DatasetCreate { fill: fill.clone(), ..DatasetCreate::default() };
    for (name, create) in [("plain", plain), ("chunks", DatasetCreate { fill, ..chunked(&[2]) })] {
        let data = c.ints_with(c.root()?, name, space(&[5]), create)?;
        same(c.get(data, &Selection::All)?, [-7; 5])?;
        c.put(data, &block(&[1], &[2])?, &[1, 2])?;
        same(c.get(data, &Selection::All)?, [-7, 1, 2, -7, -7])?;
    }
    Ok(())
}

fn partly_written_chunk_shows_the_fill_value_elsewhere(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    let data = resizable(&c, &[3, 3], &[2, 2], Some(-1))?;
    c.put(data, &block(&[1, 1], &[1, 2])?, &[5, 6])?;
    same(c.get(data, &Selection::All)?, [-1, -1, -1, -1, 5, 6, -1, -1, -1])
}

fn fill_value_survives_reopening(s: &Subject) -> Result<()> {
    let mut c = s.fresh()?;
    resizable(&c, &[3], &[2], Some(12))?;
    c.reopen()?;
    let data = vol::path::token(&*c.container, c.root()?, "d", 16)?;
    same(&c.dataset_info(data)?.create.fill.value, &FillValue::Value(to_bytes(&[12])))?;
    same(c.get(data, &Selection::All)?, [12; 3])
}

fn fill_value_of_a_wrong_size_is_refused(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    for len in [0, 3, 8] {
        let fill = Fill { value: FillValue::Value(vec![1; len]), time: FillTime::Alloc };
        let create = DatasetCreate { fill, ..DatasetCreate::default() };
        fails(c.ints_with(c.root()?, "d", space(&[1]), create), Kind::Invalid)?;
    }
    Ok(())
}

fn shrink_then_grow_reads_fill_value(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    let data = resizable(&c, &[4, 4], &[3, 3], Some(-1))?;
    c.put(data, &Selection::All, &counting(16))?;
    c.dataset_resize(data, &[2, 2])?;
    c.dataset_resize(data, &[3, 3])?;
    same(c.get(data, &Selection::All)?, [0, 1, -1, 4, 5, -1, -1, -1, -1])
}

fn grown_extent_shows_the_fill_value(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    let data = resizable(&c, &[2], &[4], Some(3))?;
    c.put(data, &Selection::All, &[1, 2])?;
    c.dataset_resize(data, &[6])?;
    same(c.get(data, &Selection::All)?, [1, 2, 3, 3, 3, 3])
}

fn every_way_of_resizing_agrees_with_a_plain_array(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    let data = resizable(&c, &[3, 3], &[2, 3], Some(-1))?;
    let (mut dims, mut wanted) = ([3u64, 3], vec![-1; 9]);
    let mut generator = crate::generate::Generator::new(4);
    for round in 0..80 {
        let new = [generator.below(8), generator.below(8)];
        c.dataset_resize(data, &new)?;
        wanted = resized(&wanted, dims, new);
        dims = new;
        if let Some(place) = wanted.len().checked_sub(1).map(|last| generator.below(last as u64 + 1)) {
            c.put(data, &block(&[place / dims[1], place % dims[1]], &[1, 1])?, &[round])?;
            wanted[place as usize] = round;
        }
        same(c.get(data, &Selection::All)?, wanted.clone())?;
    }
    Ok(())
}

fn resized(old: &[i32], from: [u64; 2], to: [u64; 2]) -> Vec<i32> {
    let places = (0..to[0]).flat_map(|row| (0..to[1]).map(move |column| (row, column)));
    let value = |(row, column)| match row < from[0] && column < from[1] {
        true => old[(row * from[1] + column) as usize],
        false => -1,
    };
    places.map(value).collect()
}
