//! 10,000 small datasets with five attributes each, and one attribute read at a time.

use std::time::Duration;

use model::properties::DatasetCreate;
use model::{CharacterSet, Dataspace, Datatype, Result, Selection, Token};
use vol::{Container, Durability, LinkLocation, OpAttributeCreate, OpDatasetCreate, OpWrite};

use crate::{Bench, Side, keep, timed};

const DATASETS: usize = 10_000;
const ATTRIBUTES: usize = 5;
const ROUNDS: usize = 3;
const READS: usize = 100_000;

fn attribute(c: &dyn Container, object: Token, n: usize) -> Result<()> {
    let (name, charset, space) = (format!("attribute {n}"), CharacterSet::Ascii, Dataspace::Scalar);
    let datatype = Datatype::native_int(4);
    let op = OpAttributeCreate { object, name, charset, datatype, committed: None, space };
    c.attribute_create(&op)?;
    c.attribute_write(object, &op.name, &(n as i32).to_ne_bytes())
}

fn write(c: &dyn Container) -> Result<()> {
    let root = c.info()?.root;
    for n in 0..DATASETS {
        let place = Some(LinkLocation::new(root, format!("dataset {n:05}")));
        let (datatype, space) = (Datatype::native_int(4), Dataspace::simple(&[10])?);
        let create = DatasetCreate::default();
        let dataset =
            c.dataset_create(&OpDatasetCreate { place, datatype, committed: None, space, create })?;
        c.dataset_write(&[OpWrite { dataset, selection: &Selection::All, from: &[n as u8; 40] }])?;
        (0..ATTRIBUTES).try_for_each(|n| attribute(c, dataset, n))?;
    }
    Ok(())
}

/// One attribute after another, of objects in no order.
fn read(c: &dyn Container, tokens: &[Token]) -> Result<()> {
    for n in 0..READS {
        let token = tokens[n * 7919 % tokens.len()];
        let value = c.attribute_read(token, &["attribute 3"])?;
        assert_eq!(value[0], 3i32.to_ne_bytes());
    }
    Ok(())
}

fn tokens(c: &dyn Container) -> Result<Vec<Token>> {
    let root = c.info()?.root;
    (0..DATASETS).map(|n| vol::path::token(c, root, &format!("dataset {n:05}"), 16)).collect()
}

pub(crate) fn run(bench: &Bench) -> Result<()> {
    let sides = [Side::Native, Side::Object];
    let (mut writes, mut commits, mut reads) = ([Duration::MAX; 2], [Duration::MAX; 2], [Duration::MAX; 2]);
    for _ in 0..ROUNDS {
        for (n, side) in sides.into_iter().enumerate() {
            let c = bench.create(side, "small")?;
            let (made, ()) = timed(|| write(&*c))?;
            let (committed, ()) = timed(|| c.commit(Durability::Full))?;
            keep(&mut commits[n], committed);
            keep(&mut writes[n], made + committed);
            c.close()?;
            let c = bench.open(side, "small")?;
            let tokens = tokens(&*c)?;
            keep(&mut reads[n], timed(|| read(&*c, &tokens))?.0);
            c.close()?;
            bench.delete(side, "small")?;
        }
    }
    let [native, object] = writes;
    println!(
        "{DATASETS} datasets with {ATTRIBUTES} attributes: object {:.0} ms (commit {:.0}), native {:.0} ms (commit {:.0}), ratio {:.2}",
        object.as_secs_f64() * 1e3,
        commits[1].as_secs_f64() * 1e3,
        native.as_secs_f64() * 1e3,
        commits[0].as_secs_f64() * 1e3,
        native.as_secs_f64() / object.as_secs_f64()
    );
    let [native, object] = reads.map(|time| time.as_secs_f64() * 1e6 / READS as f64);
    println!("one attribute read: object {object:.2} µs, native {native:.2} µs");
    Ok(())
}
