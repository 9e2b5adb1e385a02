//! `hyperslab repack`: a copy with other filters, layouts and versions, and without unused space.

use std::process::ExitCode;

use hyperslab::vol::algorithms::copy::CopyContext;
use hyperslab::vol::model::ObjectPath;
use hyperslab::vol::model::properties::{FileCreate, SpaceStrategy};
use hyperslab::vol::{FileAccess, LibVersion};
use hyperslab::{Error, Limits, Result};

use super::alter::{Change, apply};
use super::work::{Output, Work};
use super::{report, unknown, user_block, value};
use crate::common;
use crate::log;
use crate::open::open;
use crate::settings::registry;

pub(crate) const USAGE: &str = "\
usage: hyperslab repack [OPTIONS] IN [OUT]
  Copies a file without the space that it no longer uses; without OUT, the copy replaces the file.
  -f, --filter [PATHS:]FILTER  GZIP=LEVEL, SHUF, FLET, SZIP=PIXELS,NN|EC, NBIT, SOFF=FACTOR,IN|DS, LZF,
                               LZ4[=BLOCK], BZIP2[=1..9], ZSTD[=LEVEL], BLOSC[=CODEC:LEVEL:SHUFFLE],
                               BLOSC2[=...], BITSHUFFLE[=none|lz4|zstd:LEVEL], UD=ID,FLAG,COUNT,VALUES...,
                               NONE; may be given more than once, and is applied in this order
  -l, --layout [PATHS:]LAYOUT  CHUNK=10x20, COMPA, CONTI
  -m, --minimum BYTES          filter only datasets of this size and above
  -j, --low VERSION            oldest library that shall read it: earliest, v18, v110, v112, v114, v200, latest
  -L, --latest                 the same as --low latest
  -u, --user-block BYTES       space before the file's content
  -S, --fs-strategy STRATEGY   how file space is managed: FSM_AGGR, PAGE, AGGR, NONE
  -G, --fs-pagesize BYTES      size of pages for the strategy PAGE
      --cloud                  for remote reading: pages that store metadata together (docs/cloud.md)
  Nothing half-written is left behind when it is stopped or fails.
";

#[derive(Default)]
struct Arguments {
    files: Vec<String>,
    changes: Vec<Change>,
    bytes_min: u64,
    low: LibVersion,
    user_block: Option<u64>,
    strategy: Option<SpaceStrategy>,
    page_bytes: Option<u64>,
    for_cloud: bool,
}

fn strategy(text: &str) -> Result<SpaceStrategy> {
    Ok(match text.to_ascii_uppercase().as_str() {
        "FSM_AGGR" => SpaceStrategy::FsmAggregate,
        "PAGE" => SpaceStrategy::Page,
        "AGGR" => SpaceStrategy::Aggregate,
        "NONE" => SpaceStrategy::None,
        _ => return Err(Error::invalid("read arguments").with("strategy", text)),
    })
}

/// Returns the size of pages for a file of so many bytes. All metadata then comes with few requests, and a half-empty
/// page does not matter.
fn cloud_page_bytes(file_bytes: u64) -> u64 {
    (file_bytes / 64).next_power_of_two().clamp(64 << 10, 1 << 20)
}

fn version(text: &str) -> Result<LibVersion> {
    Ok(match text.to_ascii_lowercase().as_str() {
        "earliest" | "0" => LibVersion::Earliest,
        "v18" | "v108" | "1" => LibVersion::V18,
        "v110" | "2" => LibVersion::V110,
        "v112" | "3" => LibVersion::V112,
        "v114" | "4" => LibVersion::V114,
        "v200" | "5" => LibVersion::V200,
        "latest" => LibVersion::LATEST,
        _ => return Err(Error::invalid("read arguments").with("version", text)),
    })
}

