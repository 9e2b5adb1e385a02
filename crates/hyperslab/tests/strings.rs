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
