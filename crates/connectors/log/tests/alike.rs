//! Datasets that are divided alike, element by element: what one of them has looked up serves the others.

mod common;

use common::*;
use model::Selection;
use vol::{Container, Durability, FileAccess};

const DATASETS: usize = 4;
/// More than one window of a read has.
const ELEMENTS: u64 = 300_000;

fn points(elements: impl Iterator<Item = u64>) -> Selection {
    Selection::points(1, elements.collect()).unwrap()
}

/// Writes every third element, then every fifth of those before `end` from another flush; the model of each dataset.
fn write(path: &str, end: u64) -> Vec<Array> {
    let c = create(path, &FileAccess::write());
    let made: Vec<_> = (0..DATASETS).map(|n| ints(&*c, &format!("d{n}"), &[ELEMENTS])).collect();
    let mut models = vec![Array::new(&[ELEMENTS]); DATASETS];
    for (step, end) in [(3, ELEMENTS - 1000), (5, end)] {
        let selection = points((7..end).step_by(step));
        let count = selection.element_count(&[ELEMENTS]).unwrap() as i32;
        for (n, (dataset, model)) in made.iter().zip(&mut models).enumerate() {
            let values: Vec<i32> = (0..count).map(|k| k * 8 + n as i32 + step as i32).collect();
            put(&*c, *dataset, &selection, &values).unwrap();
            model.put(&selection, &values);
        }
        c.commit(Durability::None).unwrap();
    }
    c.close().unwrap();
    models
}

#[test]
fn datasets_divided_alike_show_their_own_elements() {
    let folder = Folder::new("alike");
    for end in [ELEMENTS, 100_000] {
        let path = folder.at(&format!("{end}.h5"));
        let models = write(&path, end);
        let c = open(&path, &FileAccess::read()).unwrap();
        for (n, model) in models.iter().enumerate() {
            let dataset = find(&*c, &format!("d{n}"));
            for (start, len) in
                [(0, ELEMENTS), (1, ELEMENTS - 2), (10, 200_000), (262_143, 2), (299_000, 1000)]
            {
                let block = Selection::block(&[start], &[len]).unwrap();
                let found = get(&*c, dataset, &block).unwrap();
                assert!(found == model.get(&block), "dataset {n}, {len} elements from {start}");
            }
        }
        c.close().unwrap();
    }
}

#[test]
fn what_is_written_later_shows_over_what_was_looked_up() {
    let folder = Folder::new("alike-later");
    let path = folder.at("a.h5");
    let mut models = write(&path, ELEMENTS);
    let c = open(&path, &FileAccess::write()).unwrap();
    let all = |n: usize| get(&*c, find(&*c, &format!("d{n}")), &Selection::All).unwrap();
    (0..DATASETS).for_each(|n| assert!(all(n) == models[n].values, "dataset {n}"));
    let later = points((0..ELEMENTS).step_by(1000));
    let values = vec![-1; ELEMENTS as usize / 1000];
    put(&*c, find(&*c, "d2"), &later, &values).unwrap();
    models[2].put(&later, &values);
    (0..DATASETS).for_each(|n| assert!(all(n) == models[n].values, "dataset {n} with what waits"));
    c.commit(Durability::None).unwrap();
    (0..DATASETS).for_each(|n| assert!(all(n) == models[n].values, "dataset {n} after a flush"));
    c.close().unwrap();
}
