//! Puts the steps of the tutorial together. A block of code that starts with `// step N` belongs to step `N`; after each step,
//! all that was shown so far is a module of its own, so that a reader who stops there has something that compiles.

use std::fmt::Write;
use std::path::Path;

const TUTORIAL: &str = "../../docs/write-a-connector.md";

/// Blocks of Rust, each with its step.
fn blocks(page: &str) -> Vec<(usize, String)> {
    let code = page.split("\n```").skip(1).step_by(2);
    let step_of = |block: &str| {
        let rest = block.strip_prefix("rust\n// step ")?;
        let (step, code) = rest.split_once('\n')?;
        Some((step.trim().parse().ok()?, code.to_owned()))
    };
    code.filter_map(step_of).collect()
}

fn main() {
    println!("cargo::rerun-if-changed={TUTORIAL}");
    println!("cargo::rerun-if-changed=build.rs");
    let page = std::fs::read_to_string(TUTORIAL).expect("the tutorial is there");
    let blocks = blocks(&page);
    let last = blocks.iter().map(|(step, _)| *step).max().expect("the tutorial has steps");
    let mut out = String::new();
    for step in 1..=last {
        let shown = blocks.iter().filter(|(of, _)| *of <= step);
        let code: Vec<_> = shown.map(|(_, code)| code.as_str()).collect();
        assert!(blocks.iter().any(|(of, _)| *of == step), "step {step} has no code");
        writeln!(out, "/// All code up to step {step}.\n#[allow(dead_code, missing_docs, unused_imports)]")
            .unwrap();
        writeln!(out, "pub mod step_{step} {{\n{}\n}}", code.join("\n")).unwrap();
    }
    writeln!(out, "pub use step_{last} as whole;").unwrap();
    let place = std::env::var("OUT_DIR").expect("cargo sets it");
    std::fs::write(Path::new(&place).join("steps.rs"), out).expect("the folder can be written");
}
