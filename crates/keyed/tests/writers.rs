//! Many writers of one container: threads, and a process that is killed.

mod common;

use std::collections::HashSet;
use std::path::Path;

use common::{Subject, each};
use model::{Kind, LinkTarget};
use testkit::ints::{dataset, problems, read, write};
use testkit::rounds;
use vol::{FileAccess, LinkLocation, OpList};

const THREADS: usize = 4;
const DATASETS: usize = 2500;

#[test]
fn four_threads_make_datasets_in_one_container() {
    each(|subject, path| {
        let c = subject.create(path).unwrap();
        let root = c.info().unwrap().root;
        std::thread::scope(|scope| {
            for thread in 0..THREADS {
                let c = &*c;
                scope.spawn(move || {
                    for n in 0..DATASETS {
                        let place = LinkLocation::new(root, format!("{thread} {n}"));
                        let data = dataset(c, place, &[4], &[4]).unwrap();
                        write(c, data, &[thread as i32, n as i32, 0, -1]).unwrap();
                    }
                });
            }
        });
        c.close().unwrap();
        let c = subject.open(path, &FileAccess::read()).unwrap();
        let (mut skip, mut seen) = (0, HashSet::new());
        loop {
            let page = c.link_list(root, &OpList { skip, count_max: 1000, ..OpList::default() }).unwrap();
            for link in &page.entries {
                let LinkTarget::Hard(token) = link.target else { panic!("{link:?}") };
                assert!(seen.insert(token), "{} is another's object", link.name);
                let values = read(&*c, token).unwrap();
                assert_eq!(link.name, format!("{} {}", values[0], values[1]));
            }
            skip += page.entries.len() as u64;
            if !page.more {
                break;
            }
        }
        assert_eq!(seen.len(), THREADS * DATASETS);
        assert_eq!(problems(&*c).unwrap(), Vec::<String>::new());
    });
}

/// The writer that is killed. The folder's name says which connector it uses.
#[test]
#[ignore = "it runs until it is killed"]
fn writer() {
    let opened = |folder: &Path| {
        let subject = Subject::of(folder);
        match subject.open(folder, &FileAccess::write()) {
            Err(error) if error.kind() == Kind::NotFound => subject.create(folder),
            opened => opened,
        }
    };
    rounds::writer(opened).unwrap();
}

#[test]
fn a_killed_writer_leaves_what_it_committed_and_nothing_half() {
    each(|subject, path| {
        let open = |path: &Path| subject.open(path, &FileAccess::read());
        rounds::kill_writers(path, open, |c| assert_eq!(problems(c).unwrap(), Vec::<String>::new()));
    });
}
