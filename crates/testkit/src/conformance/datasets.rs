//! Datasets: layouts, types, whole transfers.

use model::properties::{DatasetCreate, FilterSpec, Layout};
use model::{ByteOrder, Dataspace, Datatype, Kind, Result, Selection, UNLIMITED};
use vol::{Allocation, LinkLocation, OpRead, OpWrite};

use crate::generate::Generator;
use crate::kit::*;
use crate::{Case, Subject};

super::suite! { "datasets":
    |_| true => dataset_info_tells_what_was_made, contiguous_elements_read_back, compact_elements_read_back,
        chunked_elements_read_back, scalar_holds_one_element, null_dataset_holds_nothing, empty_extent_holds_nothing,
        unwritten_elements_read_as_zeros, several_datasets_are_read_at_once, several_datasets_are_written_at_once,
        wrong_buffer_size_is_refused, refused_write_leaves_all_datasets_alone, chunks_of_another_rank_are_refused,
        chunks_without_elements_are_refused, chunks_beyond_a_fixed_extent_are_refused, changing_extent_needs_chunks,
        dataset_under_a_used_name_is_refused, huge_extent_costs_nothing_until_written, eight_dimensions_read_back,
        byte_order_of_the_file_is_kept, rewritten_elements_read_back, every_plain_class_is_kept, type_without_size_is_refused,
        storage_grows_with_what_is_written, dataset_properties_are_kept;
    |c| c.filters => filtered_elements_read_back, few_values_of_a_filter_are_completed,
        unknown_filter_is_refused_unless_optional;
}

fn read_back(c: &mut Case<'_>, create: DatasetCreate) -> Result<()> {
    let data = c.ints_with(c.root()?, "data", space(&[7, 9]), create)?;
    c.put(data, &Selection::All, &counting(63))?;
    same(c.get(data, &Selection::All)?, counting(63))?;
    c.reopen()?;
    let data = vol::path::token(&*c.container, c.root()?, "data", 16)?;
    same(c.get(data, &Selection::All)?, counting(63))
}

fn dataset_info_tells_what_was_made(s: &Subject) -> Result<()> {
    let mut c = s.fresh()?;
    let extent = Dataspace::resizable(&[4, 6], &[UNLIMITED, 12])?;
    c.ints_with(c.root()?, "data", extent.clone(), chunked(&[2, 3]))?;
    c.reopen()?;
    let info = c.dataset_info(vol::path::token(&*c.container, c.root()?, "data", 16)?)?;
    same((&info.datatype, &info.space, info.committed), (&int(), &extent, None))?;
    match &info.create.layout {
        Layout::Chunked { shape, .. } => same(shape.as_slice(), [2, 3]),
        other => holds(false, &format!("chunked: {other:?}")),
    }
}

fn contiguous_elements_read_back(s: &Subject) -> Result<()> {
    read_back(&mut s.fresh()?, DatasetCreate::default())
}

fn compact_elements_read_back(s: &Subject) -> Result<()> {
    read_back(&mut s.fresh()?, DatasetCreate { layout: Layout::Compact, ..DatasetCreate::default() })
}

fn chunked_elements_read_back(s: &Subject) -> Result<()> {
    for shape in [[7, 9], [1, 1], [2, 4], [7, 1], [3, 9]] {
        read_back(&mut s.fresh()?, chunked(&shape))?;
    }
    Ok(())
}

fn scalar_holds_one_element(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    let data = c.ints_with(c.root()?, "d", Dataspace::Scalar, DatasetCreate::default())?;
    same(c.get(data, &Selection::All)?, [0])?;
    c.put(data, &Selection::All, &[9])?;
    same(c.get(data, &Selection::All)?, [9])?;
    same(c.get(data, &Selection::None)?.len(), 0)?;
    same(&c.dataset_info(data)?.space, &Dataspace::Scalar)
}

fn null_dataset_holds_nothing(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    let data = c.ints_with(c.root()?, "d", Dataspace::Null, DatasetCreate::default())?;
    same(c.get(data, &Selection::All)?.len(), 0)?;
    c.put(data, &Selection::All, &[])?;
    fails(c.put(data, &Selection::All, &[1]), Kind::Invalid)?;
    same(&c.dataset_info(data)?.space, &Dataspace::Null)
}

fn empty_extent_holds_nothing(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    for (name, dims) in [("a", &[0][..]), ("b", &[3, 0]), ("c", &[0, 3])] {
        let data = c.ints(c.root()?, name, dims)?;
        c.put(data, &Selection::All, &[])?;
        same(c.get(data, &Selection::All)?.len(), 0)?;
    }
    Ok(())
}

