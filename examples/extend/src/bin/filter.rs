//! A filter of the program's own: every byte is stored as its difference from the one before (docs/filters.md).

use std::sync::Arc;

use hyperslab::extend::{Codecs, Done, Filter, FilterError, FilterId, Output, Params};
use hyperslab::{File, FileAccess, registry};

/// Numbers from 256 to 511 are for programs that keep their filters to themselves.
const DELTA: FilterId = 300;

struct Delta;

impl Filter for Delta {
    fn id(&self) -> FilterId {
        DELTA
    }

    fn name(&self) -> &'static str {
        "delta"
    }

    fn encode_into(
        &self,
        _params: &Params<'_>,
        input: &[u8],
        out: &mut Output<'_>,
        _codecs: &mut Codecs,
    ) -> Result<Done, FilterError> {
        let before = std::iter::once(&0).chain(input);
        out.put(input.iter().zip(before).map(|(byte, before)| byte.wrapping_sub(*before)).collect())
    }

    fn decode_into(
        &self,
        _params: &Params<'_>,
        input: &[u8],
        out: &mut Output<'_>,
        _codecs: &mut Codecs,
    ) -> Result<Done, FilterError> {
        let sum = |sum: &mut u8, byte: &u8| {
            *sum = sum.wrapping_add(*byte);
            Some(*sum)
        };
        out.put(input.iter().scan(0, sum).collect())
    }
}

fn main() -> hyperslab::Result<()> {
    let path = std::env::temp_dir().join(format!("extend-filter-{}.h5", std::process::id()));
    let path = path.to_string_lossy();
    let mut ours = registry();
    ours.register_filter(Arc::new(Delta))?;

    let file = File::create_in(&ours, &path, &Default::default(), &FileAccess::write(), true)?;
    let builder = file.new_dataset::<i32>().shape(1000).chunk(100).filter(DELTA, &[]).deflate(6);
    builder.create("numbers")?.write_raw(&(0..1000).collect::<Vec<i32>>())?;
    file.close()?;

    let file = File::open_in(&ours, &path, &FileAccess::read())?;
    assert_eq!(file.dataset("numbers")?.read_raw::<i32>()?, (0..1000).collect::<Vec<_>>());
    drop(file);

    // A program without the filter gets an error that names it.
    let file = File::open(&*path)?;
    let error = file.dataset("numbers")?.read_raw::<i32>().unwrap_err().to_string();
    assert!(error.contains("delta") && error.contains("300"), "{error}");
    println!("without the filter: {error}");
    std::fs::remove_file(&*path).ok();
    Ok(())
}
