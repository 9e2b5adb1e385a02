//! Many small things: datasets, attributes, strings.

use std::path::Path;

use hyperslab::File;

use crate::{Outcome, Scratch, expect, measured};

const DATASETS: usize = 1000;
const ATTRIBUTES: usize = 5;

fn make(file: &File) -> Outcome<()> {
    let values: Vec<f64> = (0..10).map(f64::from).collect();
    for n in 0..DATASETS {
        let dataset = file.new_dataset::<f64>().shape(values.len()).create(&format!("dataset {n}"))?;
        dataset.write_raw(&values)?;
        for a in 0..ATTRIBUTES {
            dataset.set_attr(&format!("attribute {a}"), (n + a) as i64)?;
        }
    }
    Ok(file.flush()?)
}

fn sum_of_attributes(path: &Path) -> Outcome<i64> {
    let file = File::open(path)?;
    let mut sum = 0;
    for n in 0..DATASETS {
        let dataset = file.dataset(&format!("dataset {n}"))?;
        for a in 0..ATTRIBUTES {
            sum += dataset.attr(&format!("attribute {a}"))?.read_scalar::<i64>()?;
        }
    }
    Ok(sum)
}

fn expected_sum() -> i64 {
    (0..DATASETS).flat_map(|n| (0..ATTRIBUTES).map(move |a| (n + a) as i64)).sum()
}

/// Small datasets with attributes, until they are in the file.
pub(crate) fn create(scratch: &Scratch) -> Outcome<()> {
    let file = File::create(scratch.file())?;
    measured(&mut || make(&file))?;
    file.close()?;
    expect(&sum_of_attributes(&scratch.file())?, &expected_sum())
}

/// The same attributes, in a file that is opened for them.
pub(crate) fn attributes(scratch: &Scratch) -> Outcome<()> {
    let file = File::create(scratch.file())?;
    make(&file)?;
    file.close()?;
    let mut sum = 0;
    measured(&mut || {
        sum = sum_of_attributes(&scratch.file())?;
        Ok(())
    })?;
    expect(&sum, &expected_sum())
}

/// Strings of variable length.
pub(crate) fn strings(scratch: &Scratch) -> Outcome<()> {
    let texts: Vec<String> = (0..10_000).map(|n| format!("string {}", n * n % 10_007)).collect();
    let file = File::create(scratch.file())?;
    file.new_dataset::<String>().shape(texts.len()).create("x")?.write_raw(&texts)?;
    file.close()?;
    let file = File::open(scratch.file())?;
    let dataset = file.dataset("x")?;
    let mut found = Vec::new();
    measured(&mut || {
        found = dataset.read_strings()?;
        Ok(())
    })?;
    expect(&(found == texts), &true)
}
