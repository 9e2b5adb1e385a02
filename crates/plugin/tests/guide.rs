//! The code in the guides is that of the examples, which the other tests compile and run.

use std::path::Path;

/// Blocks of code that start with the name of a file, and that name.
fn blocks(page: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for block in page.split("\n```").skip(1).step_by(2) {
        let mut lines = block.lines().skip(1);
        let name = lines.next().and_then(|line| line.strip_prefix("// ").or(line.strip_prefix("# ")));
        if let Some(name) = name.filter(|name| name.contains('/') && !name.contains(' ')) {
            found.push((name.to_owned(), lines.collect::<Vec<_>>().join("\n")));
        }
    }
    found
}

#[test]
fn code_in_the_guides_is_that_of_the_examples() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for (guide, count_min) in [("docs/write-a-connector.md", 25), ("docs/plugins.md", 1)] {
        let blocks = blocks(&std::fs::read_to_string(root.join(guide)).unwrap());
        assert!(blocks.len() >= count_min, "{guide}: {} blocks", blocks.len());
        for (name, code) in blocks {
            let file = std::fs::read_to_string(root.join(&name)).unwrap();
            assert!(file.contains(&code), "{guide}: this is not in {name}:\n{code}");
        }
    }
}
