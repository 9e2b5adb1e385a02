//! Takes files through every pair of connectors: from one to the other and back, and compares what came back.
//!
//! `pairs FOLDER [BYTES [CONNECTOR...]]` takes all HDF5 files of a folder that have at most so many bytes, to all connectors or to
//! those that are named. It prints for each pair how many came
//! back equal, and names what was lost or failed; it fails where fewer than 95 % are equal with no loss at all.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use hyperslab::vol::algorithms::compare;
use hyperslab::vol::algorithms::copy::CopyContext;
use hyperslab::vol::model::properties::{FileCreate, Layout};
use hyperslab::vol::{Container, FileAccess, Registry};
use hyperslab::{Durability, Error, FolderResolver, Limits, Result};

const CONNECTORS: [&str; 7] = ["native", "raw", "memory", "json", "object", "log", "iod"];
/// Of these every pair is taken; the others go to an HDF5 file and back.
const PAIRED: usize = 4;
/// Larger files, and datasets that show more than is stored, only take time.
const FILE_BYTES_MAX: u64 = 8 << 20;
const DATASET_BYTES_MAX: u64 = 32 << 20;
/// So many files must come back equal.
const PERCENT: f64 = 95.0;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [folder, rest @ ..] = &arguments[..] else {
        eprintln!("usage: pairs FOLDER [BYTES [CONNECTOR...]]");
        return ExitCode::FAILURE;
    };
    let bytes_max = rest.first().and_then(|bytes| bytes.parse().ok()).unwrap_or(FILE_BYTES_MAX);
    let asked = rest.get(1..).unwrap_or_default();
    match Run::over(Path::new(folder), bytes_max, asked) {
        Ok(run) => run.report(PERCENT),
        Err(error) => {
            eprintln!("pairs: {error}");
            ExitCode::FAILURE
        }
    }
}

#[derive(Default)]
struct Tally {
    files: usize,
    equal: usize,
    /// Files and what of them was lost, differs or failed.
    problems: Vec<String>,
}

struct Run {
    registry: Registry,
    /// The connectors that are taken; none for all.
    asked: Vec<String>,
    scratch: PathBuf,
    number: RefCell<u64>,
    tallies: BTreeMap<(usize, usize), Tally>,
    unreadable: usize,
    large: usize,
}

impl Run {
    fn over(folder: &Path, bytes_max: u64, asked: &[String]) -> Result<Run> {
        let scratch = std::env::temp_dir().join(format!("pairs-{}", std::process::id()));
        std::fs::create_dir_all(&scratch).map_err(|e| Error::io("create folder", &e))?;
        let mut run = Run {
            registry: hyperslab::registry(),
            asked: asked.to_vec(),
            scratch,
            number: RefCell::new(0),
            tallies: BTreeMap::new(),
            unreadable: 0,
            large: 0,
        };
        let mut files = Vec::new();
        find(folder, bytes_max, &mut files)?;
        files.sort();
        for file in files {
            run.file(&file);
        }
        let _ = std::fs::remove_dir_all(&run.scratch);
        Ok(run)
    }

    /// One file in all forms, then each form through each other one. A file that cannot be read whole has no forms.
    fn file(&mut self, path: &Path) {
        let Ok(original) = self.original(path) else {
            self.unreadable += 1;
            return;
        };
        match is_small(&original) {
            Ok(true) if compare::contents(original.as_ref(), original.as_ref()).is_ok() => {}
            Ok(false) => {
                self.large += 1;
                return;
            }
            _ => {
                self.unreadable += 1;
                return;
            }
        }
        let all_hold = is_without_views(&original).unwrap_or(true);
        let is_asked = |connector: &str| {
            connector == CONNECTORS[0]
                || self.asked.is_empty()
                || self.asked.iter().any(|name| name == connector)
        };
        let holds = |connector: &str| {
            if !is_asked(connector) {
                return false;
            }
            all_hold || self.registry.by_name(connector).is_ok_and(|c| c.info().capability.virtual_datasets)
        };
        let held = CONNECTORS.map(holds);
        let form = |connector| match is_asked(connector) {
            true => self.copied(original.as_ref(), connector),
            false => Err("not asked for".to_owned()),
        };
        let forms = CONNECTORS.map(form);
        for (from, form) in forms.iter().enumerate() {
            let is_taken = |to: usize| {
                held[to] && held[from] && to != from && (to == 0 || from == 0 || to.max(from) < PAIRED)
            };
            for (to, connector) in CONNECTORS.iter().enumerate().filter(|(to, _)| is_taken(*to)) {
                let outcome = match form {
                    Ok(form) => self.there_and_back(original.as_ref(), form, connector, CONNECTORS[from]),
                    Err(problem) => Err(problem.clone()),
                };
                let tally = self.tallies.entry((from, to)).or_default();
                tally.files += 1;
                match outcome {
                    Ok(()) => tally.equal += 1,
                    Err(problem) => tally.problems.push(format!("{}: {problem}", path.display())),
                }
            }
        }
        forms.into_iter().flatten().for_each(|form| self.forget(form));
    }

