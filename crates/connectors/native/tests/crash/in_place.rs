//! Elements that are overwritten in place: a crash may mix them, and nothing else.

use std::sync::Arc;

use files::Memory;
use files::crash::CrashState;
use hyperslab::check::Check;
use hyperslab::{File, Result, Selection};
use hyperslab_native::{open_handle, open_image};
use testkit::generate::{Generator, announced_seed};
use testkit::snapshot::Snapshot;
use vol::{Container, Durability, FileAccess, LibVersion};

use crate::amount;
use crate::images::spread;
use crate::rig::{Run, difference, snapshot};
use crate::workloads::{Step, Workload};

/// Datasets whose elements are overwritten in place.
const IN_PLACE: [&str; 2] = ["/contiguous", "/chunked"];
const COUNT: usize = 3000;

fn make(f: &File) -> Result<()> {
    f.new_dataset::<i32>().shape(COUNT).create("contiguous")?.write_raw(&vec![1; COUNT])?;
    f.new_dataset::<i32>().shape(COUNT).chunk(500).create("chunked")?.write_raw(&vec![1; COUNT])?;
    f.new_dataset::<i32>().shape(COUNT).create("safe")?.write_raw(&vec![1; COUNT])
}

fn put(f: &File, name: &str, start: usize, count: usize, value: i32) -> Result<()> {
    let selection = Selection::block(&[start as u64], &[count as u64])?;
    f.dataset(name)?.write_selection(&selection, &vec![value; count])
}

fn overwrite(f: &File, value: i32) -> Result<()> {
    for path in IN_PLACE {
        f.dataset(path)?.overwrite_in_place(true)?;
        put(f, path, 100, 1700, value)?;
        put(f, path, 1500, 900, value + 1)?;
    }
    put(f, "safe", 7, 1200, value)
}

/// Some elements wait for the commit, and are then overwritten in place; whole datasets; new objects next to them.
fn steps() -> Vec<Step> {
    vec![
        make,
        |f| overwrite(f, 10),
        |f| {
            f.dataset("contiguous")?.overwrite_in_place(false)?;
            put(f, "contiguous", 0, 700, 20)?;
            overwrite(f, 21)?;
            f.create_group("group").map(drop)
        },
        |f| {
            put(f, "contiguous", 0, COUNT, 30)?;
            put(f, "chunked", 0, COUNT, 31)?;
            f.dataset("chunked")?.set_attr("note", 5).map(drop)
        },
    ]
}

fn workloads() -> Vec<Workload> {
    let ordered = [Durability::Ordered, Durability::Full];
    vec![
        Workload::new("in place", &steps()),
        Workload::new("in place since v110", &steps()).since(LibVersion::V110),
        Workload::new("in place with fewer syncs", &steps()).with(&ordered),
        Workload::new("in place with little memory", &steps()).in_memory_of(8 << 10),
    ]
}

/// All but the elements that may be mixed.
fn judged(content: &Snapshot) -> Snapshot {
    let mut content = content.clone();
    // Of a dataset the text begins with what its header says.
    for path in IN_PLACE {
        if let Some(fact) = content.0.get_mut(&format!("{path}/")) {
            *fact = fact.split('[').next().unwrap_or_default().to_owned();
        }
    }
    content
}

fn judge(run: &Run, state: &CrashState) -> std::result::Result<(), String> {
    let image = run.log.image(state).unwrap();
    let memory = Arc::new(Memory::from_image(image.clone()));
    let opened =
        [open_image(image, &FileAccess::read()), open_handle(memory, "recovered", &FileAccess::write())];
    for opened in opened {
        let c: Arc<dyn Container> = opened.map_err(|e| e.to_string())?;
        if let Some(finding) = Check::default().run(&*c, &mut |_| ()).findings.first() {
            return Err(format!("{} {}: {}", finding.path, finding.part, finding.error));
        }
        let found = snapshot(&*c).map_err(|e| e.to_string())?;
        let least = run.kept(state).unwrap_or(0);
        let promised = &run.promises[least..];
        if !promised.iter().any(|promise| judged(&promise.content) == judged(&found)) {
            let near = promised.first().and_then(|p| difference(&judged(&p.content), &judged(&found)));
            return Err(format!("promised {least}: {near:?}"));
        }
        // What a commit that returned has is there, as long as no one wrote again.
        let is_quiet = run.promises.iter().any(|promise| promise.at == state.at);
        if is_quiet && run.is_process_death(state) && run.promises[least].content != found {
            return Err(format!("{:?}", difference(&run.promises[least].content, &found)));
        }
    }
    Ok(())
}

#[test]
fn a_crash_mixes_only_the_elements_that_are_overwritten_in_place() {
    let seed = announced_seed("crashes in place");
    let images = amount("HYPERSLAB_CRASH_IMAGES", 3000) / 10;
    let (mut tried, mut wrong) = (0, Vec::new());
    for (n, workload) in workloads().iter().enumerate() {
        let (run, mut random) = (Run::of(workload), Generator::new(seed ^ n as u64));
        let mut states = spread(run.prefixes(), images, &mut random);
        states.extend(spread(run.faults(), images, &mut random));
        states.extend(run.draws(random.number(), images));
        tried += states.len();
        let told =
            |state: &CrashState| judge(&run, state).err().map(|e| format!("{}, {state}: {e}", run.name));
        wrong.extend(states.iter().filter_map(told));
    }
    println!("{tried} images, {} wrong", wrong.len());
    let told = wrong[..wrong.len().min(12)].join("\n");
    assert!(wrong.is_empty() && tried > images, "seed {seed}, {} of {tried}:\n{told}", wrong.len());
}

/// The elements are in the file before the commit, and no copy of them is made.
#[test]
fn elements_are_written_once_and_at_once() {
    let run = Run::of(&workloads()[0]);
    let commit = &run.log.events()[run.promises[3].at..run.promises[4].at];
    let written = commit.iter().map(|event| match event {
        files::crash::Event::Write { data, .. } => data.len(),
        _ => 0,
    });
    let written: usize = written.sum();
    let elements = 2 * 4 * COUNT;
    assert!((elements..elements + 8000).contains(&written), "{written} bytes for {elements}");
}
