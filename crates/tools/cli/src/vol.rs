//! `hyperslab vol`: which connectors and layers there are, and what a stack means.

use std::process::ExitCode;

use hyperslab::extensions::{MirrorResync, MirrorState};
use hyperslab::vol::{Access, Capability, ConnectorInfo, Extension, FileAccess, StackEntry, call};
use hyperslab::{Error, Result};

use crate::help::refuse;
use crate::settings::{layered, registry, settings};

pub(crate) const USAGE: &str = "\
usage: hyperslab vol list          every connector and layer: number, version, what it can do, where it came from
       hyperslab vol show STACK    what a stack does with every operation, from the caller down
       hyperslab --vol \"mirror{to=…}\" vol state LOCATION     which copies of a container are up to date
       hyperslab --vol \"mirror{to=…}\" vol resync LOCATION    creates the others anew
";

pub(crate) fn run(args: &[String]) -> ExitCode {
    let done = match args {
        [command] if command == "list" => {
            list();
            Ok(())
        }
        [command, stack] if command == "show" => show(stack),
        [command, location] if command == "state" => ask::<MirrorState>(location, Access::Read),
        [command, location] if command == "resync" => ask::<MirrorResync>(location, Access::Write),
        [option] if option == "-h" || option == "--help" => {
            print!("{USAGE}");
            return ExitCode::SUCCESS;
        }
        _ => return refuse("vol", args),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("hyperslab vol: {error}");
            ExitCode::FAILURE
        }
    }
}

fn list() {
    println!("connectors, which store containers; NAME:PATH chooses one");
    for connector in registry().connectors() {
        let info = connector.info();
        line(&info, registry().origin(info.name));
        println!("    {}", can(&info.capability));
    }
    println!("\nlayers, which stand over them; --vol \"A | B{{key=value}}\" chooses some, outermost first");
    for layer in registry().layers() {
        let info = layer.info();
        line(&info, registry().layer_origin(info.name));
    }
    for skipped in &settings().skipped {
        println!("passed over: {skipped}");
    }
}

fn line(info: &ConnectorInfo, origin: &str) {
    println!("  {:<10} {:>4}  version {}  {} ({origin})", info.name, info.value, info.version, info.about);
}

/// Returns what a connector can do, or what it cannot where that is shorter.
fn can(capability: &Capability) -> String {
    let all = capability.list();
    let named = |wanted: bool| {
        let some = all.iter().filter(|(_, can)| *can == wanted).map(|(name, _)| name.as_str());
        some.collect::<Vec<_>>().join(", ")
    };
    let count = all.iter().filter(|(_, can)| *can).count();
    match count {
        n if n == all.len() => "can do everything".to_owned(),
        n if 2 * n > all.len() => format!("can do everything but: {}", named(false)),
        _ => format!("can do: {}", named(true)),
    }
}

fn show(text: &str) -> Result<()> {
    let stack = registry().check_stack(text).map_err(|error| pointed(text, error))?;
    println!("the caller");
    for entry in &stack.0 {
        println!("  |");
        let info = registry().layer(&entry.name)?.info();
        println!("{} ({}): {}", shown(entry), info.value, info.about);
    }
    println!("  |");
    let inner =
        registry().connectors().next().ok_or_else(|| Error::not_found("find default connector"))?.info();
    println!(
        "the connector that the location names, or else {} ({}): {}",
        inner.name, inner.value, inner.about
    );
    Ok(())
}

/// Asks a layer for what only it has, and prints its answer.
fn ask<E: Extension<Request = (), Answer = String>>(location: &str, access: Access) -> Result<()> {
    let container = registry().open(location, &layered(FileAccess { access, ..FileAccess::default() }))?;
    println!("{}", call::<E>(&*container, &())?);
    container.close()
}

fn shown(entry: &StackEntry) -> String {
    let parameters: Vec<String> =
        entry.parameters.iter().map(|(key, value)| format!("{key}={value}")).collect();
    if parameters.is_empty() {
        entry.name.clone()
    } else {
        format!("{}{{{}}}", entry.name, parameters.join(", "))
    }
}

/// Characters of a stack that are shown on either side of the place that an error names.
const SHOWN_AROUND: usize = 60;

/// Returns the stack with a mark under the place that an error names.
fn pointed(text: &str, error: Error) -> Error {
    if let Some(at) =
        error.facts().find(|(key, _)| *key == "character").and_then(|(_, at)| at.parse::<usize>().ok())
    {
        let (line, column) = around(text, at);
        eprintln!("  {line}\n  {}^", " ".repeat(column.saturating_sub(1)));
    }
    error
}

/// Returns the part of a text that is around a character, counted from one, and where that is in it.
fn around(text: &str, at: usize) -> (String, usize) {
    let skipped = at.saturating_sub(SHOWN_AROUND);
    let line: String = text.chars().skip(skipped).take(2 * SHOWN_AROUND).collect();
    (line, at - skipped)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_far_into_a_long_stack_is_shown() {
        let text = "x".repeat(100_000) + "!";
        assert_eq!(around(&text, 100_001), ("x".repeat(59) + "!", 60));
        assert_eq!(around("a | b", 3), ("a | b".to_owned(), 3));
        let error = Error::invalid("read stack").with("character", 100_001);
        assert_eq!(pointed(&text, error).operation(), "read stack");
    }
}