    fn original(&self, path: &Path) -> Result<Arc<dyn Container>> {
        let folder = path.parent().unwrap_or(Path::new("."));
        let access = FileAccess::read().with_resolver(FolderResolver::new(folder, self.registry.clone())?);
        self.registry.open(&path.to_string_lossy(), &access)
    }

    fn there_and_back(
        &self,
        original: &dyn Container,
        form: &Form,
        to: &str,
        back: &str,
    ) -> std::result::Result<(), String> {
        let other = self.copied(form.container.as_ref(), to)?;
        let again = self.copied(other.container.as_ref(), back);
        self.forget(other);
        let again = again?;
        let found = compare::contents(original, again.container.as_ref()).map_err(|error| error.to_string());
        self.forget(again);
        match found?.first() {
            None => Ok(()),
            Some(difference) => Err(difference.to_string()),
        }
    }

    /// A copy in a connector, committed and opened again, so that it is what was stored that counts.
    fn copied(&self, source: &dyn Container, connector: &str) -> std::result::Result<Form, String> {
        *self.number.borrow_mut() += 1;
        let name = format!("{}", self.number.borrow());
        let location = match connector {
            "memory" => format!("memory:{name}"),
            _ => format!("{connector}:{}", self.scratch.join(&name).display()),
        };
        let told = |error: Error| format!("{connector}: {error}");
        let lost = RefCell::new(None);
        let tell = |path: &str, what: &str, error: &Error| {
            lost.borrow_mut().get_or_insert(format!("{connector}: {path}: {what} is lost: {error}"));
        };
        let limits = Limits::default();
        let copy = || {
            let access = FileAccess { durability: Durability::None, ..FileAccess::write() };
            let create = FileCreate { userblock_bytes: 0, ..source.info()?.create.clone() };
            let make = |create: &FileCreate| self.registry.create(&location, create, &access, true);
            let target = hyperslab::vol::algorithms::copy::create_for(make, &create, Some(&tell))?;
            let options = CopyContext { lost: Some(&tell), ..CopyContext::new(&limits) };
            hyperslab::vol::algorithms::copy::contents(source, target.as_ref(), options)?;
            target.commit(Durability::None)?;
            if connector != "memory" {
                target.close()?;
                return self.registry.open(&location, &FileAccess::read());
            }
            Ok(target)
        };
        let container = copy().map_err(told)?;
        match lost.take() {
            Some(loss) => Err(loss),
            None => Ok(Form { location, container }),
        }
    }

    fn forget(&self, form: Form) {
        let _ = form.container.close();
        drop(form.container);
        let _ = self.registry.delete(&form.location, &FileAccess::write());
    }

    fn report(&self, percent: f64) -> ExitCode {
        let mut good = true;
        for ((from, to), tally) in &self.tallies {
            let (one, other) = (CONNECTORS[*from], CONNECTORS[*to]);
            println!("{one} -> {other} -> {one}: equal {} of {}", tally.equal, tally.files);
            tally.problems.iter().for_each(|problem| println!("  {problem}"));
            good &= tally.equal as f64 >= tally.files as f64 * percent / 100.0;
        }
        println!(
            "left out: {} that cannot be read whole, {} with very large datasets",
            self.unreadable, self.large
        );
        if good && !self.tallies.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    }
}

/// Whether all datasets are of a size that can be copied again and again.
/// Whether no virtual dataset is in it: some connectors hold none, and say so.
fn is_without_views(container: &Arc<dyn Container>) -> Result<bool> {
    let file = hyperslab::File::from_container(container.clone(), "", &FileAccess::read())?;
    let mut views = 0;
    file.visit(|stop| {
        if let (Some(object), Some(hyperslab::ObjectKind::Dataset)) = (stop.object, stop.kind) {
            let info = container.dataset_info(object.token())?;
            views += usize::from(matches!(info.create.layout, Layout::Virtual(_)));
        }
        Ok(std::ops::ControlFlow::Continue(()))
    })?;
    Ok(views == 0)
}

fn is_small(container: &Arc<dyn Container>) -> Result<bool> {
    let file = hyperslab::File::from_container(container.clone(), "", &FileAccess::read())?;
    let mut bytes = 0u64;
    file.visit(|stop| {
        if let (Some(object), Some(hyperslab::ObjectKind::Dataset), false) =
            (stop.object, stop.kind, stop.again)
        {
            let info = container.dataset_info(object.token())?;
            bytes =
                bytes.saturating_add(info.space.element_count()?.saturating_mul(info.datatype.size().into()));
        }
        Ok(std::ops::ControlFlow::Continue(()))
    })?;
    Ok(bytes <= DATASET_BYTES_MAX)
}

struct Form {
    location: String,
    container: Arc<dyn Container>,
}

fn find(folder: &Path, bytes_max: u64, files: &mut Vec<PathBuf>) -> Result<()> {
    let io = |e: std::io::Error| Error::io("list folder", &e).with("path", folder.display());
    for entry in std::fs::read_dir(folder).map_err(io)? {
        let path = entry.map_err(io)?.path();
        let bytes = path.metadata().map_or(0, |m| m.len());
        if path.is_dir() {
            find(&path, bytes_max, files)?;
        } else if bytes > 0 && bytes <= bytes_max {
            files.push(path);
        }
    }
    Ok(())
}
