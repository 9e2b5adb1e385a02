//! Drivers and filters with C functions, as programs register them, under files of the library.

use std::ffi::{c_char, c_int, c_uint, c_ulong, c_void};
use std::sync::Mutex;
use std::thread::ThreadId;

use hyperslab::vol::model::properties::FilterSpec;
use hyperslab::{File, FileAccess, registry};
use hyperslab_hdf5::ffi::{hid_t, id_type};
use hyperslab_hdf5::h5p::class::Kind;
use hyperslab_hdf5::{h5fd, h5i, h5p, h5z};

/// A file of the driver: what the library expects first, then the content.
#[repr(C)]
struct TestFile {
    head: [u64; 10],
    bytes: Vec<u8>,
    eoa: u64,
    thread: ThreadId,
}

/// Closed files. Only one is open at a time.
static STORED: Mutex<Vec<u8>> = Mutex::new(Vec::new());

unsafe extern "C" fn open(_: *const c_char, flags: c_uint, fapl: hid_t, _: u64) -> *mut TestFile {
    assert_eq!(unsafe { h5i::H5Iget_type(fapl) }, id_type::GENPROP_LST);
    let info = unsafe { h5p::drivers::H5Pget_driver_info(fapl) };
    assert_eq!(unsafe { *info.cast::<c_int>() }, 17);
    let bytes = STORED.lock().unwrap().clone();
    if bytes.is_empty() && flags & 0x10 == 0 {
        return std::ptr::null_mut();
    }
    let thread = std::thread::current().id();
    Box::into_raw(Box::new(TestFile { head: [0; 10], bytes, eoa: 0, thread }))
}

fn on_own_thread(file: *const TestFile) -> &'static TestFile {
    let file = unsafe { &*file };
    assert_eq!(file.thread, std::thread::current().id());
    file
}

unsafe extern "C" fn close(file: *mut TestFile) -> c_int {
    let file = unsafe { Box::from_raw(file) };
    STORED.lock().unwrap().clone_from(&file.bytes);
    0
}

unsafe extern "C" fn query(_: *const TestFile, flags: *mut c_ulong) -> c_int {
    unsafe { flags.write(0) };
    0
}

unsafe extern "C" fn get_eoa(file: *const TestFile, _: c_int) -> u64 {
    on_own_thread(file).eoa
}

unsafe extern "C" fn set_eoa(file: *mut TestFile, _: c_int, eoa: u64) -> c_int {
    on_own_thread(file);
    unsafe { (*file).eoa = eoa };
    0
}

unsafe extern "C" fn get_eof(file: *const TestFile, _: c_int) -> u64 {
    on_own_thread(file).bytes.len() as u64
}

unsafe extern "C" fn read(
    file: *mut TestFile,
    _: c_int,
    _: hid_t,
    at: u64,
    len: usize,
    out: *mut c_void,
) -> c_int {
    let file = on_own_thread(file);
    assert!(at + len as u64 <= file.eoa, "a read past the end of addresses");
    let from = &file.bytes[at as usize..][..len];
    unsafe { std::ptr::copy_nonoverlapping(from.as_ptr(), out.cast(), len) };
    0
}

unsafe extern "C" fn write(
    file: *mut TestFile,
    _: c_int,
    _: hid_t,
    at: u64,
    len: usize,
    data: *const c_void,
) -> c_int {
    on_own_thread(file);
    let file = unsafe { &mut *file };
    assert!(at + len as u64 <= file.eoa, "a write past the end of addresses");
    let end = at as usize + len;
    if file.bytes.len() < end {
        file.bytes.resize(end, 0);
    }
    unsafe { std::ptr::copy_nonoverlapping(data.cast(), file.bytes[at as usize..].as_mut_ptr(), len) };
    0
}

/// It only shortens files, as Python's `BytesIO` does.
unsafe extern "C" fn truncate(file: *mut TestFile, _: hid_t, _: bool) -> c_int {
    on_own_thread(file);
    let file = unsafe { &mut *file };
    file.bytes.truncate(file.eoa as usize);
    0
}

/// `H5FD_class_t` of 1.14 and later, as words: a table of functions with a few numbers.
fn class_of_114() -> Vec<usize> {
    let name = c"rust-test".as_ptr() as usize;
    let head = vec![1 | 600 << 32, name, usize::MAX >> 1, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0];
    let mut class = head;
    class.extend([open as *const () as usize, close as *const () as usize, 0, query as *const () as usize]);
    class.extend([0, 0, 0, get_eoa as *const () as usize, set_eoa as *const () as usize]);
    class.extend([get_eof as *const () as usize, 0, read as *const () as usize, write as *const () as usize]);
    class.extend([0, 0, 0, 0, 0, truncate as *const () as usize, 0, 0, 0, 0, 0, 0, 0, 0]);
    class
}

/// Returns the class as 1.10 has it: without version and number, vectors, deletion and control.
fn class_of_110() -> Vec<usize> {
    let mut class = class_of_114()[1..].to_vec();
    class.drain(27..31);
    class
}

