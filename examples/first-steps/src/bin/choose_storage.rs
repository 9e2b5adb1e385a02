//! Stores the same data in an HDF5 file, a folder, a text and an object store. Only the location differs.
//!
//! `cargo run -p first-steps --bin choose_storage -- run`

use hyperslab::{File, Result};
use ndarray::arr2;

fn main() -> Result<()> {
    let base = std::env::args().nth(1).unwrap_or_else(|| "run".to_owned());
    let locations = [
        format!("{base}.h5"),
        format!("raw:{base}-folder/"),
        format!("json:{base}.json"),
        format!("object:{base}-store/"),
        "memory:run".to_owned(),
    ];
    let data = arr2(&[[1, 2, 3], [4, 5, 6]]);
    for location in &locations {
        let file = File::create(location)?;
        file.new_dataset_builder().with_data(&data).create("table")?;
        file.flush()?;
        let back = File::open(location)?.dataset("table")?.read_2d::<i32>()?;
        assert_eq!(back, data);
        println!("{location}: {} elements", back.len());
    }
    Ok(())
}
