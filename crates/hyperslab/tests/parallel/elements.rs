//! Elements: contiguous and chunked, with filters and without, of one rank and of all.

use hyperslab::{File, Kind, Result, Selection, Transfer};

use crate::common::{Scratch, in_new_file, on_ranks, others_agree, rows, together};

const ROWS: u64 = 24;
const COLUMNS: u64 = 10;

fn values(start: u64, count: u64) -> Vec<i32> {
    (start * COLUMNS..(start + count) * COLUMNS).map(|n| n as i32).collect()
}

/// The rows of a rank.
fn share(rank: usize, ranks: usize) -> (u64, u64) {
    let each = ROWS / ranks as u64;
    (rank as u64 * each, each)
}

fn whole() -> Vec<i32> {
    values(0, ROWS)
}

const CHECK: &str =
    "for name in f: assert (f[name][...] == np.arange(240).reshape(24, 10)).all(), (name, f[name][...])";

#[test]
fn every_layout_is_written_and_read_collectively() {
    for ranks in [1, 2, 3, 4] {
        let scratch = Scratch::new(&format!("collective-{ranks}"));
        in_new_file(&scratch, ranks, |file, rank| {
            let (start, count) = share(rank, ranks);
            let own = rows(start, count, COLUMNS);
            let new = || file.new_dataset::<i32>().shape((ROWS as usize, COLUMNS as usize));
            let datasets = [
                new().create("contiguous")?,
                new().chunk((5, 4)).create("chunked")?,
                new().chunk((5, 4)).shuffle().deflate(3).create("filtered")?,
                new().chunk((24, 10)).fletcher32().create("one chunk")?,
            ];
            for dataset in datasets {
                together(&dataset).write_selection(&own, &values(start, count))?;
                assert_eq!(together(&dataset).read_raw::<i32>()?, whole(), "{}", dataset.name());
                // What another rank wrote is converted, too.
                let others = rows((start + count) % ROWS, count, COLUMNS);
                let expected: Vec<f64> =
                    values((start + count) % ROWS, count).into_iter().map(f64::from).collect();
                assert_eq!(together(&dataset).read_selection::<f64>(&others)?, expected);
            }
            Ok(())
        });
        others_agree(&scratch, CHECK);
    }
}

#[test]
fn ranks_write_independently_to_allocated_space() {
    let scratch = Scratch::new("independent");
    in_new_file(&scratch, 3, |file, rank| {
        let (start, count) = share(rank, 3);
        let new = || file.new_dataset::<i32>().shape((ROWS as usize, COLUMNS as usize));
        let (contiguous, chunked) =
            (new().create("contiguous")?, new().chunk((5, 4)).fill_value(&7).create("chunked")?);
        // Ranks write as often as they like.
        for row in start..start + count {
            contiguous.write_selection(&rows(row, 1, COLUMNS), &values(row, 1))?;
        }
        chunked.write_selection(&rows(start, count, COLUMNS), &values(start, count))?;
        assert_eq!(chunked.read_selection::<i32>(&rows(start, count, COLUMNS))?, values(start, count));
        file.flush()?;
        assert_eq!(contiguous.read_raw::<i32>()?, whole());
        assert_eq!(chunked.read_raw::<i32>()?, whole());
        Ok(())
    });
    others_agree(&scratch, CHECK);
}

#[test]
fn committed_elements_are_overwritten_with_the_next_commit() {
    let scratch = Scratch::new("overwritten");
    in_new_file(&scratch, 2, |file, rank| {
        let (start, count) = share(rank, 2);
        let own = rows(start, count, COLUMNS);
        let new = || file.new_dataset::<i32>().shape((ROWS as usize, COLUMNS as usize));
        let (contiguous, chunked) = (new().create("contiguous")?, new().chunk((5, 4)).create("chunked")?);
        for dataset in [&contiguous, &chunked] {
            together(dataset).write_selection(&own, &vec![-1; (count * COLUMNS) as usize])?;
        }
        file.flush()?;
        let before = std::fs::read(file.filename()).unwrap();
        for dataset in [&contiguous, &chunked] {
            dataset.write_selection(&own, &values(start, count))?;
            assert_eq!(dataset.read_selection::<i32>(&own)?, values(start, count), "a rank sees its own");
        }
        // The file itself is the last commit until the next one.
        assert!(before == std::fs::read(file.filename()).unwrap());
        file.flush()?;
        for dataset in [&contiguous, &chunked] {
            assert_eq!(dataset.read_raw::<i32>()?, whole());
            // Collectively, others see them at once.
            together(dataset).write_selection(&own, &vec![rank as i32; (count * COLUMNS) as usize])?;
            assert_eq!(dataset.read_raw::<i32>()?, [vec![0; 120], vec![1; 120]].concat());
            together(dataset).write_selection(&own, &values(start, count))?;
        }
        Ok(())
    });
    others_agree(&scratch, CHECK);
}

