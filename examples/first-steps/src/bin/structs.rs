//! Stores structures as a compound datatype, and reads them back by member name.
//!
//! `cargo run -p first-steps --bin structs -- stations.h5`

use hyperslab::{File, H5Type, Result};

#[derive(Debug, Clone, PartialEq, H5Type)]
#[repr(C)]
struct Station {
    id: i32,
    height: f64,
    name: String,
}

/// A reader that needs fewer members declares fewer.
#[derive(Debug, H5Type)]
#[repr(C)]
struct Height {
    height: f32,
}

fn main() -> Result<()> {
    let path = std::env::args().nth(1).unwrap_or_else(|| "stations.h5".to_owned());
    let stations = vec![
        Station { id: 1, height: 12.5, name: "harbour".to_owned() },
        Station { id: 2, height: 2962.0, name: "summit".to_owned() },
    ];
    let file = File::create(&path)?;
    file.new_dataset_builder().with_data(&stations).create("stations")?;
    file.close()?;

    let file = File::open(&path)?;
    let heights = file.dataset("stations")?.read_raw::<Height>()?;
    println!("{path}: {:?}", heights.iter().map(|station| station.height).collect::<Vec<_>>());
    assert_eq!(file.dataset("stations")?.read_raw::<Station>()?, stations);
    Ok(())
}