fn parse(args: &[String]) -> Result<Arguments> {
    let mut found = Arguments::default();
    let mut rest = args.iter();
    let number = |text: &str| text.parse().map_err(|_| Error::invalid("read arguments").with("number", text));
    while let Some(word) = rest.next() {
        // `--filter=GZIP=6`: only the first sign of equality ends the option's name.
        match word.split('=').next().unwrap_or(word) {
            "-f" | "--filter" => found.changes.push(Change::filter(&value(word, &mut rest)?)?),
            "-l" | "--layout" => found.changes.push(Change::layout(&value(word, &mut rest)?)?),
            "-m" | "--minimum" => found.bytes_min = number(&value(word, &mut rest)?)?,
            "-j" | "--low" => found.low = version(&value(word, &mut rest)?)?,
            "-L" | "--latest" => found.low = LibVersion::LATEST,
            "-u" | "--user-block" => found.user_block = Some(number(&value(word, &mut rest)?)?),
            "-S" | "--fs-strategy" => found.strategy = Some(strategy(&value(word, &mut rest)?)?),
            "-G" | "--fs-pagesize" => found.page_bytes = Some(number(&value(word, &mut rest)?)?),
            "--cloud" => found.for_cloud = true,
            "-i" | "-o" => found.files.push(value(word, &mut rest)?),
            _ if word.starts_with('-') => return Err(unknown(word, USAGE)),
            _ => found.files.push(word.clone()),
        }
    }
    match found.files.len() {
        1 | 2 => Ok(found),
        _ => Err(Error::invalid("read arguments").with("problem", "name one file or two")),
    }
}

/// Repacks the file that the command line names.
pub(crate) fn run(args: &[String]) -> ExitCode {
    if args.is_empty() || args.iter().any(|arg| arg == "-h" || arg == "--help") {
        print!("{USAGE}");
        return if args.is_empty() { ExitCode::FAILURE } else { ExitCode::SUCCESS };
    }
    report("repack", parse(args).and_then(|arguments| repack(&arguments)))
}

/// Sets how the space of the new file is managed.
fn set_space(create: &mut FileCreate, arguments: &Arguments, from: &str) {
    if arguments.for_cloud {
        let path = registry().path_of(from).ok().flatten();
        let bytes = path.and_then(|path| path.metadata().ok()).map_or(0, |metadata| metadata.len());
        create.space_strategy = SpaceStrategy::Page;
        create.page_bytes = cloud_page_bytes(bytes);
    }
    create.space_strategy = arguments.strategy.unwrap_or(create.space_strategy);
    create.page_bytes = arguments.page_bytes.unwrap_or(create.page_bytes);
}

fn repack(arguments: &Arguments) -> Result<()> {
    let from = &arguments.files[0];
    let to = arguments.files.get(1).unwrap_or(from);
    if common::swmr() && to == from {
        let error = Error::denied("replace file").with("path", from);
        return Err(error.with("problem", "with --swmr, another program may write to it: name an OUT"));
    }
    let source = open(from, None)?;
    log::check_repack(from, source.container.as_ref())?;
    let work = Work::start("repack")?;
    let (limits, tell) = (Limits::default(), |progress| work.tell(progress));
    let alter = |path: &ObjectPath, op: &mut _| apply(&arguments.changes, arguments.bytes_min, path, op);
    let context = CopyContext { tell: Some(&tell), alter: Some(&alter), ..CopyContext::new(&limits) };
    let mut create = source.container.info()?.create.clone();
    let there = create.userblock_bytes;
    create.userblock_bytes = arguments.user_block.unwrap_or(there);
    let block = user_block(from, there.min(create.userblock_bytes))?;
    set_space(&mut create, arguments, from);
    let access = FileAccess { version_low: arguments.low, ..FileAccess::write() };
    let output = Output::create(to, &create, &access, true, None)?;
    work.expect(&source, None, (output.container(), !arguments.changes.is_empty()));
    hyperslab::vol::algorithms::copy::contents(source.container.as_ref(), output.container(), context)?;
    output.finish(&block)
}