#[test]
fn what_waits_for_a_flush_is_bounded() {
    let scratch = Scratch::new("bounded");
    let done = on_ranks(2, |comm| -> Result<()> {
        let rank = comm.rank();
        let access = hyperslab::FileAccess { write_buffer_bytes: Some(16), ..hyperslab::FileAccess::write() };
        let location = scratch.path().to_str().unwrap();
        let file = File::create_parallel_with(comm, location, &Default::default(), &access, true)?;
        let data = file.new_dataset::<i32>().shape(8).create("data")?;
        together(&data).write_selection(&Selection::block(&[4 * rank as u64], &[4])?, &[1; 4])?;
        file.flush()?;
        if rank == 1 {
            data.write_selection(&Selection::block(&[0], &[4])?, &[2; 4])?;
            let error = data.write_selection(&Selection::block(&[4], &[1])?, &[2]).unwrap_err();
            assert_eq!(error.kind(), Kind::Limit);
        }
        file.flush()?;
        assert_eq!(data.read_raw::<i32>()?, [2, 2, 2, 2, 1, 1, 1, 1]);
        file.close()
    });
    done.into_iter().for_each(|done| done.unwrap());
}

#[test]
fn values_of_variable_length_are_written_collectively() {
    let scratch = Scratch::new("strings");
    in_new_file(&scratch, 3, |file, rank| {
        let names = file.new_dataset::<String>().shape(6).create("names")?;
        let own = Selection::block(&[2 * rank as u64], &[2])?;
        let values = ["same".to_owned(), format!("rank {rank}")];
        assert_eq!(names.write_selection(&own, &values).unwrap_err().kind(), Kind::Unsupported);
        together(&names).write_selection(&own, &values)?;
        let all = together(&names).read_raw::<String>()?;
        assert_eq!(all, ["same", "rank 0", "same", "rank 1", "same", "rank 2"]);
        // One of the equal values goes, the others stay.
        let some = if rank == 1 { Selection::block(&[0], &[1])? } else { Selection::None };
        together(&names).write_selection(&some, &vec!["other".to_owned(); usize::from(rank == 1)])?;
        assert_eq!(names.read_raw::<String>()?[..3], ["other", "rank 0", "same"]);
        Ok(())
    });
    others_agree(&scratch, "assert f['names'][2] == b'same' and f['names'][5] == b'rank 2'");
}

#[test]
fn filtered_elements_are_refused_independently() {
    let scratch = Scratch::new("filtered");
    in_new_file(&scratch, 2, |file, rank| {
        let data = file.new_dataset::<i32>().shape(8).chunk(4).deflate(1).create("data")?;
        let own = Selection::block(&[4 * rank as u64], &[4])?;
        assert_eq!(data.write_selection(&own, &[1; 4]).unwrap_err().kind(), Kind::Unsupported);
        data.with_transfer(Transfer::collective()).write_selection(&own, &[1; 4])
    });
    others_agree(&scratch, "assert (f['data'][...] == 1).all()");
}

#[test]
fn a_rank_without_elements_takes_part() {
    let scratch = Scratch::new("nothing");
    in_new_file(&scratch, 3, |file, rank| {
        for (name, filters) in [("plain", 0), ("deflated", 1)] {
            let new = file.new_dataset::<u8>().shape(6).chunk(4);
            let data = if filters == 0 { new.create(name)? } else { new.deflate(1).create(name)? };
            let (own, values): (_, &[u8]) =
                if rank == 2 { (Selection::All, &[1, 2, 3, 4, 5, 6]) } else { (Selection::None, &[]) };
            together(&data).write_selection(&own, values)?;
            assert_eq!(together(&data).read_selection::<u8>(&own)?, values);
        }
        Ok(())
    });
    others_agree(&scratch, "assert (f['deflated'][...] == np.arange(1, 7)).all()");
}

#[test]
fn a_file_is_read_by_all() {
    let scratch = Scratch::new("read");
    let file = File::create(scratch.path()).unwrap();
    file.new_dataset_builder().with_data(&whole()).create("data").unwrap();
    file.close().unwrap();
    let done = on_ranks(3, |comm| -> Result<()> {
        let location = scratch.path().to_str().unwrap();
        let file = File::open_parallel_with(comm, location, &hyperslab::FileAccess::read())?;
        assert_eq!(together(&file.dataset("data")?).read_raw::<i32>()?, whole());
        assert_eq!(file.create_group("no").unwrap_err().kind(), Kind::Denied);
        file.close()
    });
    done.into_iter().for_each(|done| done.unwrap());
}

#[test]
fn a_file_of_another_library_is_changed_by_all() {
    if !testkit::oracles::has_h5py() {
        return;
    }
    let scratch = Scratch::new("theirs");
    let make = "import h5py, sys, numpy as np\nwith h5py.File(sys.argv[1], 'w') as f:\n\
        f['contiguous'] = np.zeros((24, 10), 'i4')\n\
        f.create_dataset('chunked', (24, 10), 'i4', chunks=(5, 4))\n\
        f.create_dataset('filtered', (24, 10), 'i4', chunks=(5, 4), compression='gzip')\n";
    let made = make.replace("\nf", "\n f");
    let made =
        std::process::Command::new("python3").args(["-c", &made]).arg(scratch.path()).output().unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let done = on_ranks(4, |comm| -> Result<()> {
        let rank = comm.rank();
        let file = File::open_parallel(comm, scratch.path())?;
        let (start, count) = share(rank, 4);
        for name in ["contiguous", "chunked", "filtered"] {
            let data = together(&file.dataset(name)?);
            data.write_selection(&rows(start, count, COLUMNS), &values(start, count))?;
            assert_eq!(data.read_raw::<i32>()?, whole(), "{name}");
        }
        file.close()
    });
    done.into_iter().for_each(|done| done.unwrap());
    others_agree(&scratch, CHECK);
}
