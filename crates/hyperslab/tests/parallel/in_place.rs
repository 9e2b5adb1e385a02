//! Elements that are written where they lie: others read them without a call of all.

use std::sync::Barrier;

use hyperslab::parallel::ParallelAccess;
use hyperslab::plist::{FileAccess, FileCreate};
use hyperslab::{File, Result};

use crate::common::{Scratch, on_ranks, others_agree, rows, together};

#[test]
fn committed_elements_of_others_are_read_after_a_barrier() {
    let scratch = Scratch::new("in-place");
    let (location, barrier) = (scratch.path().to_str().unwrap(), Barrier::new(2));
    let parallel = ParallelAccess { elements_in_place: true, ..ParallelAccess::default() };
    let access = FileAccess { parallel, ..FileAccess::write() };
    let done: Vec<Result<()>> = on_ranks(2, |comm| {
        let rank = comm.rank() as u64;
        let file = File::create_parallel_with(comm, location, &FileCreate::default(), &access, true)?;
        let new = || file.new_dataset::<i32>().shape((2, 6));
        for data in [new().create("contiguous")?, new().chunk((1, 4)).create("chunked")?] {
            together(&data).write_selection(&rows(rank, 1, 6), &[0; 6])?;
            file.flush()?;
            for round in 1..4 {
                let own = [round * 10 + rank as i32; 6];
                data.write_selection(&rows(rank, 1, 6), &own)?;
                barrier.wait();
                let other = data.read_selection::<i32>(&rows(1 - rank, 1, 6))?;
                assert_eq!(other, [round * 10 + 1 - rank as i32; 6]);
                barrier.wait();
            }
            // What all write together goes to the same place.
            together(&data).write_selection(&rows(1 - rank, 1, 6), &[5 + rank as i32; 6])?;
            assert_eq!(data.read_selection::<i32>(&rows(rank, 1, 6))?, [6 - rank as i32; 6]);
        }
        file.close()
    });
    done.into_iter().for_each(|done| done.unwrap());
    others_agree(&scratch, "assert all((f[name][0] == 6).all() and (f[name][1] == 5).all() for name in f)");
}