fn through_the_driver(class: &[usize]) {
    STORED.lock().unwrap().clear();
    let (driver, fapl) = unsafe {
        let driver = h5fd::functions::H5FDregister(class.as_ptr().cast());
        (driver, h5p::generic::H5Pcreate(Kind::FileAccess.class_id()))
    };
    assert!(driver > 0 && fapl > 0);
    let info: c_int = 17;
    assert_eq!(unsafe { h5p::drivers::H5Pset_driver(fapl, driver, (&raw const info).cast()) }, 0);
    let values = h5p::file_access(fapl).unwrap();
    let prepared = || {
        let mut ours = registry();
        let text = h5fd::prepare(&mut ours, &values).unwrap().unwrap();
        (ours, text)
    };
    let (ours, text) = prepared();
    let access = FileAccess::write().with_driver(text);
    let file = File::create_in(&ours, "test.h5", &Default::default(), &access, true).unwrap();
    let numbers: Vec<i32> = (0..1 << 20).collect();
    file.new_dataset::<i32>()
        .shape(1 << 20)
        .chunk(1 << 15)
        .create("data")
        .unwrap()
        .write_raw(&numbers)
        .unwrap();
    file.close().unwrap();
    assert_eq!(STORED.lock().unwrap()[1..4], *b"HDF");
    let (ours, text) = prepared();
    let file = File::open_in(&ours, "test.h5", &FileAccess::read().with_driver(text)).unwrap();
    assert!(file.dataset("data").unwrap().read_raw::<i32>().unwrap() == numbers);
    drop(file);
    unsafe {
        assert_eq!(h5p::generic::H5Pclose(fapl), 0);
        assert_eq!(h5fd::functions::H5FDunregister(driver), 0);
    }
}

#[test]
fn drivers_of_programs_store_files_on_the_calling_thread() {
    through_the_driver(&class_of_114());
    through_the_driver(&class_of_110());
}

static FILTER_THREAD: Mutex<Option<ThreadId>> = Mutex::new(None);

/// Adds a byte, or takes it away: the result does not have the size of the input.
unsafe extern "C" fn longer(
    flags: c_uint,
    count: usize,
    values: *const c_uint,
    len: usize,
    size: *mut usize,
    buffer: *mut *mut c_void,
) -> usize {
    assert_eq!(*FILTER_THREAD.lock().unwrap(), Some(std::thread::current().id()));
    assert_eq!((count, unsafe { *values }), (1, 42));
    let new_len = if flags & 0x100 != 0 { len - 1 } else { len + 1 };
    unsafe {
        let memory = libc::malloc(new_len);
        std::ptr::copy_nonoverlapping((*buffer).cast::<u8>(), memory.cast(), len.min(new_len));
        libc::free(*buffer);
        buffer.write(memory);
        size.write(new_len);
    }
    new_len
}

/// Sets the filter's value in the list of the dataset.
unsafe extern "C" fn set_local(dcpl: hid_t, _: hid_t, _: hid_t) -> c_int {
    let value: c_uint = 42;
    unsafe {
        h5p::filter::H5Pmodify_filter(dcpl, 500, 0, 1, hyperslab_hdf5::arguments::Values(&raw const value))
    }
}

#[test]
fn filters_of_programs_run_on_the_calling_thread_with_values_that_they_set() {
    *FILTER_THREAD.lock().unwrap() = Some(std::thread::current().id());
    let name = c"longer".as_ptr() as usize;
    let class =
        [1 | 500 << 32, 1 | 1 << 32, name, 0, set_local as *const () as usize, longer as *const () as usize];
    assert_eq!(unsafe { h5z::H5Zregister(class.as_ptr().cast()) }, 0);
    let mut filters = vec![FilterSpec { id: 500, name: None, optional: false, values: Vec::new() }];
    h5z::prepare(&mut filters, 0, 0, 0).unwrap();
    assert_eq!(filters[0].values, [42]);
    let mut ours = registry();
    h5z::add_to(&mut ours);
    let folder = std::env::temp_dir().join(format!("hyperslab-foreign-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("filter.h5").to_string_lossy().into_owned();
    let file = File::create_in(&ours, &path, &Default::default(), &FileAccess::write(), true).unwrap();
    let numbers: Vec<i32> = (0..1 << 18).collect();
    let builder = file.new_dataset::<i32>().shape(1 << 18).chunk(1 << 14).filter(500, &[42]);
    builder.create("data").unwrap().write_raw(&numbers).unwrap();
    file.close().unwrap();
    let file = File::open_in(&ours, &path, &FileAccess::read()).unwrap();
    assert!(file.dataset("data").unwrap().read_raw::<i32>().unwrap() == numbers);
    drop(file);
    std::fs::remove_dir_all(folder).unwrap();
    assert_eq!(unsafe { h5z::H5Zunregister(500) }, 0);
    assert!(!h5z::is_available(500));
}
