//! Strings of variable length, more of them than are moved at a time.

use std::path::PathBuf;

use hyperslab::{File, Selection};

fn place(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("hyperslab-strings-{}-{name}.h5", std::process::id()))
}

fn texts(count: usize, salt: usize) -> Vec<String> {
    let text = |n: usize| match (n + salt) % 5 {
        0 => String::new(),
        1 => format!("ž{n}"),
        2 => "long ".repeat(n % 40),
        3 => format!("\u{F780}{n}\u{FEFF}"),
        _ => n.to_string(),
    };
    (0..count).map(text).collect()
}

#[test]
fn any_number_of_strings_comes_back_and_can_be_overwritten() {
    for count in [0, 1, 4095, 4096, 4097, 9001] {
        for chunk in [None, Some(1000)] {
            let path = place(&format!("{count}-{}", chunk.is_some()));
            let file = File::create(&path).unwrap();
            let builder = file.new_dataset::<String>().shape(count);
            let builder =
                if let Some(chunk) = chunk { builder.chunk(chunk.min(count.max(1))) } else { builder };
            let data = builder.create("x").unwrap();
            data.write_raw(&texts(count, 0)).unwrap();
            assert_eq!(data.read_strings().unwrap(), texts(count, 0));
            data.write_raw(&texts(count, 1)).unwrap();
            assert!(data.write_raw(&texts(count + 1, 2)).is_err());
            file.close().unwrap();
            let file = File::open(&path).unwrap();
            let data = file.dataset("x").unwrap();
            assert_eq!(data.read_strings().unwrap(), texts(count, 1));
            let mut into = texts(count, 3);
            data.read_into(&mut into).unwrap();
            assert_eq!(into, texts(count, 1));
            std::fs::remove_file(path).unwrap();
        }
    }
}

#[test]
fn selected_strings_of_a_table_are_written_and_read() {
    let path = place("table");
    let file = File::create(&path).unwrap();
    let data = file.new_dataset::<String>().shape((3, 5000)).create("x").unwrap();
    let column = Selection::block(&[0, 1], &[3, 4999]).unwrap();
    data.write_selection(&column, &texts(3 * 4999, 0)).unwrap();
    let mut expected = vec![String::new(); 15_000];
    let mut from = texts(3 * 4999, 0).into_iter();
    for row in 0..3 {
        for at in 1..5000 {
            expected[row * 5000 + at] = from.next().unwrap();
        }
    }
    assert_eq!(data.read_raw::<String>().unwrap(), expected);
    assert_eq!(data.read_selection::<String>(&column).unwrap(), texts(3 * 4999, 0));
    file.close().unwrap();
    std::fs::remove_file(path).unwrap();
}

/// Two threads overwrite one dataset while a third writes another and a fourth commits: whatever their order, what is in the
/// file is whole. `HYPERSLAB_RACE_FILES` makes more files.
#[test]
fn files_that_threads_write_at_once_are_whole() {
    let path = place("race");
    let files: u64 = std::env::var("HYPERSLAB_RACE_FILES").ok().and_then(|n| n.parse().ok()).unwrap_or(20);
    for n in 0..files {
        let file = File::create(&path).unwrap();
        let [first, second] = ["first", "second"].map(|name| {
            let data = file.new_dataset::<String>().shape([64]).create(name).unwrap();
            data.write_raw(&marked(name, 0)).unwrap();
            data
        });
        std::thread::scope(|scope| {
            for (data, name, seed) in
                [(&first, "first", 100), (&first, "first", 200), (&second, "second", 300)]
            {
                scope.spawn(move || {
                    (0..20).for_each(|round| data.write_raw(&marked(name, seed + round)).unwrap());
                });
            }
            scope.spawn(|| (0..5).for_each(|_| file.commit(hyperslab::Durability::None).unwrap()));
        });
        file.close().unwrap();
        let file = File::open(&path).unwrap();
        for name in ["first", "second"] {
            let found = file.dataset(name).unwrap().read_raw::<String>().unwrap();
            let round = found[0].split(' ').nth(1).unwrap().parse().unwrap();
            assert_eq!(found, marked(name, round), "file {n}");
        }
        let report = hyperslab::check::Check::default().run(&**file.container(), &mut |_| {});
        assert!(report.findings.is_empty(), "file {n}: {:?}", report.findings);
    }
    std::fs::remove_file(&path).unwrap();
}

/// 64 texts that say whose they are, and from which round.
fn marked(name: &str, round: u64) -> Vec<String> {
    (0..64).map(|i| format!("{name} {round} {i} ").repeat(1 + ((round + i) % 17) as usize)).collect()
}
