//! libhdf5 as one process uses it: small requests one by one.

use std::ffi::{CString, c_void};

use hdf5_sys::h5::H5get_libversion;
use hdf5_sys::h5d::{H5Dclose, H5Dcreate2, H5Dopen2, H5Dread, H5Dwrite};
use hdf5_sys::h5f::{H5F_ACC_RDONLY, H5F_ACC_TRUNC, H5Fclose, H5Fcreate, H5Fopen};
use hdf5_sys::h5i::hid_t;
use hdf5_sys::h5p::{H5P_CLS_DATASET_CREATE, H5P_DEFAULT, H5Pclose, H5Pcreate, H5Pset_chunk};
use hdf5_sys::h5s::{H5S_ALL, H5S_SELECT_SET, H5Sclose, H5Screate_simple, H5Sselect_hyperslab};
use hdf5_sys::h5t::H5T_NATIVE_INT32;

use crate::Outcome;

/// The library's version.
pub fn version() -> String {
    let (mut major, mut minor, mut release) = (0, 0, 0);
    // SAFETY: three places for numbers.
    unsafe { H5get_libversion(&mut major, &mut minor, &mut release) };
    format!("{major}.{minor}.{release}")
}

fn check(id: hid_t) -> Outcome<hid_t> {
    if id < 0 { Err("libhdf5 failed".into()) } else { Ok(id) }
}

/// A file with open datasets of 32-bit integers.
pub struct Datasets {
    file: hid_t,
    datasets: Vec<hid_t>,
    space: hid_t,
}

impl Datasets {
    /// Datasets of one dimension, contiguous or in chunks.
    pub fn create(path: &str, count: usize, elements: u64, chunk: Option<u64>) -> Outcome<Self> {
        let path = CString::new(path)?;
        // SAFETY: identifiers come from the library, names end with a zero, extents have one dimension.
        unsafe {
            let file = check(H5Fcreate(path.as_ptr(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT))?;
            let space = check(H5Screate_simple(1, &elements, std::ptr::null()))?;
            let create = check(H5Pcreate(*H5P_CLS_DATASET_CREATE))?;
            if let Some(chunk) = chunk {
                check(H5Pset_chunk(create, 1, &chunk).into())?;
            }
            let mut datasets = Vec::new();
            for n in 0..count {
                let name = CString::new(format!("d{n}"))?;
                let made = H5Dcreate2(
                    file,
                    name.as_ptr(),
                    *H5T_NATIVE_INT32,
                    space,
                    H5P_DEFAULT,
                    create,
                    H5P_DEFAULT,
                );
                datasets.push(check(made)?);
            }
            H5Pclose(create);
            Ok(Datasets { file, datasets, space })
        }
    }

    /// Elements of one dataset from `start` on.
    pub fn write(&self, dataset: usize, start: u64, values: &[i32]) -> Outcome<()> {
        let count = values.len() as u64;
        // SAFETY: the buffer has as many elements as are selected.
        unsafe {
            H5Sselect_hyperslab(
                self.space,
                H5S_SELECT_SET,
                &start,
                std::ptr::null(),
                &count,
                std::ptr::null(),
            );
            let memory = H5Screate_simple(1, &count, std::ptr::null());
            let from = values.as_ptr().cast::<c_void>();
            let done =
                H5Dwrite(self.datasets[dataset], *H5T_NATIVE_INT32, memory, self.space, H5P_DEFAULT, from);
            H5Sclose(memory);
            check(done.into()).map(drop)
        }
    }

    pub fn close(self) -> Outcome<()> {
        // SAFETY: the identifiers are ours.
        unsafe {
            self.datasets.iter().for_each(|dataset| {
                H5Dclose(*dataset);
            });
            H5Sclose(self.space);
            check(H5Fclose(self.file).into()).map(drop)
        }
    }
}

/// Reads a whole dataset of 32-bit integers.
pub fn read(path: &str, name: &str, into: &mut [i32]) -> Outcome<()> {
    let (path, name) = (CString::new(path)?, CString::new(name)?);
    // SAFETY: the buffer holds the dataset, as the caller made both.
    unsafe {
        let file = check(H5Fopen(path.as_ptr(), H5F_ACC_RDONLY, H5P_DEFAULT))?;
        let dataset = check(H5Dopen2(file, name.as_ptr(), H5P_DEFAULT))?;
        let done =
            H5Dread(dataset, *H5T_NATIVE_INT32, H5S_ALL, H5S_ALL, H5P_DEFAULT, into.as_mut_ptr().cast());
        H5Dclose(dataset);
        H5Fclose(file);
        check(done.into()).map(drop)
    }
}
