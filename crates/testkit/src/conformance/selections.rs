//! Parts of datasets: hyperslabs, points, unions, on both sides of a transfer.

use algorithms::transfer::{Elements, Memory};
use model::convert::Conversions;
use model::heap::Heap;
use model::properties::DatasetCreate;
use model::selection::SetOp;
use model::{Kind, Result, Selection, Token, UNLIMITED};

use crate::generate::Generator;
use crate::kit::*;
use crate::{Case, Subject};

super::suite! { "selections":
    |_| true => block_reads_its_elements, block_writes_only_its_elements, strided_blocks_read_in_order,
        strided_blocks_write_only_their_elements, points_read_in_their_order, points_may_repeat, points_write_in_their_order,
        last_of_repeated_points_wins, union_of_blocks_reads_in_c_order, difference_of_blocks_writes_only_its_elements,
        no_elements_transfer_nothing, selection_beyond_the_extent_is_refused, selection_of_another_rank_is_refused,
        blocks_cross_chunks, unlimited_selection_ends_with_the_extent, memory_selection_scatters, memory_selection_gathers,
        selections_of_different_sizes_are_refused, random_selections_read_as_a_plain_array_does,
        random_selections_write_as_a_plain_array_does, single_elements_of_edge_chunks_are_reached;
}

/// Returns a 6 by 8 dataset of counting numbers, in both layouts.
fn both(s: &Subject) -> Result<(Case<'_>, [Token; 2])> {
    let c = s.fresh()?;
    let plain = c.ints(c.root()?, "plain", &[6, 8])?;
    let chunks = c.ints_with(c.root()?, "chunks", space(&[6, 8]), chunked(&[4, 3]))?;
    for data in [plain, chunks] {
        c.put(data, &Selection::All, &counting(48))?;
    }
    Ok((c, [plain, chunks]))
}

fn reads(s: &Subject, selection: &Selection, wanted: &[i32]) -> Result<()> {
    let (c, datasets) = both(s)?;
    for data in datasets {
        same(c.get(data, selection)?, wanted)?;
    }
    Ok(())
}

/// Writes negative numbers and expects them at these places only.
fn writes(s: &Subject, selection: &Selection, places: &[usize]) -> Result<()> {
    let (c, datasets) = both(s)?;
    let values: Vec<i32> = (1..=places.len() as i32).map(|n| -n).collect();
    let mut wanted = counting(48);
    for (&place, value) in places.iter().zip(&values) {
        wanted[place] = *value;
    }
    for data in datasets {
        c.put(data, selection, &values)?;
        same(c.get(data, &Selection::All)?, wanted.clone())?;
    }
    Ok(())
}

fn block_reads_its_elements(s: &Subject) -> Result<()> {
    reads(s, &block(&[1, 2], &[2, 3])?, &[10, 11, 12, 18, 19, 20])
}

fn block_writes_only_its_elements(s: &Subject) -> Result<()> {
    writes(s, &block(&[3, 6], &[3, 2])?, &[30, 31, 38, 39, 46, 47])
}

fn strided_blocks_read_in_order(s: &Subject) -> Result<()> {
    let strided = Selection::hyperslab(&[0, 1], &[3, 4], &[2, 2], &[2, 1])?;
    reads(s, &strided, &[1, 5, 9, 13, 25, 29, 33, 37])
}

fn strided_blocks_write_only_their_elements(s: &Subject) -> Result<()> {
    let strided = Selection::hyperslab(&[0, 1], &[3, 4], &[2, 2], &[2, 1])?;
    writes(s, &strided, &[1, 5, 9, 13, 25, 29, 33, 37])
}

fn points_read_in_their_order(s: &Subject) -> Result<()> {
    reads(s, &Selection::points(2, vec![5, 7, 0, 0, 2, 3, 0, 1])?, &[47, 0, 19, 1])
}

fn points_may_repeat(s: &Subject) -> Result<()> {
    reads(s, &Selection::points(2, vec![1, 1, 1, 1, 0, 0, 1, 1])?, &[9, 9, 0, 9])
}

fn points_write_in_their_order(s: &Subject) -> Result<()> {
    writes(s, &Selection::points(2, vec![5, 7, 0, 0, 2, 3])?, &[47, 0, 19])
}

fn last_of_repeated_points_wins(s: &Subject) -> Result<()> {
    writes(s, &Selection::points(2, vec![1, 1, 0, 0, 1, 1])?, &[9, 0, 9])
}

fn union_of_blocks_reads_in_c_order(s: &Subject) -> Result<()> {
    let union = Selection::union_of_blocks(2, &[0, 0, 1, 1, 1, 1, 2, 2])?;
    reads(s, &union, &[0, 1, 8, 9, 10, 17, 18])
}

fn difference_of_blocks_writes_only_its_elements(s: &Subject) -> Result<()> {
    let ring = block(&[1, 1], &[3, 3])?.combine(SetOp::NotB, &block(&[2, 2], &[1, 1])?, &[6, 8])?;
    writes(s, &ring, &[9, 10, 11, 17, 19, 25, 26, 27])
}

fn no_elements_transfer_nothing(s: &Subject) -> Result<()> {
    reads(s, &Selection::None, &[])?;
    writes(s, &Selection::None, &[])
}

fn selection_beyond_the_extent_is_refused(s: &Subject) -> Result<()> {
    let (c, datasets) = both(s)?;
    for data in datasets {
        for selection in
            [block(&[5, 0], &[2, 1])?, Selection::points(2, vec![0, 8])?, block(&[9, 9], &[1, 1])?]
        {
            fails(c.get(data, &selection), Kind::Invalid)?;
            let count = selection.element_count(&[6, 8])? as usize;
            fails(c.put(data, &selection, &vec![0; count]), Kind::Invalid)?;
        }
        same(c.get(data, &Selection::All)?, counting(48))?;
    }
    Ok(())
}

