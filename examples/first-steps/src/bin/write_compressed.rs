//! Writes a compressed two-dimensional dataset with an attribute.
//!
//! `cargo run -p first-steps --bin write_compressed -- weather.h5`

use hyperslab::{File, Result};
use ndarray::Array2;

fn main() -> Result<()> {
    let path = std::env::args().nth(1).unwrap_or_else(|| "weather.h5".to_owned());
    let temperature =
        Array2::from_shape_fn((200, 300), |(y, x)| 280.0 + (y as f32 / 20.0).sin() + x as f32 / 100.0);

    let file = File::create(&path)?;
    let dataset = file
        .new_dataset::<f32>()
        .shape(temperature.shape())
        .chunk((64, 64))
        .shuffle()
        .deflate(4)
        .create("temperature")?;
    dataset.write(&temperature)?;
    dataset.set_attr("unit", "K".to_owned())?;
    // Everything is on disk when `close` returns. Dropping `file` does the same, without returning errors.
    file.close()?;

    let file = File::open(&path)?;
    let stored = file.dataset("temperature")?.storage_size();
    println!("{path}: {} elements in {stored} bytes", temperature.len());
    Ok(())
}
