//! Containers in object stores that each rank opens for itself.

use hyperslab::extend::register_engine;
use hyperslab::extend::storage::strict;
use hyperslab::parallel::registry_of;
use hyperslab::plist::FileCreate;
use hyperslab::{File, FileAccess, Result, registry, s};
use ndarray::Array1;

use crate::common::{on_ranks, together};

const RANKS: usize = 3;

/// Returns the unique half of an object's ID.
fn number(file: &File, path: &str) -> Result<u64> {
    let token = file.object(path)?.object().token().0;
    Ok(u64::from_le_bytes(*token.first_chunk().unwrap()))
}

#[test]
fn objects_that_all_ranks_create_take_one_range_of_numbers() {
    let mut with_engine = registry();
    register_engine(&mut with_engine, "hash", strict::engine()).unwrap();
    let numbers = on_ranks(RANKS, |comm| -> Result<Vec<u64>> {
        let rank = comm.rank();
        let registry = registry_of(&with_engine, comm);
        let (create, access) = (FileCreate::default(), FileAccess::write());
        let file = File::create_in(&registry, "object+hash:run", &create, &access, false)?;
        for i in 0..5 {
            file.create_group(&format!("group {i}"))?;
            let data = file.new_dataset::<i32>().shape((RANKS * 10,)).create(&format!("data {i}"))?;
            let own = Array1::from_elem(10, rank as i32);
            together(&data).write_slice(&own, s![rank * 10..(rank + 1) * 10])?;
        }
        let paths = (0..5).flat_map(|i| [format!("group {i}"), format!("data {i}")]);
        let numbers = paths.map(|path| number(&file, &path)).collect();
        file.close()?;
        numbers
    });
    let first: Vec<u64> = (2..12).collect();
    numbers.into_iter().for_each(|numbers| assert_eq!(numbers.unwrap(), first));
    let file = File::open_in(&with_engine, "object+hash:run", &FileAccess::read()).unwrap();
    let wanted: Vec<i32> = (0..RANKS as i32).flat_map(|rank| [rank; 10]).collect();
    assert_eq!(file.dataset("data 4").unwrap().read_raw::<i32>().unwrap(), wanted);
}
