//! What overwriting and flushing cost, as a ratio to the hardware, and what threads gain:
//! `cargo run --release -p writes [overwrite|flush|readers|links] [FOLDER] [GIB]`.
//!
//! - `overwrite`: committed elements, contiguous and chunked, against writing the same bytes twice with `pwrite`;
//! - `flush`: 16 threads that flush at once against one, where a sync takes a millisecond;
//! - `readers`: 4 threads that read next to 4 that write other datasets and flush, against the readers alone, where a read
//!   takes a millisecond: what counts is who waits for whom, not how many processors there are;
//! - `links`: one link more and a flush, where a thousand to a million are there.

mod links;
mod overwrite;
mod threads;

use std::path::PathBuf;

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

fn main() -> Outcome<()> {
    let mut arguments = std::env::args().skip(1);
    let what = arguments.next().unwrap_or_default();
    let folder = arguments.next().map_or_else(std::env::temp_dir, PathBuf::from);
    let gib = arguments.next().map_or(Ok(6), |n| n.parse())?;
    if what.is_empty() || what == "overwrite" {
        overwrite::run(&folder, gib)?;
    }
    if what.is_empty() || what == "flush" {
        threads::flush()?;
    }
    if what.is_empty() || what == "readers" {
        threads::readers()?;
    }
    if what.is_empty() || what == "links" {
        links::run(&folder)?;
    }
    Ok(())
}
