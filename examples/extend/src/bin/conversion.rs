//! A conversion of the program's own: temperatures are stored as 16-bit hundredths of a degree (docs/conversions.md).

use std::sync::Arc;

use hyperslab::{Datatype, File, FileAccess, H5Type, registry};

fn main() -> hyperslab::Result<()> {
    let path = std::env::temp_dir().join(format!("extend-conversion-{}.h5", std::process::id()));
    let path = path.to_string_lossy();
    let (stored, memory): (Datatype, Datatype) = (i16::datatype(), f64::datatype());

    let mut registry = registry();
    registry.register_conversion(
        "degrees to hundredths",
        memory.clone(),
        stored.clone(),
        Arc::new(|from, to, _| {
            for (from, to) in from.as_chunks::<8>().0.iter().zip(to.as_chunks_mut::<2>().0) {
                *to = ((f64::from_ne_bytes(*from) * 100.0).round() as i16).to_ne_bytes();
            }
            Ok(())
        }),
    );
    registry.register_conversion(
        "hundredths to degrees",
        stored,
        memory,
        Arc::new(|from, to, _| {
            for (from, to) in from.as_chunks::<2>().0.iter().zip(to.as_chunks_mut::<8>().0) {
                *to = (f64::from(i16::from_ne_bytes(*from)) / 100.0).to_ne_bytes();
            }
            Ok(())
        }),
    );

    let file = File::create_in(&registry, &path, &Default::default(), &FileAccess::write(), true)?;
    let temperatures = file.new_dataset::<i16>().shape(3).create("temperatures")?;
    temperatures.write_raw(&[21.5, -3.25, 0.01])?;
    assert_eq!(temperatures.read_raw::<f64>()?, [21.5, -3.25, 0.01]);
    assert_eq!(temperatures.read_raw::<i16>()?, [2150, -325, 1]);
    file.close()?;

    // A program without the conversion reads the numbers as they are stored.
    assert_eq!(File::open(&*path)?.dataset("temperatures")?.read_raw::<f64>()?, [2150.0, -325.0, 1.0]);
    println!("temperatures were stored as 16-bit integers and read as degrees");
    std::fs::remove_file(&*path).ok();
    Ok(())
}
