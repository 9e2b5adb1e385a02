//! Reads part of a dataset. Only the chunks that the slice needs are read and decompressed.
//!
//! `cargo run -p first-steps --bin read_slice -- weather.h5`

use hyperslab::{File, Result, s};

fn main() -> Result<()> {
    let path = std::env::args().nth(1).unwrap_or_else(|| "weather.h5".to_owned());
    let file = File::open(&path)?;
    let temperature = file.dataset("temperature")?;
    let unit = temperature.attr("unit")?.read_string()?;

    // The elements are converted: the file has f32.
    let window = temperature.read_slice_2d::<f64, _>(s![10..20, ..;50])?;
    let mean = window.sum() / window.len() as f64;
    println!("{:?} of {:?}: mean {mean:.2} {unit}", window.shape(), temperature.shape());
    Ok(())
}
