//! Settings of the whole command: the registered connectors, and the layers that the user chose.

use std::sync::{Arc, OnceLock};

use hyperslab::extensions::StatsTable;
use hyperslab::vol::{Budget, Container, FileAccess, Registry, Stack, call};
use hyperslab::work::{Work, WorkLimits};
use hyperslab::{Environment, Result};
use system::sync::Mutex;

use crate::common;

static SETTINGS: OnceLock<Environment> = OnceLock::new();
static WORK: OnceLock<Work> = OnceLock::new();
const MORE_WORK: &str = "--expand or --timeout SECONDS reads all there is";
/// Containers whose statistics are printed at the end.
static MEASURED: Mutex<Vec<Arc<dyn Container>>> = Mutex::new(Vec::new());

/// Reads the environment, and takes the options before the command off the words: `--vol STACK`.
pub(crate) fn read(mut words: &[String]) -> Result<&[String]> {
    let mut found = Environment::read()?;
    while let [option, rest @ ..] = words {
        let (stack, rest) = match (option.as_str(), option.strip_prefix("--vol=")) {
            (_, Some(stack)) => (stack, rest),
            ("--vol", None) => match rest {
                [stack, rest @ ..] => (stack.as_str(), rest),
                [] => return Err(hyperslab::Error::invalid("read arguments").with("option", "--vol")),
            },
            _ => break,
        };
        found.registry.check_stack(stack)?;
        (found.stack, words) = (Some(stack.to_owned()), rest);
    }
    found.registry.set_budget(Budget::new("the command (--memory)", common::memory()));
    let _ = WORK.set(Work::new(work_limits(words), MORE_WORK));
    let _ = SETTINGS.set(found);
    Ok(words)
}

/// Returns what was read.
pub(crate) fn settings() -> &'static Environment {
    SETTINGS.get_or_init(|| Environment { registry: hyperslab::registry(), ..Environment::default() })
}

/// Returns the connectors and layers that are known.
pub(crate) fn registry() -> &'static Registry {
    &settings().registry
}

/// Returns the account of work of the whole command.
pub(crate) fn work() -> &'static Work {
    WORK.get_or_init(|| Work::new(WorkLimits::default(), MORE_WORK))
}

/// Returns what a command may do. `--expand` and `--timeout` lift the limits.
fn work_limits(words: &[String]) -> WorkLimits {
    match words.first().map(String::as_str) {
        _ if common::is_patient() => WorkLimits::NONE,
        Some("dump" | "ls") => WorkLimits::TEXT,
        _ => WorkLimits::default(),
    }
}

/// Access properties with the layers that the user asked for. What ends with an error commits nothing more.
pub(crate) fn layered(access: FileAccess) -> FileAccess {
    FileAccess { stack: settings().stack.clone(), discard_on_drop: true, ..access }
}

/// Returns a container whose layers may have something to say at the end.
pub(crate) fn measured(container: Arc<dyn Container>) -> Arc<dyn Container> {
    let stack = settings().stack.as_deref().and_then(|stack| Stack::parse(stack).ok()).unwrap_or_default();
    let prints =
        |entry: &hyperslab::vol::StackEntry| entry.name == "stats" && entry.parameters.get("out").is_none();
    if stack.0.iter().any(prints) {
        MEASURED.lock().push(container.clone());
    }
    container
}

/// Prints what layers measured.
pub(crate) fn print_measured() {
    for container in std::mem::take(&mut *MEASURED.lock()) {
        if let Ok(table) = call::<StatsTable>(&*container, &()) {
            eprint!("{table}");
        }
    }
}
