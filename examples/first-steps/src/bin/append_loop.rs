//! Appends rows to a dataset that grows, and commits after each: what an instrument does all day.
//!
//! `cargo run -p first-steps --bin append_loop -- samples.h5`

use hyperslab::{File, Result};
use ndarray::arr1;

fn main() -> Result<()> {
    let path = std::env::args().nth(1).unwrap_or_else(|| "samples.h5".to_owned());
    let file = File::create(&path)?;
    // The first dimension has no limit; the second is fixed.
    let samples = file.new_dataset::<f64>().shape((0.., 3)).chunk((1024, 3)).create("samples")?;
    for n in 0..100u64 {
        samples.resize((n as usize + 1, 3))?;
        let row = arr1(&[n as f64, (n as f64).sqrt(), (n as f64).sin()]);
        samples.write_slice(&row, (n as usize, ..))?;
        // After a crash the file has all rows up to the last flush.
        file.flush()?;
    }
    println!("{path}: {:?}", samples.shape());
    file.close()
}
