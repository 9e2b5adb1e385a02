//! Elements: small pieces, windows, rows, and types that differ.

use hyperslab::vol::model::ByteOrder;
use hyperslab::{Datatype, File, H5Type, Selection, UNLIMITED_DIM};
use ndarray::Array2;

use crate::{Outcome, Scratch, expect, measured};

/// Pieces of 64 bytes of one contiguous run.
pub(crate) fn small_read(scratch: &Scratch) -> Outcome<()> {
    const READS: u64 = 5000;
    const ELEMENTS: u64 = 8;
    let values: Vec<u64> = (0..READS * ELEMENTS).collect();
    let file = File::create(scratch.file())?;
    file.new_dataset::<u64>().shape(values.len()).create("x")?.write_raw(&values)?;
    file.close()?;
    let file = File::open(scratch.file())?;
    let dataset = file.dataset("x")?;
    let (mut piece, mut sum) = ([0u64; ELEMENTS as usize], 0);
    measured(&mut || {
        for n in 0..READS {
            // 7 has no factor in common with the count: every piece once, none next to the one before.
            let start = n * 7 % READS * ELEMENTS;
            dataset.read_selection_into(&Selection::block(&[start], &[ELEMENTS])?, &mut piece)?;
            sum += piece.iter().sum::<u64>();
        }
        Ok(())
    })?;
    expect(&sum, &values.iter().sum())
}

/// Windows of a chunked dataset, most of them inside of one chunk and some across four.
pub(crate) fn window_read(scratch: &Scratch) -> Outcome<()> {
    const SIDE: u64 = 1024;
    const WINDOW: u64 = 64;
    const WINDOWS: u64 = 500;
    let values = Array2::from_shape_fn((SIDE as usize, SIDE as usize), |(y, x)| (y * 1024 + x) as f32);
    let file = File::create(scratch.file())?;
    let builder = file.new_dataset::<f32>().shape(values.shape()).chunk((256, 256));
    builder.create("x")?.write(&values)?;
    file.close()?;
    let file = File::open(scratch.file())?;
    let dataset = file.dataset("x")?;
    let mut window = vec![0f32; (WINDOW * WINDOW) as usize];
    measured(&mut || {
        for n in 0..WINDOWS {
            let corner = [n * 389 % (SIDE - WINDOW), n * 211 % (SIDE - WINDOW)];
            dataset.read_selection_into(&Selection::block(&corner, &[WINDOW, WINDOW])?, &mut window)?;
            expect(&window.first().copied(), &Some((corner[0] * SIDE + corner[1]) as f32))?;
        }
        Ok(())
    })
}

/// Rows added one at a time, until the file is closed.
pub(crate) fn append(scratch: &Scratch) -> Outcome<()> {
    const ROWS: usize = 5000;
    const COLUMNS: usize = 100;
    let row = Array2::from_shape_fn((1, COLUMNS), |(_, n)| n as f64);
    let file = File::create(scratch.file())?;
    let builder = file.new_dataset::<f64>().shape((0, COLUMNS)).max_shape((UNLIMITED_DIM, COLUMNS));
    let dataset = builder.chunk((100, COLUMNS)).create("x")?;
    measured(&mut || {
        for _ in 0..ROWS {
            dataset.append(0, &row)?;
        }
        Ok(file.flush()?)
    })?;
    file.close()?;
    let found = File::open(scratch.file())?.dataset("x")?.read_2d::<f64>()?;
    expect(&found.dim(), &(ROWS, COLUMNS))?;
    expect(&found.sum(), &(row.sum() * ROWS as f64))
}

/// A record as Rust lays it out: 24 bytes, of which 13 are stored.
#[derive(Debug, Clone, Copy, PartialEq, Default, H5Type)]
#[repr(C)]
struct Record {
    id: i32,
    value: f64,
    flag: u8,
}

/// Packed records into structs, and big-endian numbers into native ones.
pub(crate) fn convert(scratch: &Scratch) -> Outcome<()> {
    // 100,000 structs would take more than the 2 MiB at which transfers may be shared by threads.
    const RECORDS: usize = 80_000;
    const NUMBERS: usize = 100_000;
    let record = |n: usize| Record { id: n as i32, value: n as f64 * 0.5, flag: (n % 7) as u8 };
    let records: Vec<Record> = (0..RECORDS).map(record).collect();
    let numbers: Vec<i32> = (0..NUMBERS as i32).collect();
    let file = File::create(scratch.file())?;
    file.new_dataset::<Record>().shape(RECORDS).create("records")?.write_raw(&records)?;
    let swapped = Datatype::integer(4, true, ByteOrder::Big);
    file.new_dataset_as(swapped).shape(NUMBERS).create("numbers")?.write_raw(&numbers)?;
    file.close()?;
    let file = File::open(scratch.file())?;
    let (from, swapped) = (file.dataset("records")?, file.dataset("numbers")?);
    expect(&from.dtype()?.size(), &13)?;
    let (mut found, mut native) = (vec![Record::default(); RECORDS], vec![0i32; NUMBERS]);
    measured(&mut || {
        from.read_into(&mut found)?;
        Ok(swapped.read_into(&mut native)?)
    })?;
    expect(&(found == records), &true)?;
    expect(&(native == numbers), &true)
}
