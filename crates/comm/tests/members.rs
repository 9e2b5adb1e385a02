//! Collective operations between threads, and what happens when one of them is gone.

use hyperslab_comm::{Comm, Reduce, Single, threads};

#[test]
fn everyone_finds_what_the_others_brought() {
    std::thread::scope(|scope| {
        for member in threads(4) {
            scope.spawn(move || {
                let rank = member.rank() as u64;
                for round in 0..1000u64 {
                    let all = member.allgather(&vec![rank as u8; rank as usize]).unwrap();
                    assert!(all.iter().enumerate().all(|(n, bytes)| *bytes == vec![n as u8; n]));
                    assert_eq!(member.exscan(rank + round).unwrap(), (0..rank).map(|r| r + round).sum());
                    assert_eq!(member.allreduce(rank, Reduce::Max).unwrap(), 3);
                    assert_eq!(member.allreduce(rank, Reduce::Min).unwrap(), 0);
                    assert_eq!(member.allreduce(rank, Reduce::Sum).unwrap(), 6);
                    let mut bytes = vec![rank as u8];
                    member.bcast(2, &mut bytes).unwrap();
                    assert_eq!(bytes, [2]);
                    member.barrier().unwrap();
                    let to = (0..4).map(|other| vec![rank as u8; other + round as usize % 3]).collect();
                    let from = member.alltoall(to).unwrap();
                    let len = rank as usize + round as usize % 3;
                    assert!(from.iter().enumerate().all(|(n, bytes)| *bytes == vec![n as u8; len]));
                    let gathered = member.gather(1, &[rank as u8]).unwrap();
                    assert_eq!(gathered.len(), if rank == 1 { 4 } else { 0 });
                }
            });
        }
    });
}

#[test]
fn a_member_that_is_gone_fails_the_others() {
    let mut members = threads(3);
    let last = members.pop();
    std::thread::scope(|scope| {
        for member in members {
            scope.spawn(move || assert!(member.barrier().is_err()));
        }
        drop(last);
    });
}

#[test]
fn one_process_waits_for_nobody() {
    let mut bytes = vec![7];
    Single.bcast(0, &mut bytes).unwrap();
    assert_eq!(
        (bytes, Single.exscan(5).unwrap(), Single.allreduce(5, Reduce::Sum).unwrap()),
        (vec![7], 0, 5)
    );
}
