//! Random containers, from fixed seeds: what was made reads back, however it was made.

use model::{Result, Selection};
use vol::{LinkLocation, OpObjectCopy, OpRead, OpWrite};

use crate::Subject;
use crate::generate::Generator;
use crate::kit::*;
use crate::snapshot::Snapshot;

super::suite! { "random":
    |_| true => random_containers_survive_reopening, random_containers_survive_deleting_half,
        random_datasets_agree_with_a_plain_array;
    |c| c.object_copy => random_containers_survive_copying;
}

fn random_containers_survive_reopening(s: &Subject) -> Result<()> {
    for seed in 0..10 {
        let mut c = s.fresh()?;
        Generator::new(seed).fill(&*c.container, c.root()?, 25)?;
        let before = Snapshot::of(&*c.container, c.root()?)?;
        c.reopen_read()?;
        let after = Snapshot::of(&*c.container, c.root()?)?;
        same(
            before.difference(&after).map(|difference| format!("seed {seed}: {difference}")),
            None::<String>,
        )?;
        holds(before.0.len() > 10, "there is something to compare")?;
    }
    Ok(())
}

fn random_containers_survive_copying(s: &Subject) -> Result<()> {
    for seed in 100..110 {
        let c = s.fresh()?;
        let top = c.group(c.root()?, "top")?;
        Generator::new(seed).fill(&*c.container, top, 25)?;
        let copy = c.object_copy(&OpObjectCopy::new(top, LinkLocation::new(c.root()?, "copy")))?;
        let (old, new) = (Snapshot::of(&*c.container, top)?, Snapshot::of(&*c.container, copy)?);
        same(old.difference(&new).map(|difference| format!("seed {seed}: {difference}")), None::<String>)?;
    }
    Ok(())
}

fn random_containers_survive_deleting_half(s: &Subject) -> Result<()> {
    for seed in 200..205 {
        let mut c = s.fresh()?;
        let (kept, gone) = (c.group(c.root()?, "kept")?, c.group(c.root()?, "gone")?);
        let mut generator = Generator::new(seed);
        for _ in 0..5 {
            let (a, b) = (
                c.group(kept, &generator.number().to_string())?,
                c.group(gone, &generator.number().to_string())?,
            );
            generator.fill(&*c.container, a, 5)?;
            generator.fill(&*c.container, b, 5)?;
        }
        let before = Snapshot::of(&*c.container, kept)?;
        c.link_delete(c.root()?, "gone")?;
        c.reopen()?;
        let kept = vol::path::token(&*c.container, c.root()?, "kept", 16)?;
        let after = Snapshot::of(&*c.container, kept)?;
        same(
            before.difference(&after).map(|difference| format!("seed {seed}: {difference}")),
            None::<String>,
        )?;
    }
    Ok(())
}

/// Ranks one to four, any layout, elements of any size: writes and reads of random parts.
fn random_datasets_agree_with_a_plain_array(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    for seed in 300..330 {
        let mut generator = Generator::new(seed);
        let (datatype, rank) = (generator.plain_datatype(2), generator.between(1, 4) as usize);
        let space = space(&generator.dims(rank, 300));
        let create =
            model::properties::DatasetCreate { layout: generator.layout(&space), ..Default::default() };
        let place = LinkLocation::new(c.root()?, seed.to_string());
        let dataset = c.dataset_create(&dataset_op(place, datatype.clone(), space.clone(), create))?;
        let size = datatype.size() as usize;
        let mut wanted = vec![0; space.element_count()? as usize * size];
        for _ in 0..8 {
            let selection = &generator.selection(space.dims());
            let from = &generator.bytes(selection.element_count(space.dims())? as usize * size);
            c.dataset_write(&[OpWrite { dataset, selection, from }])?;
            let mut rest = &from[..];
            for run in selection.runs(space.dims())? {
                let (now, later) = rest.split_at(run.len as usize * size);
                wanted[run.offset as usize * size..][..now.len()].copy_from_slice(now);
                rest = later;
            }
            let mut found = vec![0; wanted.len()];
            c.dataset_read(&mut [OpRead { dataset, selection: &Selection::All, into: &mut found }])?;
            holds(found == wanted, &format!("seed {seed} agrees"))?;
        }
    }
    Ok(())
}
