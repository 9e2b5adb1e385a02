//! `hyperslab copy`: containers, objects and subtrees, from any storage to any other.

mod alter;
mod journal;
pub(crate) mod repack;
mod replace;
mod work;

use std::io::Read;
use std::process::ExitCode;

use alter::{Change, apply};
use hyperslab::vol::algorithms::copy::CopyContext;
use hyperslab::vol::model::ObjectPath;
use hyperslab::vol::model::properties::FileCreate;
use hyperslab::vol::{Container, CopyOptions, FileAccess, LinkLocation, OpGroupCreate, Resolver};
use hyperslab::{Error, Kind, Limits, Result, Token};
use journal::Journal;
use work::{Output, Work};

use crate::help::{option_names, refuse, unknown_option};
use crate::near::hint;
use crate::open::{OpenContainer, open_inner, shown};
use crate::settings::{layered, measured, registry};

pub(crate) const USAGE: &str = "\
usage: hyperslab copy [OPTIONS] SOURCE TARGET
  Copies everything in SOURCE to a new container TARGET, or one object to a path in it.
  -s, --source PATH  copy this object with all that is below it, to a container that may exist already
  -d, --target PATH  its path there; without this, the same path
  -p, --parents      create groups that are missing on this path
  -f, --flags LIST   shallow: only the members of a group, soft: what soft links lead to, ext: what external
                     links lead to, ref: what references point to, noattr: no attributes, merge: share equal
                     committed datatypes, allflags: shallow, soft, ext, ref
      --filter [PATHS:]FILTER
                     other filters, as for `hyperslab repack`; may be given more than once
      --overwrite    replace a TARGET that exists
      --if-absent    leave a TARGET that exists as it is; without this, it is an error
      --resume       keep what is done when the copy is stopped, in TARGET.partial or TARGET, with notes in
                     TARGET.resume; and go on from there the next time
      --strict       fail where TARGET cannot hold something; otherwise it is named, and the rest is copied
  Nothing half-written is left behind when the copy is stopped or fails.
";

#[derive(Default)]
struct Arguments {
    containers: Vec<String>,
    source: Option<String>,
    target: Option<String>,
    flags: Vec<String>,
    changes: Vec<Change>,
    parents: bool,
    overwrite: bool,
    if_absent: bool,
    resume: bool,
    strict: bool,
}

/// Returns the value of an option: what follows `=`, or the next word.
pub(crate) fn value(word: &str, rest: &mut std::slice::Iter<'_, String>) -> Result<String> {
    match word.split_once('=') {
        Some((_, value)) if word.starts_with("--") => Ok(value.to_owned()),
        _ => rest.next().cloned().ok_or_else(|| Error::invalid("read arguments").with("option", word)),
    }
}

/// Returns the error for an option that a command with this help text does not have.
fn unknown(option: &str, usage: &'static str) -> Error {
    let problem = unknown_option(option, option_names(usage));
    Error::invalid("read arguments").with("problem", problem)
}

fn parse(args: &[String]) -> Result<Arguments> {
    let mut found = Arguments::default();
    let mut rest = args.iter();
    while let Some(word) = rest.next() {
        match word.split('=').next().unwrap_or(word) {
            "-s" | "--source" => found.source = Some(value(word, &mut rest)?),
            "-d" | "--target" | "--destination" => found.target = Some(value(word, &mut rest)?),
            "-f" | "--flags" | "--flag" => {
                found.flags.extend(value(word, &mut rest)?.split(',').map(str::to_owned));
            }
            "--filter" => found.changes.push(Change::filter(&value(word, &mut rest)?)?),
            "-p" | "--parents" => found.parents = true,
            "--overwrite" => found.overwrite = true,
            "--if-absent" => found.if_absent = true,
            "--resume" => found.resume = true,
            "--strict" => found.strict = true,
            _ if word.starts_with('-') => return Err(unknown(word, USAGE)),
            _ => found.containers.push(word.clone()),
        }
    }
    Ok(found)
}

