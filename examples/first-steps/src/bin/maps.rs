//! Stores values by keys. Maps work in every storage; in an HDF5 file they are groups that other programs can read.
//!
//! `cargo run -p first-steps --bin maps -- people.h5`

use hyperslab::{File, Result};

fn main() -> Result<()> {
    let path = std::env::args().nth(1).unwrap_or_else(|| "people.h5".to_owned());
    let file = File::create(&path)?;
    let numbers = file.create_map::<String, u64>("numbers")?;
    numbers.put(&"Alice".to_owned(), &25_385_486)?;
    numbers.put(&"Bob".to_owned(), &25_385_487)?;
    file.close()?;

    let file = File::open(&path)?;
    let numbers = file.map("numbers")?;
    let number_of = |name: &str| numbers.get::<String, u64>(&name.to_owned());
    println!("{path}: Alice has {:?}, Carol has {:?}", number_of("Alice")?, number_of("Carol")?);
    Ok(())
}
