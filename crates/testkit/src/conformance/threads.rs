//! Many threads on one container.

use std::thread;

use model::{Error, Result, Selection};
use vol::OpList;

use crate::kit::*;
use crate::{Case, Subject};

super::suite! { "threads":
    |_| true => eight_threads_read_elements, eight_threads_read_groups, eight_threads_write_their_own_datasets,
        eight_threads_write_parts_of_one_dataset, eight_threads_make_links_in_one_group,
        readers_never_see_half_a_write;
    |c| c.attributes => eight_threads_write_attributes;
    |c| c.variable_length => eight_threads_store_blobs;
}

const THREADS: u64 = 8;

/// Runs a job on eight threads and gives the first error.
fn on_threads(c: &Case<'_>, job: impl Fn(&Case<'_>, u64) -> Result<()> + Sync) -> Result<()> {
    thread::scope(|scope| {
        let jobs: Vec<_> = (0..THREADS)
            .map(|n| {
                let job = &job;
                scope.spawn(move || job(c, n))
            })
            .collect();
        jobs.into_iter().try_for_each(|job| job.join().map_err(|_| Error::invalid("thread panicked"))?)
    })
}

fn eight_threads_read_elements(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    let data = c.ints_with(c.root()?, "d", space(&[40, 40]), chunked(&[16, 16]))?;
    c.put(data, &Selection::All, &counting(1600))?;
    on_threads(&c, |c, n| {
        for row in 0..40 {
            let row = (row + n * 5) % 40;
            let wanted: Vec<i32> = (0..40).map(|column| (row * 40 + column) as i32).collect();
            same(c.get(data, &block(&[row, 0], &[1, 40])?)?, wanted)?;
        }
        Ok(())
    })
}

fn eight_threads_read_groups(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    let names: Vec<String> = (0..50).map(|n| format!("g{n:02}")).collect();
    for name in &names {
        c.group(c.root()?, name)?;
    }
    on_threads(&c, |c, _| {
        for name in &names {
            some(c.link_get(c.root()?, name)?)?;
        }
        same(c.link_names(c.root()?, &OpList::default())?, names.clone())
    })
}

fn eight_threads_write_their_own_datasets(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    on_threads(&c, |c, n| {
        let data = c.ints_with(c.root()?, &format!("d{n}"), space(&[100]), chunked(&[7]))?;
        let wanted: Vec<i32> = (0..100).map(|i| i * n as i32).collect();
        c.put(data, &Selection::All, &wanted)?;
        same(c.get(data, &Selection::All)?, wanted)
    })?;
    same(c.group_info(c.root()?)?.links, THREADS)
}

fn eight_threads_write_parts_of_one_dataset(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    // Parts do not end where chunks do: threads meet in chunks.
    let data = c.ints_with(c.root()?, "d", space(&[800]), chunked(&[64]))?;
    on_threads(&c, |c, n| {
        let values: Vec<i32> = (0..100).map(|i| (n * 100) as i32 + i).collect();
        values
            .iter()
            .enumerate()
            .try_for_each(|(i, value)| c.put(data, &block(&[n * 100 + i as u64], &[1])?, &[*value]))
    })?;
    same(c.get(data, &Selection::All)?, counting(800))
}

fn eight_threads_make_links_in_one_group(s: &Subject) -> Result<()> {
    let mut c = s.fresh()?;
    on_threads(&c, |c, n| (0..20).try_for_each(|i| c.group(c.root()?, &format!("{n} {i}")).map(|_| ())))?;
    c.reopen()?;
    same(c.group_info(c.root()?)?.links, THREADS * 20)
}

fn readers_never_see_half_a_write(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    let data = c.ints(c.root()?, "d", &[500])?;
    on_threads(&c, |c, n| {
        for round in 0..30 {
            if n == 0 {
                c.put(data, &Selection::All, &[round; 500])?;
            } else {
                let values = c.get(data, &Selection::All)?;
                holds(values.iter().all(|value| *value == values[0]), "all elements come from one write")?;
            }
        }
        Ok(())
    })
}

fn eight_threads_write_attributes(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    on_threads(&c, |c, n| (0..10).try_for_each(|i| c.attribute(c.root()?, &format!("{n} {i}"), i)))?;
    same(c.object_info(c.root()?)?.attributes, THREADS * 10)?;
    same(c.attribute_value(c.root()?, "7 9")?, [9])
}

fn eight_threads_store_blobs(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    on_threads(&c, |c, n| {
        let values: Vec<Vec<u8>> = (0..50u8).map(|i| vec![i ^ n as u8; usize::from(i) + 1]).collect();
        let slices: Vec<&[u8]> = values.iter().map(Vec::as_slice).collect();
        let ids = c.blob_put(&slices)?;
        let ids: Vec<&[u8]> = ids.chunks(ids.len() / slices.len()).collect();
        let mut blobs = vol::Blobs::default();
        c.blob_get(&ids, &mut blobs)?;
        same(blobs.iter().collect::<Vec<_>>(), slices)
    })
}
