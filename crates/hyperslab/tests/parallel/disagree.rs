//! Ranks that do not do the same, and ranks that are gone.

use hyperslab::parallel::{Comm, threads};
use hyperslab::{File, Kind, Result, Selection};

use crate::common::{Scratch, in_new_file, on_ranks, together};

#[test]
fn ranks_that_make_different_calls_are_named() {
    let scratch = Scratch::new("calls");
    in_new_file(&scratch, 3, |file, rank| {
        let done = if rank == 1 { file.flush() } else { file.create_group("group").map(drop) };
        let error = done.unwrap_err();
        assert_eq!(error.kind(), Kind::Invalid);
        let text = error.to_string();
        assert!(text.contains("rank 1: commit") && text.contains("rank 0, 2: group_create"), "{text}");
        // Nothing happened, and all go on.
        assert!(file.member_names()?.is_empty());
        file.create_group("group").map(drop)
    });
}

#[test]
fn ranks_that_give_other_arguments_are_named() {
    let scratch = Scratch::new("arguments");
    in_new_file(&scratch, 3, |file, rank| {
        let name = if rank == 2 { "other" } else { "group" };
        let text = file.create_group(name).unwrap_err().to_string();
        assert!(text.contains("group_create") && text.contains("ranks unlike rank 0: 2"), "{text}");
        let text = file.set_attr("rank", rank as i32).unwrap_err().to_string();
        assert!(text.contains("attribute_write") && text.contains("1, 2"), "{text}");
        let data = file.new_dataset::<i32>().shape(2).create("data")?;
        let more = file.new_dataset::<i32>().shape(2).create("more")?;
        let chosen = if rank == 0 { &data } else { &more };
        let text = together(chosen).write_raw(&[1, 2]).unwrap_err().to_string();
        assert!(text.contains("collective write"), "{text}");
        together(&data).write_raw(&[1, 2])
    });
}

#[test]
fn an_error_of_one_rank_is_one_of_all() {
    let scratch = Scratch::new("error");
    in_new_file(&scratch, 3, |file, rank| {
        let data = file.new_dataset::<i32>().shape(4).create("data")?;
        let outside = Selection::block(&[if rank == 1 { 4 } else { 0 }], &[1])?;
        let error = together(&data).write_selection(&outside, &[1]);
        // A rank that refuses before it calls the others makes another call next, which they learn of.
        match (rank, error) {
            (1, Err(error)) => drop(error),
            (_, Err(error)) => assert!(error.to_string().contains("rank 1"), "{error}"),
            (rank, Ok(())) => panic!("rank {rank} wrote"),
        }
        Ok(())
    });
}

#[test]
fn a_missing_file_is_an_error_of_all() {
    let scratch = Scratch::new("missing");
    for done in on_ranks(3, |comm| File::open_parallel(comm, scratch.path()).map(drop)) {
        assert_eq!(done.unwrap_err().kind(), Kind::NotFound);
    }
}

#[test]
fn a_connector_that_one_process_writes_is_refused() {
    let done = on_ranks(2, |comm| {
        let access = hyperslab::FileAccess::write();
        File::create_parallel_with(comm, "json:/tmp/never.json", &Default::default(), &access, true).map(drop)
    });
    for done in done {
        assert_eq!(done.unwrap_err().kind(), Kind::Unsupported);
    }
}

#[test]
fn a_rank_that_is_gone_is_named_and_the_last_commit_stays() {
    let scratch = Scratch::new("gone");
    let program = |comm: std::sync::Arc<dyn Comm>| -> Result<()> {
        let rank = comm.rank();
        let access = hyperslab::FileAccess::write().with_close_error_hook(|_| ());
        let location = scratch.path().to_str().unwrap();
        let file = File::create_parallel_with(comm, location, &Default::default(), &access, true)?;
        let data = file.new_dataset::<i32>().shape(3).create("data")?;
        let own = Selection::block(&[rank as u64], &[1])?;
        together(&data).write_selection(&own, &[1])?;
        file.flush()?;
        together(&data).write_selection(&own, &[2])?;
        // A thread that unwinds closes nothing: it leaves as a process that dies.
        assert!(rank != 2, "this rank dies, as it shall");
        file.flush()
    };
    std::thread::scope(|scope| {
        let program = &program;
        let ranks =
            threads(3).into_iter().map(|comm| scope.spawn(move || program(std::sync::Arc::new(comm))));
        let ranks: Vec<_> = ranks.collect();
        for (rank, done) in ranks.into_iter().map(std::thread::ScopedJoinHandle::join).enumerate() {
            match done {
                Ok(done) => assert!(done.unwrap_err().to_string().contains("rank: 2"), "rank {rank}"),
                Err(_) => assert_eq!(rank, 2),
            }
        }
    });
    let file = File::open(scratch.path()).unwrap();
    assert_eq!(file.dataset("data").unwrap().read_raw::<i32>().unwrap(), [1, 1, 1]);
}
