//! Logs that several ranks have open together, through the interface that users import.

use hyperslab::plist::{FileAccess, FileCreate};
use hyperslab::{File, Result, Selection};

use crate::common::{Scratch, on_ranks, together};

fn location(prefix: &str, scratch: &Scratch) -> String {
    format!("{prefix}:{}", scratch.path().display())
}

#[test]
fn strings_and_numbers_of_ranks_go_to_one_log() {
    for (ranks, prefix) in [(2, "log"), (4, "log"), (2, "log+sub2"), (4, "log+v1")] {
        let scratch = Scratch::new(&format!("log-strings-{prefix}-{ranks}"));
        let place = location(prefix, &scratch);
        let write = |comm: std::sync::Arc<dyn hyperslab::parallel::Comm>| -> Result<()> {
            let rank = comm.rank();
            let (create, access) = (FileCreate::default(), FileAccess::write());
            let file = File::create_parallel_with(comm, &place, &create, &access, true)?;
            file.set_attr("title", "a run of the model".to_owned())?;
            assert_eq!(file.attr("title")?.read_string()?, "a run of the model");
            let text = file.new_dataset::<String>().shape(ranks).create("text")?;
            let numbers = file.new_dataset::<f64>().shape(ranks).create("numbers")?;
            let own = Selection::block(&[rank as u64], &[1])?;
            numbers.write_selection(&own, &[rank as f64])?;
            assert!(text.write_selection(&own, &["alone".to_owned()]).is_err(), "not without the others");
            together(&text).write_selection(&own, &[format!("rank {rank}")])?;
            let all = together(&text).read_raw::<String>()?;
            assert_eq!(all[rank], format!("rank {rank}"));
            file.close()
        };
        on_ranks(ranks, |comm| write(comm).unwrap());
        let file = File::open_with(&place, &FileAccess::read()).unwrap();
        let wanted: Vec<String> = (0..ranks).map(|rank| format!("rank {rank}")).collect();
        assert_eq!(file.dataset("text").unwrap().read_raw::<String>().unwrap(), wanted);
        let numbers = file.dataset("numbers").unwrap().read_raw::<f64>().unwrap();
        assert!(numbers.iter().enumerate().all(|(rank, number)| *number == rank as f64));
        assert_eq!(file.attr("title").unwrap().read_string().unwrap(), "a run of the model");
        std::fs::remove_dir_all(format!("{}.subfiles", scratch.path().display())).ok();
    }
}

/// Each posts every n-th block of a dataset and its text, and flushes with the others.
#[test]
fn ranks_post_writes_and_flush_them_together() {
    for (ranks, prefix) in [(2, "log"), (4, "log+sub2")] {
        let scratch = Scratch::new(&format!("log-posted-{prefix}-{ranks}"));
        let place = location(prefix, &scratch);
        let write = |comm: std::sync::Arc<dyn hyperslab::parallel::Comm>| -> Result<()> {
            let rank = comm.rank() as u64;
            let (create, access) = (FileCreate::default(), FileAccess::write());
            let file = File::create_parallel_with(comm, &place, &create, &access, true)?;
            let numbers = file.new_dataset::<i32>().shape(ranks * 1000).create("numbers")?;
            let text = together(&file.new_dataset::<String>().shape(ranks).create("text")?);
            let (own, word) = ([rank as i32 + 1; 10], [format!("rank {rank}")]);
            let mut posting = file.posting();
            for block in (rank..100 * ranks as u64).step_by(ranks) {
                numbers.post(&mut posting, &Selection::block(&[block * 10], &[10])?, &own)?;
            }
            text.post(&mut posting, &Selection::block(&[rank], &[1])?, &word)?;
            posting.flush()?;
            assert_eq!(numbers.read_selection::<i32>(&Selection::block(&[10 * rank], &[10])?)?, own);
            file.close()
        };
        on_ranks(ranks, |comm| write(comm).unwrap());
        let file = File::open_with(&place, &FileAccess::read()).unwrap();
        let numbers = file.dataset("numbers").unwrap().read_raw::<i32>().unwrap();
        assert!(numbers.iter().enumerate().all(|(n, value)| *value as usize == n / 10 % ranks + 1));
        assert_eq!(file.dataset("text").unwrap().read_raw::<String>().unwrap()[1], "rank 1");
        std::fs::remove_dir_all(format!("{}.subfiles", scratch.path().display())).ok();
    }
}

#[test]
fn a_plain_file_that_ranks_open_as_a_log_passes_through() {
    let scratch = Scratch::new("log-plain");
    File::create(scratch.path()).unwrap().new_dataset::<i32>().shape(4).create("data").unwrap();
    let place = location("log", &scratch);
    let change = |comm: std::sync::Arc<dyn hyperslab::parallel::Comm>| -> Result<()> {
        let rank = comm.rank() as u64;
        let file = File::open_parallel_with(comm, &place, &FileAccess::write())?;
        let own = Selection::block(&[rank * 2], &[2])?;
        together(&file.dataset("data")?).write_selection(&own, &[rank as i32 + 1; 2])?;
        file.close()
    };
    on_ranks(2, |comm| change(comm).unwrap());
    let file = File::open(scratch.path()).unwrap();
    assert_eq!(file.dataset("data").unwrap().read_raw::<i32>().unwrap(), [1, 1, 2, 2]);
    assert_eq!(file.member_names().unwrap(), ["data"], "it has no log");
}