fn unwritten_elements_read_as_zeros(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    for (name, create) in [("plain", DatasetCreate::default()), ("chunks", chunked(&[2, 2]))] {
        let data = c.ints_with(c.root()?, name, space(&[3, 3]), create)?;
        same(c.get(data, &Selection::All)?, [0; 9])?;
        c.put(data, &block(&[1, 1], &[1, 1])?, &[5])?;
        same(c.get(data, &Selection::All)?, [0, 0, 0, 0, 5, 0, 0, 0, 0])?;
    }
    Ok(())
}

fn several_datasets_are_read_at_once(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    let (a, b) = (c.ints(c.root()?, "a", &[2])?, c.ints_with(c.root()?, "b", space(&[3]), chunked(&[2]))?);
    c.put(a, &Selection::All, &[1, 2])?;
    c.put(b, &Selection::All, &[3, 4, 5])?;
    let (mut one, mut two, mut three) = ([0; 8], [0; 4], [0; 12]);
    let last = block(&[1], &[1])?;
    c.dataset_read(&mut [
        OpRead { dataset: a, selection: &Selection::All, into: &mut one },
        OpRead { dataset: a, selection: &last, into: &mut two },
        OpRead { dataset: b, selection: &Selection::All, into: &mut three },
    ])?;
    same((to_ints(&one), to_ints(&two), to_ints(&three)), (vec![1, 2], vec![2], vec![3, 4, 5]))?;
    c.dataset_read(&mut [])
}

fn several_datasets_are_written_at_once(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    let (a, b) = (c.ints(c.root()?, "a", &[2])?, c.ints_with(c.root()?, "b", space(&[3]), chunked(&[2]))?);
    c.dataset_write(&[
        OpWrite { dataset: a, selection: &Selection::All, from: &to_bytes(&[1, 2]) },
        OpWrite { dataset: b, selection: &Selection::All, from: &to_bytes(&[3, 4, 5]) },
        OpWrite { dataset: a, selection: &block(&[0], &[1])?, from: &to_bytes(&[6]) },
    ])?;
    same(c.get(a, &Selection::All)?, [6, 2])?;
    same(c.get(b, &Selection::All)?, [3, 4, 5])
}

fn wrong_buffer_size_is_refused(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    let data = c.ints(c.root()?, "d", &[4])?;
    for len in [0, 15, 17, 20] {
        let mut buffer = vec![0; len];
        let selection = &Selection::All;
        fails(c.dataset_write(&[OpWrite { dataset: data, selection, from: &buffer }]), Kind::Invalid)?;
        fails(c.dataset_read(&mut [OpRead { dataset: data, selection, into: &mut buffer }]), Kind::Invalid)?;
    }
    Ok(())
}

fn refused_write_leaves_all_datasets_alone(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    let (a, b) = (c.ints(c.root()?, "a", &[2])?, c.ints(c.root()?, "b", &[2])?);
    let selection = &Selection::All;
    let writes = [
        OpWrite { dataset: a, selection, from: &to_bytes(&[1, 2]) },
        OpWrite { dataset: b, selection, from: &to_bytes(&[3]) },
    ];
    fails(c.dataset_write(&writes), Kind::Invalid)?;
    same(c.get(a, selection)?, [0, 0])
}

fn refused(s: &Subject, dims: &[u64], max: &[u64], create: DatasetCreate) -> Result<()> {
    let c = s.fresh()?;
    fails(c.ints_with(c.root()?, "d", Dataspace::resizable(dims, max)?, create), Kind::Invalid)?;
    same(c.link_get(c.root()?, "d")?, None)
}

fn chunks_of_another_rank_are_refused(s: &Subject) -> Result<()> {
    refused(s, &[4, 4], &[4, 4], chunked(&[2]))?;
    refused(s, &[4], &[4], chunked(&[2, 2]))?;
    refused(s, &[], &[], chunked(&[]))
}

fn chunks_without_elements_are_refused(s: &Subject) -> Result<()> {
    refused(s, &[4, 4], &[4, 4], chunked(&[2, 0]))
}

fn chunks_beyond_a_fixed_extent_are_refused(s: &Subject) -> Result<()> {
    refused(s, &[4], &[4], chunked(&[5]))?;
    let c = s.fresh()?;
    c.ints_with(c.root()?, "d", Dataspace::resizable(&[1], &[UNLIMITED])?, chunked(&[5])).map(|_| ())
}

