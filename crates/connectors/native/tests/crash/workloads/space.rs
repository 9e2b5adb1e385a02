//! Files whose space is managed in other ways, and files that remember what is free.

use std::sync::Arc;

use files::Memory;
use hyperslab_native::create_handle;
use model::properties::{FileCreate, SpaceStrategy};
use vol::{FileAccess, LibVersion};

use super::mixed::LIFE;
use super::{Start, Step, Workload};
use crate::rig::file;

const LOWS: [LibVersion; 2] = [LibVersion::Earliest, LibVersion::LATEST];

fn properties() -> Vec<(&'static str, FileCreate)> {
    let pages = FileCreate { space_strategy: SpaceStrategy::Page, ..FileCreate::default() };
    let small = FileCreate { page_bytes: 512, ..pages.clone() };
    let none = FileCreate { space_strategy: SpaceStrategy::None, ..FileCreate::default() };
    let persistent = |create: &FileCreate| FileCreate { space_persist: true, ..create.clone() };
    vec![
        ("remembered space", persistent(&FileCreate::default())),
        ("remembered pages", persistent(&pages)),
        ("remembered small pages", persistent(&small)),
        ("small pages", small),
        ("no free space", none),
    ]
}

/// A file that was closed after some steps.
fn closed(create: &FileCreate, low: LibVersion, steps: &[Step]) -> Vec<u8> {
    let memory = Arc::new(Memory::new());
    let access = FileAccess { version_low: low, ..FileAccess::write() };
    let c = create_handle(memory.clone(), "closed", create, &access).unwrap();
    for step in steps {
        step(&file(&c).unwrap()).unwrap();
    }
    c.close().unwrap();
    memory.image().unwrap()
}

pub(super) fn all() -> Vec<Workload> {
    let mut all = Vec::new();
    for (what, create) in properties() {
        for low in LOWS {
            let name = format!("a life with {what} since {low:?}");
            all.push(Workload::new(&name, &LIFE).since(low).in_file(create.clone()).closing());
            let name = format!("opened again with {what} since {low:?}");
            let start = Start::Old(closed(&create, low, &LIFE[..4]));
            all.push(Workload { start, ..Workload::new(&name, &LIFE[4..]).since(low).closing() });
        }
    }
    all
}
