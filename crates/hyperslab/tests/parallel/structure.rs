//! Groups, links, attributes and extents, which rank 0 changes for all.

use hyperslab::{File, LinkTarget, Result};

use crate::common::{Scratch, in_new_file, on_ranks, others_agree, together};

#[test]
fn all_ranks_see_what_changed() {
    let scratch = Scratch::new("structure");
    in_new_file(&scratch, 3, |file, _| {
        for n in 0..40 {
            let group = file.create_group(&format!("groups/{n}"))?;
            group.set_attr("number", n)?;
            group.set_attr("text", format!("number {n}"))?;
        }
        file.link_soft("/groups/7", "soft")?;
        file.link_hard("/groups/8", "hard")?;
        assert_eq!(file.group("groups")?.member_names()?.len(), 40);
        assert_eq!(file.group("soft")?.attr("text")?.read_string()?, "number 7");
        assert_eq!(file.group("hard")?.attr("number")?.read_scalar::<i32>()?, 8);
        file.unlink("groups/9")?;
        file.relink("groups/10", "moved")?;
        assert!(file.group("groups/9").is_err() && file.group("moved").is_ok());
        file.flush()?;
        file.group("moved")?.attr("number")?.write_scalar(&-10)?;
        assert_eq!(file.group("moved")?.attr("number")?.read_scalar::<i32>()?, -10);
        Ok(())
    });
    others_agree(
        &scratch,
        "assert len(f['groups']) == 38 and f['moved'].attrs['number'] == -10 and f['soft'].attrs['text'] == 'number 7'",
    );
}

#[test]
fn datasets_grow_and_shrink() {
    let scratch = Scratch::new("resized");
    in_new_file(&scratch, 2, |file, rank| {
        let new = || file.new_dataset::<i64>().shape([0]).max_shape([hyperslab::UNLIMITED_DIM]).chunk([3]);
        for data in [new().create("plain")?, new().deflate(1).create("deflated")?] {
            for round in 0..5_u64 {
                data.resize([(round as usize + 1) * 8])?;
                let start = round * 8 + rank as u64 * 4;
                let own = hyperslab::Selection::block(&[start], &[4])?;
                together(&data).write_selection(&own, &[start as i64; 4])?;
                if round == 2 {
                    file.flush()?;
                }
            }
            data.resize([30])?;
            let expected: Vec<i64> = (0..30).map(|n| n / 4 * 4).collect();
            assert_eq!(data.read_raw::<i64>()?, expected);
        }
        Ok(())
    });
    others_agree(&scratch, "for d in f: assert (f[d][...] == np.arange(30) // 4 * 4).all(), f[d][...]");
}

#[test]
fn a_file_is_opened_again_and_changed() {
    let scratch = Scratch::new("again");
    for round in 0..4 {
        let done = on_ranks(2, |comm| -> Result<()> {
            let file = match round {
                0 => File::create_parallel(comm, scratch.path())?,
                _ => File::open_parallel(comm, scratch.path())?,
            };
            file.create_group(&format!("round {round}"))?.set_attr("round", round)?;
            assert_eq!(file.member_names()?.len(), round as usize + 1);
            // Dropping it closes it, on all ranks.
            if round == 3 { file.close() } else { Ok(()) }
        });
        done.into_iter().for_each(|done| done.unwrap());
    }
    others_agree(&scratch, "assert [f[name].attrs['round'] for name in sorted(f)] == [0, 1, 2, 3]");
}

#[test]
fn external_links_are_stored() {
    let scratch = Scratch::new("links");
    in_new_file(&scratch, 2, |file, _| {
        let target = LinkTarget::External { file: "other.h5".to_owned(), path: "/a".to_owned() };
        file.link_external("other.h5", "/a", "away")?;
        assert_eq!(file.link("away")?.target, target);
        Ok(())
    });
}

#[test]
fn mpio_is_a_plain_file_and_other_drivers_are_refused() {
    let scratch = Scratch::new("mpio");
    let create = |comm, driver: &str| {
        let access =
            hyperslab::FileAccess { driver: Some(driver.to_owned()), ..hyperslab::FileAccess::write() };
        let location = scratch.path().to_str().expect("a path");
        File::create_parallel_with(comm, location, &Default::default(), &access, true)?.close()
    };
    on_ranks(2, |comm| create(comm, "mpio")).into_iter().for_each(|done| done.unwrap());
    for done in on_ranks(2, |comm| create(comm, "subfiling")) {
        assert_eq!(done.unwrap_err().kind(), hyperslab::Kind::Unsupported);
    }
    assert!(File::open(scratch.path()).is_ok(), "the refused one left what was there");
    let name = scratch.path().file_name().expect("a name").to_string_lossy().into_owned();
    let entries = std::fs::read_dir(std::env::temp_dir()).unwrap().flatten();
    let made = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(&name)).count();
    assert_eq!(made, 1, "no subfile was made");
}
