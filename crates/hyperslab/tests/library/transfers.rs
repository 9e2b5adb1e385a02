//! Transfers of many strips: converted by several threads, scattered and gathered.

use hyperslab::vol::algorithms::transfer::{Elements, Memory};
use hyperslab::vol::model::datatype::{Compound, Member};
use hyperslab::vol::model::{ByteOrder, Heap, Selection};
use hyperslab::{Dataset, Datatype, File, H5Type, Result};

/// A file of this process, gone when the test ends.
struct Scratch(std::path::PathBuf);

impl Scratch {
    fn new(name: &str) -> Scratch {
        Scratch(std::env::temp_dir().join(format!("hyperslab-{name}-{}.h5", std::process::id())))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

fn numbers(count: usize) -> Vec<f64> {
    (0..count).map(|n| n as f64 - 1000.0).collect()
}

fn round_trip(dataset: &Dataset, count: usize) -> Result<()> {
    let values = numbers(count);
    dataset.write_raw(&values)?;
    assert!(dataset.read_raw::<f64>()? == values);
    let narrow: Vec<i16> = dataset.read_raw()?;
    assert!(narrow.iter().zip(&values).all(|(a, b)| *a == *b as i16));
    Ok(())
}

#[test]
fn converted_strips_arrive_where_they_belong() -> Result<()> {
    let scratch = Scratch::new("strips");
    let file = File::create(&scratch.0)?;
    let types = [Datatype::ieee_f32(ByteOrder::Big), Datatype::integer(4, true, ByteOrder::Big)];
    for (n, datatype) in types.iter().enumerate() {
        for count in [0, 1, 262_145, 524_287, 524_288, 524_289, 1_700_003] {
            let flat =
                file.new_dataset_as(datatype.clone()).shape(count).create(&format!("flat{n}-{count}"))?;
            round_trip(&flat, count)?;
        }
        let chunked = file.new_dataset_as(datatype.clone()).shape((2111, 701)).chunk((100, 64)).deflate(1);
        round_trip(&chunked.create(&format!("chunked{n}"))?, 2111 * 701)?;
        // A row of chunks takes more than a strip may.
        let wide = file.new_dataset_as(datatype.clone()).shape((600, 9000)).chunk((600, 500));
        round_trip(&wide.create(&format!("wide{n}"))?, 600 * 9000)?;
    }
    file.close()
}

#[test]
fn members_and_gaps_of_compounds_survive_many_strips() -> Result<()> {
    let member = |name: &str, offset, datatype| Member { name: name.to_owned(), offset, datatype };
    let record = |size, at: [u32; 3]| {
        let types = [i32::datatype(), f64::datatype(), u8::datatype()];
        let members = ["id", "value", "flag"].into_iter().zip(at).zip(types);
        let members = members.map(|((name, at), datatype)| member(name, at, datatype)).collect();
        Datatype::Compound(Compound { size, members })
    };
    let (memory, packed) = (record(24, [0, 8, 16]), record(13, [0, 4, 12]));
    let count = 300_007;
    let bytes: Vec<u8> = (0..count * 24).map(|n| (n * 31 % 251) as u8).collect();
    let scratch = Scratch::new("compounds");
    let file = File::create(&scratch.0)?;
    let dataset = file.new_dataset_as(packed).shape(count).create("records")?;
    dataset.write_bytes(&Selection::All, &memory, &bytes, &mut Heap::new())?;
    let found = dataset.read_bytes(&Selection::All, &memory, &mut Heap::new())?;
    for (found, expected) in found.chunks_exact(24).zip(bytes.chunks_exact(24)) {
        let gaps = [&found[4..8], &found[17..]].concat();
        assert!(gaps.iter().all(|&b| b == 0));
        assert_eq!([&found[..4], &found[8..17]], [&expected[..4], &expected[8..17]]);
    }
    let one = Datatype::Compound(Compound { size: 8, members: vec![member("value", 0, f64::datatype())] });
    let values = dataset.read_bytes(&Selection::All, &one, &mut Heap::new())?;
    assert!(values.chunks_exact(8).zip(bytes.chunks_exact(24)).all(|(a, b)| a == &b[8..16]));
    // One member is written alone: the others stay.
    dataset.write_bytes(&Selection::All, &one, &vec![7; count * 8], &mut Heap::new())?;
    let found = dataset.read_bytes(&Selection::All, &memory, &mut Heap::new())?;
    assert!(
        found
            .chunks_exact(24)
            .zip(bytes.chunks_exact(24))
            .all(|(a, b)| a[..4] == b[..4] && a[8..16] == [7; 8] && a[16] == b[16])
    );
    file.close()
}

#[test]
fn every_other_element_of_a_buffer_is_read_and_written_in_strips() -> Result<()> {
    let scratch = Scratch::new("scattered");
    let file = File::create(&scratch.0)?;
    let count = 5_000_011;
    for (name, datatype) in [("same", i32::datatype()), ("big", Datatype::integer(4, true, ByteOrder::Big))] {
        let dataset = file.new_dataset_as(datatype).shape(count).create(name)?;
        let (conversions, info) = (Default::default(), dataset.dataset_info());
        let elements = Elements {
            container: dataset.container().as_ref(),
            dataset: dataset.token(),
            file_type: &info.datatype,
            space: &info.space,
            selection: &Selection::All,
            conversions: &conversions,
            transfer: hyperslab::Transfer::Independent,
        };
        let dims = [2 * count as u64];
        let odd = Selection::hyperslab(&[1], &[2], &[count as u64], &[1])?;
        let memory = Memory { datatype: &i32::datatype(), dims: &dims, selection: &odd };
        let buffer: Vec<u8> = (0..2 * count as i32).flat_map(i32::to_ne_bytes).collect();
        elements.write_gathered(&memory, &buffer, &mut Heap::new())?;
        let written: Vec<i32> = dataset.read_raw()?;
        assert!(written.iter().enumerate().all(|(n, &value)| value == 2 * n as i32 + 1));
        let mut into = vec![0xff; buffer.len()];
        elements.read_scattered(&memory, &mut into, &mut Heap::new())?;
        assert!(
            into.chunks_exact(8)
                .zip(buffer.chunks_exact(8))
                .all(|(a, b)| a[..4] == [0xff; 4] && a[4..] == b[4..])
        );
    }
    file.close()
}

/// Elements where the mask is true, by reading all.
fn check_mask<T: H5Type + PartialEq>(dataset: &Dataset, wanted: impl Fn(usize) -> bool) -> Result<()> {
    let mut n = 0;
    let mask = ndarray::ArrayD::from_shape_fn(dataset.shape(), |_| {
        n += 1;
        wanted(n - 1)
    });
    let all: Vec<T> = dataset.read_raw()?;
    let expected: Vec<T> =
        all.into_iter().zip(&mask).filter(|(_, wanted)| **wanted).map(|(v, _)| v).collect();
    assert!(dataset.read_mask::<T>(&mask)?.into_raw_vec_and_offset().0 == expected);
    Ok(())
}

#[test]
fn masks_dense_and_sparse_give_what_they_want() -> Result<()> {
    let scratch = Scratch::new("masks");
    let file = File::create(&scratch.0)?;
    let shapes: [(&str, &[usize], &[usize]); 4] = [
        ("line", &[3001], &[]),
        ("plane", &[300, 201], &[]),
        ("chunked", &[211, 190], &[32, 50]),
        ("solid", &[20, 33, 17], &[7, 7, 7]),
    ];
    for (name, shape, chunk) in shapes {
        let builder = file.new_dataset::<u32>().shape(shape);
        let builder = if chunk.is_empty() { builder } else { builder.chunk(chunk) };
        let dataset = builder.create(name)?;
        let count: usize = shape.iter().product();
        dataset.write_raw(&(0..count as u32).collect::<Vec<_>>())?;
        check_mask::<u32>(&dataset, |_| false)?;
        check_mask::<u32>(&dataset, |_| true)?;
        check_mask::<u32>(&dataset, |n| n == count - 1)?;
        check_mask::<u32>(&dataset, |n| (400..450).contains(&n))?;
        for thin in [2, 3, 10, 97] {
            let scattered = |n: usize| n.wrapping_mul(0x9e37_79b9) >> 7 & 0xffff_ffff;
            check_mask::<u32>(&dataset, |n| scattered(n) % thin == 0)?;
            check_mask::<f64>(&dataset, |n| n > 100 && scattered(n) % thin == 0)?;
            check_mask::<u8>(&dataset, |n| n < count - 150 && scattered(n) % thin == 0)?;
            check_mask::<usize>(&dataset, |n| scattered(n) % thin == 0)?;
        }
    }
    let scalar = file.new_dataset::<u32>().shape(()).create("scalar")?;
    scalar.write_scalar(&7u32)?;
    check_mask::<u32>(&scalar, |_| true)?;
    check_mask::<u32>(&scalar, |_| false)?;
    assert!(scalar.read_mask::<u32>(&ndarray::ArrayD::from_elem(vec![2], true)).is_err());
    file.close()
}

#[test]
fn a_mask_larger_than_a_strip_is_read_in_strips() -> Result<()> {
    let scratch = Scratch::new("large-mask");
    let file = File::create(&scratch.0)?;
    let dataset = file.new_dataset::<f64>().shape((1500, 1000)).create("x")?;
    dataset.write_raw(&numbers(1_500_000))?;
    check_mask::<f64>(&dataset, |n| n % 3 == 1)?;
    check_mask::<f32>(&dataset, |n| n > 1_400_000 && n % 7 == 1)?;
    file.close()
}

#[derive(H5Type, Clone, Debug, PartialEq)]
struct Sample {
    id: i32,
    place: [f64; 3],
    name: String,
    flag: bool,
}

#[test]
fn derived_values_are_loaded_strip_by_strip() -> Result<()> {
    let scratch = Scratch::new("derived");
    let file = File::create(&scratch.0)?;
    assert_eq!(Sample::element_bytes(), Sample::datatype().size() as usize);
    assert_eq!(<[u16; 5]>::element_bytes(), 10);
    assert_eq!(String::element_bytes(), String::datatype().size() as usize);
    let sample = |n: usize| Sample {
        id: n as i32,
        place: [n as f64; 3],
        name: format!("sample {}", n % 7),
        flag: n.is_multiple_of(3),
    };
    let samples: Vec<Sample> = (0..400_000).map(sample).collect();
    let dataset = file.new_dataset::<Sample>().shape(samples.len()).create("samples")?;
    dataset.write_raw(&samples)?;
    assert!(dataset.read_raw::<Sample>()? == samples);
    let part = Selection::block(&[17], &[1000])?;
    let mut some = vec![sample(0); 1000];
    dataset.read_selection_into(&part, &mut some)?;
    assert!(some == samples[17..1017]);
    assert!(dataset.read_selection_into(&part, &mut some[1..]).is_err());
    let none = file.new_dataset::<Sample>().shape(0).create("none")?;
    assert!(none.read_raw::<Sample>()?.is_empty());
    file.close()
}

#[test]
fn what_was_never_written_reads_as_zeros_wherever_it_lies() -> Result<()> {
    let scratch = Scratch::new("blank");
    let file = File::create(&scratch.0)?;
    let one = Selection::block(&[5], &[1])?;
    let only_one = |values: &[i32]| values.iter().enumerate().all(|(n, &v)| v == if n == 5 { 7 } else { 0 });
    for (n, count) in [100usize, 50, 3000, 100_000, 70_000].into_iter().enumerate() {
        // Space that was used and given up, in the file or still on its way there.
        let name = format!("old{n}");
        let old = file.new_dataset::<i32>().shape(count).create(&name)?;
        old.write_raw(&vec![-1; count])?;
        drop(old);
        file.unlink(&name)?;
        let new = file.new_dataset::<i32>().shape(count).create(&format!("new{n}"))?;
        new.write_selection(&one, &[7])?;
        assert!(only_one(&new.read_raw::<i32>()?));
    }
    file.close()?;
    let file = File::open(&scratch.0)?;
    for n in 0..5 {
        assert!(only_one(&file.dataset(&format!("new{n}"))?.read_raw::<i32>()?));
    }
    Ok(())
}
