//! Many writers of one container: threads, and a process that is killed.

mod kit;

use std::path::Path;

use kit::{create, dataset, open, problems, read, write};
use model::properties::FileCreate;
use model::{Kind, LinkTarget};
use testkit::rounds;
use vol::{FileAccess, OpList, Place};

const THREADS: usize = 4;
const DATASETS: usize = 500;

#[test]
fn four_threads_make_datasets_in_one_container() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("c");
    let c = create(&place, &FileCreate::default()).unwrap();
    let root = c.info().unwrap().root;
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let c = &*c;
            scope.spawn(move || {
                for n in 0..DATASETS {
                    let place = Place::new(root, format!("{thread} {n}"));
                    let data = dataset(c, place, &[4], &[4]).unwrap();
                    write(c, data, &[thread as i32, n as i32, 0, -1]).unwrap();
                }
            });
        }
    });
    c.close().unwrap();
    let c = open(&place, &FileAccess::read()).unwrap();
    let all = OpList { count_max: 10_000, ..OpList::default() };
    let links = c.link_list(root, &all).unwrap().entries;
    assert_eq!(links.len(), THREADS * DATASETS);
    for link in links {
        let LinkTarget::Hard(token) = link.target else { panic!("{link:?}") };
        let values = read(&*c, token).unwrap();
        assert_eq!(link.name, format!("{} {}", values[0], values[1]));
    }
    assert_eq!(problems(&*c).unwrap(), Vec::<String>::new());
}

/// The writer that is killed.
#[test]
#[ignore = "it runs until somebody kills it"]
fn writer() {
    let opened = |folder: &Path| match open(folder, &FileAccess::write()) {
        Err(error) if error.kind() == Kind::NotFound => create(folder, &FileCreate::default()),
        opened => opened,
    };
    rounds::writer(opened).unwrap();
}

#[test]
fn a_killed_writer_leaves_what_it_committed_and_nothing_half() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("c");
    let open = |place: &Path| open(place, &FileAccess::read());
    rounds::kill_writers(&place, open, |c| assert_eq!(problems(c).unwrap(), Vec::<String>::new()));
}
