//! Elements that lie far apart in datasets that are large enough to be read on all cores.

use hyperslab::vol::OpRead;
use hyperslab::vol::model::selection::MaskRows;
use hyperslab::{File, Result, Selection};

const DIMS: [u64; 2] = [2000, 1000];

fn numbers() -> Vec<i32> {
    (0..(DIMS[0] * DIMS[1]) as i32).map(|n| n.wrapping_mul(7919)).collect()
}

/// Numbers of elements, in order, about one in a hundred.
fn some() -> Vec<u64> {
    let is_one = |n: &u64| (n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40).is_multiple_of(100);
    (0..DIMS[0] * DIMS[1]).filter(is_one).collect()
}

fn masked(elements: &[u64]) -> Result<Selection> {
    let mut mask = vec![0; (DIMS[0] * DIMS[1]) as usize];
    elements.iter().for_each(|&n| mask[n as usize] = 1);
    Selection::from_mask_rows([MaskRows::new(&DIMS, 0, &mask)?])
}

/// The same elements from the last to the first.
fn points(elements: &[u64]) -> Result<Selection> {
    Selection::points(2, elements.iter().rev().flat_map(|n| [n / DIMS[1], n % DIMS[1]]).collect())
}

fn read(file: &File, name: &str, selection: &Selection) -> Result<Vec<i32>> {
    let mut into = vec![0; selection.element_count(&DIMS)? as usize * size_of::<i32>()];
    let dataset = file.dataset(name)?.token();
    file.container().dataset_read(&mut [OpRead { dataset, selection, into: &mut into }])?;
    Ok(into.as_chunks().0.iter().map(|bytes| i32::from_ne_bytes(*bytes)).collect())
}

#[test]
fn scattered_elements_of_large_datasets_come_in_the_order_of_the_selection() {
    let folder = std::env::temp_dir().join(format!("hyperslab-scattered-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let (path, shape) = (folder.join("x.h5"), (DIMS[0] as usize, DIMS[1] as usize));
    let file = File::create(&path).unwrap();
    for (name, builder) in [
        ("contiguous", file.new_dataset::<i32>().shape(shape)),
        ("chunked", file.new_dataset::<i32>().shape(shape).chunk((300, 170))),
        ("deflated", file.new_dataset::<i32>().shape(shape).chunk((300, 170)).deflate(1)),
    ] {
        builder.create(name).unwrap().write_raw(&numbers()).unwrap();
    }
    file.close().unwrap();
    let (file, elements, numbers) = (File::open(&path).unwrap(), some(), numbers());
    let expected: Vec<i32> = elements.iter().map(|&n| numbers[n as usize]).collect();
    let reversed: Vec<i32> = expected.iter().rev().copied().collect();
    let strided = Selection::hyperslab(&[1, 2], &[3, 5], &[600, 190], &[1, 2]).unwrap();
    let of_strided = strided.runs(&DIMS).unwrap().flat_map(|run| run.offset..run.offset + run.len);
    let of_strided: Vec<i32> = of_strided.map(|n| numbers[n as usize]).collect();
    for name in ["contiguous", "chunked", "deflated"] {
        assert!(read(&file, name, &masked(&elements).unwrap()).unwrap() == expected, "{name}");
        assert!(read(&file, name, &points(&elements).unwrap()).unwrap() == reversed, "{name}");
        assert!(read(&file, name, &strided).unwrap() == of_strided, "{name}");
    }
    drop(file);
    std::fs::remove_dir_all(folder).unwrap();
}
