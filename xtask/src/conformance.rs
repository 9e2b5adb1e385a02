//! `cargo xtask conformance`: the suite on every connector and on stacks, as a table; `--write` puts it into the page.

use std::process::{Command, ExitCode, Stdio};

use crate::root;

const PAGE: &str = "docs/connectors.md";

pub(crate) fn run(arguments: &[String]) -> ExitCode {
    let is_write = match arguments {
        [] => false,
        [one] if one == "--write" => true,
        _ => {
            eprintln!("usage: cargo xtask conformance [--write]");
            return ExitCode::from(2);
        }
    };
    match tables(is_write) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(problem) => {
            eprintln!("xtask conformance: {problem}");
            ExitCode::FAILURE
        }
    }
}

/// Prints the matrix; whether every subject shows what it claims. A matrix with failures is not written.
fn tables(is_write: bool) -> Result<bool, String> {
    let (matrix, is_whole) = printed(&[])?;
    print!("{matrix}");
    if is_write && is_whole {
        let (capabilities, _) = printed(&["capabilities"])?;
        let page = root().join(PAGE);
        let text = std::fs::read_to_string(&page).map_err(|e| format!("{PAGE}: {e}"))?;
        let text = replaced(&text, "capabilities", &capabilities)?;
        let text = replaced(&text, "conformance", &matrix)?;
        std::fs::write(&page, text).map_err(|e| format!("{PAGE}: {e}"))?;
    }
    Ok(is_whole)
}

/// What the program of `tests/stacks` prints, and whether it succeeded. It is a process of its own, so that other chores
/// need not wait until every connector is built.
fn printed(arguments: &[&str]) -> Result<(String, bool), String> {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(["run", "--quiet", "-p", "stacks", "--bin", "conformance", "--"]).args(arguments);
    let output = cargo.current_dir(root()).stderr(Stdio::inherit()).output();
    let output = output.map_err(|e| format!("cannot run cargo: {e}"))?;
    match String::from_utf8(output.stdout) {
        Ok(text) if !text.is_empty() => Ok((text, output.status.success())),
        _ => Err("the suite did not run".to_owned()),
    }
}

/// `text` with `new` between the markers of that name.
fn replaced(text: &str, name: &str, new: &str) -> Result<String, String> {
    let (begin, end) = (format!("<!-- {name} -->\n"), format!("<!-- end of {name} -->"));
    let missing = || format!("{PAGE} has no markers of {name}");
    let (before, rest) = text.split_once(&begin).ok_or_else(missing)?;
    let (_, after) = rest.split_once(&end).ok_or_else(missing)?;
    Ok(format!("{before}{begin}{new}{end}{after}"))
}

#[cfg(test)]
mod tests {
    use super::replaced;

    #[test]
    fn only_what_stands_between_markers_is_replaced() {
        let page = "a\n<!-- x -->\nold\n<!-- end of x -->\nb\n";
        assert_eq!(replaced(page, "x", "new\n").unwrap(), "a\n<!-- x -->\nnew\n<!-- end of x -->\nb\n");
        assert!(replaced(page, "y", "new\n").is_err());
    }
}