/// Copies what the command line names.
pub(crate) fn run(args: &[String]) -> ExitCode {
    if args.iter().any(|arg| arg == "-h" || arg == "--help") {
        print!("{USAGE}");
        return ExitCode::SUCCESS;
    }
    let arguments = match parse(args) {
        Ok(arguments) if arguments.containers.len() == 2 && !(arguments.overwrite && arguments.if_absent) => {
            arguments
        }
        Err(error) => return report("copy", Err(error)),
        Ok(_) => return refuse("copy", args),
    };
    match copy(&arguments) {
        Err(error) if arguments.if_absent && error.kind() == Kind::Exists => ExitCode::SUCCESS,
        done => report("copy", done),
    }
}

/// Says what went wrong, if anything did.
fn report(command: &str, done: Result<()>) -> ExitCode {
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("hyperslab {command}: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Reads the words of `-f`, which are those of h5copy.
fn options_of(flags: &[String]) -> Result<CopyOptions> {
    let mut options = CopyOptions::default();
    for flag in flags {
        match flag.as_str() {
            "shallow" => options.shallow = true,
            "soft" => options.expand_soft_links = true,
            "ext" => options.expand_external_links = true,
            "ref" => options.expand_references = true,
            "noattr" => options.without_attributes = true,
            "merge" => options.merge_committed_types = true,
            "allflags" => {
                (options.shallow, options.expand_soft_links) = (true, true);
                (options.expand_external_links, options.expand_references) = (true, true);
            }
            _ => return Err(Error::invalid("read arguments").with("flag", flag)),
        }
    }
    Ok(options)
}

fn copy(arguments: &Arguments) -> Result<()> {
    let [from, to] = &arguments.containers[..] else { return Err(Error::invalid("read arguments")) };
    let source = open_inner(from)?;
    let work = Work::start("copy")?;
    let (limits, tell) = (Limits::default(), |progress| work.tell(progress));
    let lost = |path: &str, what: &str, error: &Error| work.lost(path, what, error);
    let mut context = CopyContext { tell: Some(&tell), ..CopyContext::new(&limits) };
    if !arguments.strict {
        context.lost = Some(&lost);
    }
    let alter = |path: &ObjectPath, op: &mut _| apply(&arguments.changes, 0, path, op);
    if !arguments.changes.is_empty() {
        context.alter = Some(&alter);
    }
    context.options = options_of(&arguments.flags)?;
    if let Some(resolver) = &source.resolver {
        context.resolver = Some((resolver.as_ref() as &dyn Resolver, from));
    }
    match &arguments.source {
        None if arguments.resume => copy_resumed(arguments, &source, to, (context, &work)),
        None => {
            let create = source.container.info()?.create.clone();
            let output =
                Output::create(to, &create, &FileAccess::write(), arguments.overwrite, context.lost)?;
            work.expect(&source, None, (output.container(), !arguments.changes.is_empty()));
            hyperslab::vol::algorithms::copy::contents(
                source.container.as_ref(),
                output.container(),
                context,
            )?;
            output.finish(&user_block(from, create.userblock_bytes)?)
        }
        Some(path) => copy_object(arguments, &source, path, to, (context, &work)),
    }
}

/// Copies everything, and goes on where an earlier run was stopped.
fn copy_resumed(
    arguments: &Arguments,
    source: &OpenContainer,
    to: &str,
    (context, work): (CopyContext<'_>, &Work),
) -> Result<()> {
    if context.options.expand_references || context.options.expand_external_links {
        return Err(
            Error::invalid("read arguments").with("problem", "--resume goes with neither ref nor ext")
        );
    }
    let create = source.container.info()?.create.clone();
    let (output, notes) = Output::resume(to, &create, arguments.overwrite, context.lost)?;
    if !notes.exists() {
        work.expect(source, None, (output.container(), !arguments.changes.is_empty()));
    }
    let journal = Journal::open(&notes, &source.location, output.container())?;
    let context = CopyContext { resume: Some(&journal), ..context };
    let done =
        hyperslab::vol::algorithms::copy::contents(source.container.as_ref(), output.container(), context);
    // Also of a copy that was stopped as much as possible stays.
    let noted = journal.checkpoint();
    done.and(noted).map_err(|error| error.with("help", "the same command goes on from here"))?;
    let user_block = user_block(&source.location, create.userblock_bytes)?;
    journal.remove()?;
    drop(journal);
    output.finish(&user_block)
}

/// Returns what stands before a file's content: it is not the library's, but the user's.
fn user_block(location: &str, bytes: u64) -> Result<Vec<u8>> {
    let place = hyperslab::vol::Location::parse(location);
    let io = |e: std::io::Error| Error::io("read user block", &e).with("path", &place.path);
    let mut block = Vec::new();
    if bytes > 0 && place.connector.as_deref().is_some_and(|connector| connector != "native") {
        // A server's file is not ours to open.
        eprintln!(
            "hyperslab copy: {}: the bytes of the user block are lost: they are out of reach",
            shown(location)
        );
    } else if bytes > 0 {
        std::fs::File::open(&place.path).map_err(io)?.take(bytes).read_to_end(&mut block).map_err(io)?;
    }
    Ok(block)
}

fn copy_object(
    arguments: &Arguments,
    source: &OpenContainer,
    path: &str,
    to: &str,
    (context, work): (CopyContext<'_>, &Work),
) -> Result<()> {
    let root = source.container.info()?.root;
    let object = hyperslab::vol::path::token(
        source.container.as_ref(),
        root,
        path,
        context.limits.link_traversals_max,
    )
    .inspect_err(|_| hint(source.container.as_ref(), path))?;
    let place = arguments.target.as_deref().unwrap_or(path);
    if !arguments.overwrite && is_there(to)? {
        // What is not committed is not there: a copy that is stopped leaves the container as it was.
        let target = measured(registry().open(to, &layered(FileAccess::write()))?);
        work.expect(source, Some(object), (&*target, !arguments.changes.is_empty()));
        put(source, object, &*target, place, arguments.parents, context)?;
        return target.close();
    }
    let output =
        Output::create(to, &FileCreate::default(), &FileAccess::write(), arguments.overwrite, context.lost)?;
    work.expect(source, Some(object), (output.container(), !arguments.changes.is_empty()));
    put(source, object, output.container(), place, arguments.parents, context)?;
    output.finish(&[])
}

/// Returns whether a container is at a location. One that is there and does not open is an error, and not a place for a new one.
fn is_there(location: &str) -> Result<bool> {
    match registry().open(location, &FileAccess::read()) {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == Kind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

fn put(
    source: &OpenContainer,
    object: Token,
    target: &dyn Container,
    path: &str,
    parents: bool,
    context: CopyContext<'_>,
) -> Result<()> {
    let place = place_of(target, path, parents, context.limits)?;
    hyperslab::vol::algorithms::copy::between(
        (source.container.as_ref(), object),
        (target, &place),
        context,
    )?;
    Ok(())
}

/// Returns the group and the name that a path of the target means; groups that are missing on the path are created where asked.
pub(crate) fn place_of(
    target: &dyn Container,
    path: &str,
    parents: bool,
    limits: &Limits,
) -> Result<LinkLocation> {
    let (parent, name) = hyperslab::vol::model::link::split_last(path)?;
    let mut here = target.info()?.root;
    for part in hyperslab::vol::model::link::components(parent) {
        here = match target.link_get(here, part)? {
            Some(_) => hyperslab::vol::path::token(target, here, part, limits.link_traversals_max)?,
            None if parents => {
                let place = Some(LinkLocation::new(here, part));
                target.group_create(&OpGroupCreate { place, create: Default::default() })?
            }
            None => return Err(Error::not_found("find group").with("path", parent)),
        };
    }
    Ok(LinkLocation::new(here, name))
}
