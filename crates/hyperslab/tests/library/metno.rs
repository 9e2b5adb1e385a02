//! What programs for hdf5-metno use, beyond its own examples (`tests/metno`).

use hyperslab::filters::{Blosc, BloscShuffle, Filter};
use hyperslab::types::{FixedAscii, FixedUnicode, VarLenAscii, VarLenUnicode};
use hyperslab::{Conversion, Extent, Extents, File, H5Type, IndexType, IterationOrder, LinkType, OpenMode};
use ndarray::{Array1, Array2, arr1, arr2, s};
use num_complex::Complex;

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

fn python(script: &str, folder: &std::path::Path) {
    let output =
        std::process::Command::new("python3").args(["-c", script]).current_dir(folder).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[derive(H5Type, Clone, Copy, Debug, PartialEq)]
struct Pair(i32, f64);

#[derive(H5Type, Clone, Debug, PartialEq)]
struct Tagged<T> {
    value: T,
    #[hdf5(rename = "tag name")]
    tag: String,
}

#[derive(H5Type, Clone, Copy, Debug, PartialEq)]
#[repr(transparent)]
struct Metres(f32);

#[test]
fn elements_of_every_kind_read_back() {
    let folder = folder();
    let file = File::create(folder.path().join("f.h5")).unwrap();
    let pairs = [Pair(1, 2.5), Pair(-3, 4.5)];
    assert_eq!(file.write_array("pairs", &pairs).unwrap().read_raw::<Pair>().unwrap(), pairs);
    let tagged = [Tagged { value: 7u16, tag: "seven".to_owned() }];
    assert_eq!(file.write_array("tagged", &tagged).unwrap().read_raw::<Tagged<u16>>().unwrap(), tagged);
    let metres = [Metres(1.5)];
    assert_eq!(file.write_array("metres", &metres).unwrap().read_raw::<f32>().unwrap(), [1.5]);
    let tuples = [(1u8, 2i64, "x".to_owned())];
    assert_eq!(file.write_array("tuples", &tuples).unwrap().read_raw::<(u8, i64, String)>().unwrap(), tuples);
    let complex = [Complex::new(1.0f64, -2.0), Complex::new(0.5, 4.0)];
    assert_eq!(file.write_array("complex", &complex).unwrap().read_raw::<Complex<f64>>().unwrap(), complex);
    let halves = [half::bf16::from_f32(1.5), half::bf16::from_f32(-256.0)];
    assert_eq!(file.write_array("halves", &halves).unwrap().read_raw::<f32>().unwrap(), [1.5, -256.0]);
    let sizes = [3isize, -4];
    assert_eq!(file.write_array("sizes", &sizes).unwrap().read_raw::<isize>().unwrap(), sizes);
    file.close().unwrap();
    let script = "
import h5py, numpy as np
with h5py.File('f.h5') as f:
    assert f['complex'][...].tolist() == [1 - 2j, 0.5 + 4j]
    assert f['pairs']['0'].tolist() == [1, -3] and f['pairs']['1'].tolist() == [2.5, 4.5]
    assert f['tagged'].dtype.names == ('value', 'tag name')
";
    python(script, folder.path());
}

#[test]
fn attributes_are_built_and_strings_set_as_they_are() {
    let folder = folder();
    let file = File::create(folder.path().join("f.h5")).unwrap();
    file.set_attr("unit", "K").unwrap();
    let attr = file.new_attr::<f32>().shape([2, 2]).create("matrix").unwrap();
    attr.write(&arr2(&[[1.0, 2.0], [3.0, 4.0]])).unwrap();
    assert!(attr.write(&arr1(&[1.0f32])).is_err());
    let scalar = file.new_attr::<i64>().create("scalar").unwrap();
    scalar.write_scalar(&42).unwrap();
    file.new_attr_builder().with_data(&[1u8, 2, 3]).create("bytes").unwrap();
    let ascii = VarLenAscii::from_ascii("plain").unwrap();
    file.new_attr::<VarLenAscii>().create("ascii").unwrap().write_scalar(&ascii).unwrap();
    let text: VarLenUnicode = "Grüße".parse().unwrap();
    file.new_attr::<VarLenUnicode>().create("text").unwrap().write_scalar(&text).unwrap();
    let fixed: FixedUnicode<8> = "fixed".parse().unwrap();
    file.new_attr::<FixedUnicode<8>>().create("fixed").unwrap().write_scalar(&fixed).unwrap();
    assert!("much too long".parse::<FixedUnicode<8>>().is_err() && FixedAscii::<4>::from_ascii("ä").is_err());
    assert_eq!(file.attr("unit").unwrap().read_scalar::<VarLenUnicode>().unwrap(), "K");
    assert_eq!(file.attr("matrix").unwrap().read_2d::<f64>().unwrap()[[1, 0]], 3.0);
    assert_eq!(file.attr("bytes").unwrap().as_reader().no_convert().read_raw::<u8>().unwrap(), [1, 2, 3]);
    assert!(file.attr("bytes").unwrap().as_reader().no_convert().read_raw::<u16>().is_err());
    assert_eq!((attr.size(), attr.ndim(), scalar.is_scalar()), (4, 2, true));
    file.close().unwrap();
    let script = "
import h5py
with h5py.File('f.h5') as f:
    a = f.attrs
    assert a['unit'] == 'K' and a['text'] == 'Grüße' and a['ascii'] == 'plain' and a['fixed'] == b'fixed', dict(a)
";
    python(script, folder.path());
}

#[test]
fn extents_slices_and_chunks_are_metnos() {
    let folder = folder();
    let file = File::create(folder.path().join("f.h5")).unwrap();
    let data = file.new_dataset::<i32>().shape((1.., 4)).chunk((2, 4)).create("data").unwrap();
    assert!(data.is_resizable() && data.is_chunked() && data.num_chunks() == Some(0));
    data.resize((6, 4)).unwrap();
    let all = Array2::from_shape_fn((6, 4), |(i, j)| (10 * i + j) as i32);
    data.write(&all).unwrap();
    assert_eq!(data.chunk(), Some(vec![2, 4]));
    assert_eq!((data.num_chunks(), data.size(), data.storage_size()), (Some(3), 24, 96));
    let second = data.chunk_info(1).unwrap();
    assert_eq!(
        (second.offset.as_slice(), second.size, second.disabled_filters().len()),
        (&[2, 0][..], 32, 0)
    );
    assert!(data.chunk_info(3).is_none());
    assert_eq!(data.read_slice_1d::<i32, _>((2, ..)).unwrap(), arr1(&[20, 21, 22, 23]));
    assert_eq!(data.read_slice::<i32, _, ndarray::Ix2>((1..=2, 0..2)).unwrap(), arr2(&[[10, 11], [20, 21]]));
    assert_eq!(data.read_slice_2d::<i32, _>(s![..;3, 3..]).unwrap(), arr2(&[[3], [33]]));
    assert_eq!(data.read_slice_2d::<i32, _>(..).unwrap(), all);
    data.write_slice(&[7, 8], (0, ..2)).unwrap();
    data.as_writer().write_slice(&vec![9], (5, 3..4)).unwrap();
    assert_eq!(data.as_reader().conversion(Conversion::NoOp).read_2d::<i32>().unwrap()[[5, 3]], 9);
    assert!(data.as_reader().no_convert().read_2d::<i64>().is_err());
    let line = file.new_dataset::<u8>().shape(Extent::resizable(3)).create("line").unwrap();
    assert_eq!(line.space().unwrap().max_dims(), [hyperslab::vol::model::UNLIMITED]);
    assert_eq!(line.read_slice_1d::<u8, _>(1..).unwrap().len(), 2);
    let mut buffer = [0u8; 5];
    assert_eq!(line.read_into_raw(&mut buffer).unwrap(), 3);
    let null = file.new_dataset::<u8>().shape(Extents::null()).create("null").unwrap();
    assert_eq!(null.size(), 0);
    data.flush().unwrap();
}

#[test]
fn filters_are_built_by_their_helpers() {
    let folder = folder();
    let file = File::create(folder.path().join("f.h5")).unwrap();
    let values = Array1::from_iter((0..10_000).map(|n| n / 3));
    let build = || file.new_dataset_builder();
    build().blosc_lz4(5, true).with_data(&values).create("blosc").unwrap();
    build().with_data(&values).blosc(Blosc::ZLib, 9, BloscShuffle::Bit).create("zlib").unwrap();
    build().with_data(&values).lzf().create("lzf").unwrap();
    let filters = [Filter::shuffle(), Filter::deflate(4), Filter::fletcher32(), Filter::user(307, &[9])];
    let several = build().with_data(&values).set_filters(&filters).create("several").unwrap();
    assert_eq!(several.filters().iter().map(|f| f.id).collect::<Vec<_>>(), [2, 1, 3, 307]);
    assert!(several.storage_size() < 4000);
    let unknown = build().with_data(&values).add_filter(60_000, &[]).create("unknown");
    assert_eq!(unknown.unwrap_err().kind(), hyperslab::Kind::Unsupported);
    assert!(!file.link_exists("unknown"));
    file.close().unwrap();
    let script = "
import h5py, hdf5plugin, numpy as np
with h5py.File('f.h5') as f:
    for name in f:
        assert np.array_equal(f[name][...], np.arange(10000) // 3), name
";
    python(script, folder.path());
}

#[test]
fn a_level_that_a_build_lacks_is_an_error_of_the_builder() {
    let folder = folder();
    let file = File::create(folder.path().join("f.h5")).unwrap();
    let made = file.new_dataset::<i32>().shape(1000).named_filter("ZSTD=19").create("d");
    match made {
        Ok(data) => assert_eq!(data.filters()[0].values, [19]),
        Err(error) => assert!(error.to_string().contains("c-codecs"), "{error}"),
    }
    assert!(file.new_dataset::<i32>().shape(1000).named_filter("ZSTD=x").create("e").is_err());
}

#[test]
fn files_open_in_every_mode() {
    let folder = folder();
    let path = folder.path().join("f.h5");
    assert!(File::open_as(&path, OpenMode::ReadWrite).is_err());
    File::append(&path).unwrap().create_group("a").unwrap();
    assert!(File::create_excl(&path).is_err());
    let again = File::open_as(&path, OpenMode::Append).unwrap();
    assert_eq!(again.member_names().unwrap(), ["a"]);
    drop(again);
    let newer =
        File::with_options().with_fapl(|p| p.libver_v110()).with_fcpl(|p| p.userblock(512)).create(&path);
    newer.unwrap().create_group("b").unwrap();
    assert_eq!(std::fs::read(&path).unwrap()[512..520], *b"\x89HDF\r\n\x1a\n");
    let inside =
        File::with_options().with_fapl(|p| p.core_filebacked(false)).create("only in memory").unwrap();
    inside.create_group("c").unwrap();
    assert!(!std::path::Path::new("only in memory").exists());
}

#[test]
fn links_are_visited_and_objects_copied() {
    let folder = folder();
    let file = File::create(folder.path().join("f.h5")).unwrap();
    file.write_array("b/data", &[1, 2, 3]).unwrap();
    file.link_soft("b", "a").unwrap();
    let mut seen = Vec::new();
    file.iter_visit(IndexType::Name, IterationOrder::Decreasing, |name, info| {
        seen.push((name.to_owned(), info.link_type));
        Ok(())
    })
    .unwrap();
    assert_eq!(seen, [("b".to_owned(), LinkType::Hard), ("a".to_owned(), LinkType::Soft)]);
    let mut count = 0;
    file.iter_visit_default(|_, _| {
        count += 1;
        Ok(())
    })
    .unwrap();
    assert_eq!(count, 2);
    file.group("b").unwrap().copy_to(&file, "copy/of b").unwrap();
    assert_eq!(file.dataset("copy/of b/data").unwrap().read_raw::<i32>().unwrap(), [1, 2, 3]);
    let other = File::create(folder.path().join("other.h5")).unwrap();
    file.dataset("b/data").unwrap().copy_to(&other, "data").unwrap();
    assert_eq!(other.dataset("data").unwrap().read_1d::<i32>().unwrap().to_vec(), [1, 2, 3]);
}