fn changing_extent_needs_chunks(s: &Subject) -> Result<()> {
    refused(s, &[4], &[8], DatasetCreate::default())?;
    refused(s, &[4], &[UNLIMITED], DatasetCreate { layout: Layout::Compact, ..DatasetCreate::default() })
}

fn dataset_under_a_used_name_is_refused(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    let data = c.ints(c.root()?, "d", &[1])?;
    c.put(data, &Selection::All, &[1])?;
    fails(c.ints(c.root()?, "d", &[2]), Kind::Exists)?;
    same(c.get(data, &Selection::All)?, [1])
}

fn huge_extent_costs_nothing_until_written(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    let extent = Dataspace::simple(&[1 << 20, 1 << 20])?;
    let data = c.ints_with(c.root()?, "d", extent, chunked(&[64, 64]))?;
    let corner = block(&[(1 << 20) - 2, (1 << 20) - 3], &[2, 3])?;
    c.put(data, &corner, &counting(6))?;
    same(c.get(data, &corner)?, counting(6))?;
    same(c.get(data, &block(&[1 << 19, 5], &[2, 2])?)?, [0; 4])?;
    same(c.dataset_info(data)?.space.element_count()?, 1 << 40)
}

fn eight_dimensions_read_back(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    let dims = [2, 1, 3, 2, 1, 2, 3, 2];
    for (name, create) in
        [("plain", DatasetCreate::default()), ("chunks", chunked(&[1, 1, 2, 2, 1, 1, 2, 1]))]
    {
        let data = c.ints_with(c.root()?, name, space(&dims), create)?;
        c.put(data, &Selection::All, &counting(144))?;
        same(c.get(data, &Selection::All)?, counting(144))?;
        same(c.get(data, &block(&[1, 0, 2, 1, 0, 1, 2, 1], &[1; 8])?)?, [143])?;
    }
    Ok(())
}

fn byte_order_of_the_file_is_kept(s: &Subject) -> Result<()> {
    let mut c = s.fresh()?;
    for order in [ByteOrder::Little, ByteOrder::Big] {
        let datatype = Datatype::integer(2, true, order);
        let data = c.dataset(c.root()?, &format!("{order:?}"), &datatype, &[2])?;
        c.dataset_write(&[OpWrite { dataset: data, selection: &Selection::All, from: &[1, 2, 3, 4] }])?;
    }
    c.reopen()?;
    for order in [ByteOrder::Little, ByteOrder::Big] {
        let data = vol::path::token(&*c.container, c.root()?, &format!("{order:?}"), 16)?;
        same(&c.dataset_info(data)?.datatype, &Datatype::integer(2, true, order))?;
        let mut bytes = [0; 4];
        c.dataset_read(&mut [OpRead { dataset: data, selection: &Selection::All, into: &mut bytes }])?;
        same(bytes, [1, 2, 3, 4])?;
    }
    Ok(())
}

fn rewritten_elements_read_back(s: &Subject) -> Result<()> {
    let mut c = s.fresh()?;
    let data = c.ints_with(c.root()?, "d", space(&[10]), chunked(&[4]))?;
    for round in 0..5 {
        c.put(data, &Selection::All, &[round; 10])?;
        c.commit(vol::Durability::None)?;
    }
    c.reopen()?;
    let data = vol::path::token(&*c.container, c.root()?, "d", 16)?;
    same(c.get(data, &Selection::All)?, [4; 10])
}

fn every_plain_class_is_kept(s: &Subject) -> Result<()> {
    let mut c = s.fresh()?;
    let mut generator = Generator::new(1);
    let types: Vec<Datatype> = (0..40).map(|_| generator.plain_datatype(3)).collect();
    for (n, datatype) in types.iter().enumerate() {
        c.dataset(c.root()?, &n.to_string(), datatype, &[2])?;
    }
    c.reopen()?;
    for (n, datatype) in types.iter().enumerate() {
        let data = vol::path::token(&*c.container, c.root()?, &n.to_string(), 16)?;
        same(&c.dataset_info(data)?.datatype, datatype)?;
    }
    Ok(())
}

fn type_without_size_is_refused(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    let nothing = Datatype::array(&[0], int());
    fails(c.dataset(c.root()?, "d", &nothing, &[1]), Kind::Invalid)?;
    same(c.group_info(c.root()?)?.links, 0)
}

