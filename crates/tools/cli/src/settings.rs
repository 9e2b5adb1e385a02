//! What holds for the whole command: the connectors that are known, and the layers that the user asked for.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use hyperslab::vol::{Budget, Container, FileAccess, Registry, Stack};
use hyperslab::{Environment, Error, Result};

static SETTINGS: OnceLock<Environment> = OnceLock::new();
/// Containers whose statistics are printed at the end.
static MEASURED: Mutex<Vec<Arc<dyn Container>>> = Mutex::new(Vec::new());

/// Memory that the contents of all containers of a command may take, unless `--memory` says otherwise: a command is pointed at
/// files that nobody vouches for.
const MEMORY_BYTES: u64 = 768 << 20;

/// Reads the environment, and takes the options before the command off the words: `--vol STACK`, `--memory BYTES`.
pub(crate) fn read(mut words: &[String]) -> Result<&[String]> {
    let mut found = Environment::read()?;
    let mut memory = MEMORY_BYTES;
    while let Some((option, value, rest)) = option(words)? {
        match option {
            "--vol" => {
                found.registry.check_stack(value)?;
                found.stack = Some(value.to_owned());
            }
            _ => memory = bytes(value)?,
        }
        words = rest;
    }
    found.registry.set_budget(Budget::new("the command (--memory)", memory));
    let _ = SETTINGS.set(found);
    Ok(words)
}

/// Options that stand before the command, each with a value.
const OPTIONS: [&str; 2] = ["--vol", "--memory"];

/// The next option, its value, and the words after it.
fn option(words: &[String]) -> Result<Option<(&'static str, &str, &[String])>> {
    let [word, rest @ ..] = words else { return Ok(None) };
    let (name, value) =
        word.split_once('=').map_or((word.as_str(), None), |(name, value)| (name, Some(value)));
    let Some(option) = OPTIONS.into_iter().find(|option| *option == name) else { return Ok(None) };
    match (value, rest) {
        (Some(value), rest) => Ok(Some((option, value, rest))),
        (None, [value, rest @ ..]) => Ok(Some((option, value, rest))),
        (None, []) => Err(Error::invalid("read arguments").with("option without a value", option)),
    }
}

/// A number of bytes: `4096`, `512M`, `2G`.
fn bytes(text: &str) -> Result<u64> {
    let digits = text.trim_end_matches(['k', 'K', 'm', 'M', 'g', 'G']);
    let shift = match &text[digits.len()..] {
        "" => 0,
        "k" | "K" => 10,
        "m" | "M" => 20,
        "g" | "G" => 30,
        _ => 64,
    };
    let number: Option<u64> = digits.parse().ok();
    let scaled = number.and_then(|number| number.checked_mul(1u64.checked_shl(shift)?));
    scaled.ok_or_else(|| Error::invalid("read arguments").with("bytes", text))
}

/// What was read.
pub(crate) fn settings() -> &'static Environment {
    SETTINGS.get_or_init(|| Environment { registry: hyperslab::registry(), ..Environment::default() })
}

/// The connectors and layers that are known.
pub(crate) fn registry() -> &'static Registry {
    &settings().registry
}

/// Access properties with the layers that the user asked for. What ends with an error commits nothing more.
pub(crate) fn layered(access: FileAccess) -> FileAccess {
    FileAccess { stack: settings().stack.clone(), discard_on_drop: true, ..access }
}

/// A container whose layers may have something to say at the end.
pub(crate) fn measured(container: Arc<dyn Container>) -> Arc<dyn Container> {
    let stack = settings().stack.as_deref().and_then(|stack| Stack::parse(stack).ok()).unwrap_or_default();
    let prints =
        |entry: &hyperslab::vol::StackEntry| entry.name == "stats" && entry.parameters.get("out").is_none();
    if stack.0.iter().any(prints) {
        MEASURED.lock().unwrap_or_else(PoisonError::into_inner).push(container.clone());
    }
    container
}

/// Prints what layers measured.
pub(crate) fn print_measured() {
    for container in std::mem::take(&mut *MEASURED.lock().unwrap_or_else(PoisonError::into_inner)) {
        if let Ok(table) = container.optional("stats.table", &[]) {
            eprint!("{}", String::from_utf8_lossy(&table));
        }
    }
}
