//! What all workloads share: numbers to write, and files.

use hyperslab::vol::model::properties::FileCreate;
use hyperslab::{Durability, FileAccess, LibVersion};

use crate::Outcome;

/// A generator of numbers that look random and are the same in every run.
pub(crate) struct Numbers(u64);

impl Numbers {
    pub(crate) fn new(seed: u64) -> Numbers {
        Numbers(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 11
    }

    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }
}

/// Something like a measurement: a smooth curve with noise in its last digits.
pub(crate) fn measurements(count: usize) -> Vec<f32> {
    let mut noise = Numbers::new(7);
    let value = |n: usize| {
        let smooth = 280.0 + 20.0 * (n as f64 * 1e-4).sin() + 3.0 * (n as f64 * 7e-3).cos();
        ((smooth + (noise.below(100) as f64) * 1e-3) * 1e3).round() / 1e3
    };
    (0..count).map(value).map(|v| v as f32).collect()
}

/// Numbers that count up, for workloads that do not look at them.
pub(crate) fn ramp(count: usize) -> Vec<f32> {
    (0..count).map(|n| n as f32).collect()
}

/// A new file of ours. libhdf5 syncs nothing when it closes a file, so neither does this one.
pub(crate) fn create(path: &str) -> Outcome<hyperslab::File> {
    create_as(path, LibVersion::default())
}

/// The same, of a generation.
pub(crate) fn create_as(path: &str, version_low: LibVersion) -> Outcome<hyperslab::File> {
    std::fs::remove_file(path).ok();
    let access = FileAccess { durability: Durability::None, version_low, ..FileAccess::write() };
    Ok(hyperslab::File::create_with(path, &FileCreate::default(), &access, true)?)
}

/// A file of ours, to change it.
pub(crate) fn open_rw(path: &str) -> Outcome<hyperslab::File> {
    let access = FileAccess { durability: Durability::None, ..FileAccess::write() };
    Ok(hyperslab::File::open_with(path, &access)?)
}

/// A new file of libhdf5's.
pub(crate) fn create_theirs(path: &str) -> Outcome<hdf5::File> {
    std::fs::remove_file(path).ok();
    Ok(hdf5::File::create(path)?)
}

/// Whether libhdf5 reads the same values from both files.
pub(crate) fn same<T: hdf5::H5Type + PartialEq>(theirs: &str, ours: &str, dataset: &str) -> Outcome<bool> {
    let read =
        |path: &str| -> Outcome<Vec<T>> { Ok(hdf5::File::open(path)?.dataset(dataset)?.read_raw::<T>()?) };
    Ok(read(theirs)? == read(ours)?)
}

/// The bytes of floats.
pub(crate) fn bytes_of(values: &[f32]) -> &[u8] {
    // SAFETY: floats have no padding, and any bytes may be looked at.
    unsafe { std::slice::from_raw_parts(values.as_ptr().cast(), size_of_val(values)) }
}

pub(crate) fn bytes_of_mut(values: &mut [f32]) -> &mut [u8] {
    // SAFETY: as above, and any bytes are a float.
    unsafe { std::slice::from_raw_parts_mut(values.as_mut_ptr().cast(), size_of_val(values)) }
}