fn storage_grows_with_what_is_written(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    let data = c.ints_with(c.root()?, "d", space(&[4, 4]), chunked(&[2, 2]))?;
    same(c.dataset_storage(data)?.allocation, Allocation::None)?;
    c.put(data, &block(&[0, 0], &[1, 1])?, &[1])?;
    c.commit(vol::Durability::None)?;
    same(c.dataset_storage(data)?.allocation, Allocation::Part)?;
    c.put(data, &Selection::All, &counting(16))?;
    c.commit(vol::Durability::None)?;
    let storage = c.dataset_storage(data)?;
    same((storage.allocation, storage.bytes), (Allocation::Full, 64))
}

fn dataset_properties_are_kept(s: &Subject) -> Result<()> {
    let mut c = s.fresh()?;
    let create = DatasetCreate { alloc_time: model::properties::AllocTime::Late, ..DatasetCreate::default() };
    c.ints_with(c.root()?, "d", space(&[2]), create.clone())?;
    c.reopen()?;
    let found = c.dataset_info(vol::path::token(&*c.container, c.root()?, "d", 16)?)?.create.clone();
    same((found.alloc_time, found.layout, found.filters), (create.alloc_time, create.layout, create.filters))
}

fn filtered_elements_read_back(s: &Subject) -> Result<()> {
    let mut c = s.fresh()?;
    // Shuffle and Fletcher32: the two filters that every HDF5 library has and that need no compressor.
    let filter = |id, values| FilterSpec { id, name: None, optional: false, values };
    let create = DatasetCreate { filters: vec![filter(2, vec![4]), filter(3, vec![])], ..chunked(&[3, 4]) };
    c.dataset_create(&dataset_op(LinkLocation::new(c.root()?, "data"), int(), space(&[7, 9]), create))?;
    let data = vol::path::token(&*c.container, c.root()?, "data", 16)?;
    c.put(data, &Selection::All, &counting(63))?;
    c.reopen()?;
    let data = vol::path::token(&*c.container, c.root()?, "data", 16)?;
    same(c.get(data, &Selection::All)?, counting(63))?;
    let ids: Vec<u16> = c.dataset_info(data)?.create.filters.iter().map(|filter| filter.id).collect();
    same(ids, [2, 3])
}

fn filter(id: u16, optional: bool, values: &[u32]) -> FilterSpec {
    FilterSpec { id, name: None, optional, values: values.to_vec() }
}

/// Filters of registered numbers hold what their own libraries store at creation: readers lean on it.
fn few_values_of_a_filter_are_completed(s: &Subject) -> Result<()> {
    let mut c = s.fresh()?;
    let blosc2 = [1, 0, 4, 48, 5, 1, 0, 2, 3, 4];
    let cases: [(u16, &[u32], &[u32]); 4] = [
        (32001, &[], &[2, 2, 4, 48]),
        (32001, &[0, 0, 0, 0, 9, 2], &[2, 2, 4, 48, 9, 2]),
        (32026, &[], &blosc2),
        (32008, &[0, 2], &[0, 4, 4, 0, 2]),
    ];
    for (n, (id, given, _)) in cases.iter().enumerate() {
        let create = DatasetCreate { filters: vec![filter(*id, true, given)], ..chunked(&[3, 4]) };
        let data = c.ints_with(c.root()?, &n.to_string(), space(&[7, 9]), create)?;
        c.put(data, &Selection::All, &counting(63))?;
    }
    c.reopen()?;
    for (n, (id, _, stored)) in cases.iter().enumerate() {
        let data = vol::path::token(&*c.container, c.root()?, &n.to_string(), 16)?;
        same(c.get(data, &Selection::All)?, counting(63))?;
        let found = c.dataset_info(data)?.create.filters[0].clone();
        same((found.id, found.values.as_slice()), (*id, *stored))?;
    }
    Ok(())
}

/// A dataset that could never be written is not made. One that keeps filters without applying them can be written.
fn unknown_filter_is_refused_unless_optional(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    let create =
        |optional| DatasetCreate { filters: vec![filter(60_000, optional, &[])], ..chunked(&[3, 4]) };
    match c.ints_with(c.root()?, "mandatory", space(&[7, 9]), create(false)) {
        Ok(data) => c.put(data, &Selection::All, &counting(63))?,
        Err(error) => {
            same(error.kind(), Kind::Unsupported)?;
            same(c.link_get(c.root()?, "mandatory")?.is_none(), true)?;
        }
    }
    let data = c.ints_with(c.root()?, "optional", space(&[7, 9]), create(true))?;
    c.put(data, &Selection::All, &counting(63))?;
    same(c.get(data, &Selection::All)?, counting(63))
}