fn selection_of_another_rank_is_refused(s: &Subject) -> Result<()> {
    let (c, datasets) = both(s)?;
    for data in datasets {
        let selection = block(&[0], &[4])?;
        fails(c.put(data, &selection, &[1, 2, 3, 4]), Kind::Invalid)?;
        let mut buffer = [0; 16];
        let read = vol::OpRead { dataset: data, selection: &selection, into: &mut buffer };
        fails(c.dataset_read(&mut [read]), Kind::Invalid)?;
    }
    Ok(())
}

fn blocks_cross_chunks(s: &Subject) -> Result<()> {
    let places: Vec<usize> = (2..6).flat_map(|row| (1..8).map(move |column| row * 8 + column)).collect();
    writes(s, &block(&[2, 1], &[4, 7])?, &places)
}

fn unlimited_selection_ends_with_the_extent(s: &Subject) -> Result<()> {
    let unlimited = Selection::hyperslab(&[1, 2], &[2, 1], &[UNLIMITED, 1], &[1, 2])?;
    reads(s, &unlimited, &[10, 11, 26, 27, 42, 43])
}

fn with_memory<T>(
    c: &Case<'_>,
    dataset: Token,
    selection: &Selection,
    run: impl FnOnce(&Elements<'_>) -> Result<T>,
) -> Result<T> {
    let (info, conversions) = (c.dataset_info(dataset)?, Conversions::default());
    let (file_type, space) = (&info.datatype, &info.space);
    run(&Elements {
        container: &*c.container,
        dataset,
        file_type,
        space,
        selection,
        conversions: &conversions,
        transfer: vol::Transfer::Independent,
    })
}

fn memory_selection_scatters(s: &Subject) -> Result<()> {
    let (c, datasets) = both(s)?;
    let (datatype, into) = (int(), Selection::hyperslab(&[1], &[3], &[4], &[1])?);
    let memory = Memory { datatype: &datatype, dims: &[12], selection: &into };
    for data in datasets {
        let mut buffer = to_bytes(&[-1; 12]);
        with_memory(&c, data, &block(&[2, 2], &[2, 2])?, |elements| {
            elements.read_scattered(&memory, &mut buffer, &mut Heap::new())
        })?;
        same(to_ints(&buffer), [-1, 18, -1, -1, 19, -1, -1, 26, -1, -1, 27, -1])?;
    }
    Ok(())
}

fn memory_selection_gathers(s: &Subject) -> Result<()> {
    let (c, datasets) = both(s)?;
    let (datatype, from) = (int(), Selection::points(1, vec![3, 0, 2])?);
    let memory = Memory { datatype: &datatype, dims: &[4], selection: &from };
    for data in datasets {
        with_memory(&c, data, &block(&[0, 0], &[1, 3])?, |elements| {
            elements.write_gathered(&memory, &to_bytes(&[100, 101, 102, 103]), &mut Heap::new())
        })?;
        same(c.get(data, &block(&[0, 0], &[1, 4])?)?, [103, 100, 102, 3])?;
    }
    Ok(())
}

fn selections_of_different_sizes_are_refused(s: &Subject) -> Result<()> {
    let (c, [data, _]) = both(s)?;
    let datatype = int();
    let memory = Memory { datatype: &datatype, dims: &[4], selection: &Selection::All };
    let read = with_memory(&c, data, &block(&[0, 0], &[1, 3])?, |elements| {
        elements.read_scattered(&memory, &mut [0; 16], &mut Heap::new())
    });
    fails(read, Kind::Invalid)
}

/// Element numbers of a selection, in its order.
fn places(selection: &Selection, dims: &[u64]) -> Result<Vec<usize>> {
    Ok(selection.runs(dims)?.flat_map(|run| run.offset as usize..(run.offset + run.len) as usize).collect())
}

fn random_selections_read_as_a_plain_array_does(s: &Subject) -> Result<()> {
    let (c, datasets) = both(s)?;
    let mut generator = Generator::new(2);
    for _ in 0..60 {
        let selection = generator.selection(&[6, 8]);
        let wanted: Vec<i32> = places(&selection, &[6, 8])?.into_iter().map(|place| place as i32).collect();
        for data in datasets {
            same(c.get(data, &selection)?, wanted.clone())?;
        }
    }
    Ok(())
}

fn random_selections_write_as_a_plain_array_does(s: &Subject) -> Result<()> {
    let (c, datasets) = both(s)?;
    let (mut generator, mut wanted) = (Generator::new(3), counting(48));
    for round in 0..60 {
        let selection = generator.selection(&[6, 8]);
        let places = places(&selection, &[6, 8])?;
        let values: Vec<i32> = (0..places.len() as i32).map(|n| 1000 * round + n).collect();
        for (place, value) in places.into_iter().zip(&values) {
            wanted[place] = *value;
        }
        for data in datasets {
            c.put(data, &selection, &values)?;
            same(c.get(data, &Selection::All)?, wanted.clone())?;
        }
    }
    Ok(())
}

fn single_elements_of_edge_chunks_are_reached(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    let create: DatasetCreate = chunked(&[3, 4, 5]);
    let data = c.ints_with(c.root()?, "d", space(&[4, 5, 6]), create)?;
    for n in 0..120u64 {
        c.put(data, &block(&[n / 30, n / 6 % 5, n % 6], &[1, 1, 1])?, &[n as i32])?;
    }
    same(c.get(data, &Selection::All)?, counting(120))
}
