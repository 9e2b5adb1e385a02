//! Conversions against naive models and against libhdf5.

mod golden;
mod models;
mod numbers;
mod structures;
mod users;

use super::*;
use crate::{ByteOrder, CharacterSet};

/// Converts `count` elements into a target that holds 0xA5 before.
fn convert(from: &Datatype, to: &Datatype, input: &[u8], heap: &mut Heap) -> Vec<u8> {
    let plan = Plan::compile(from, to, &Conversions::default()).unwrap();
    let count = input.len() / from.size() as usize;
    let mut output = vec![0xA5; count * to.size() as usize];
    plan.run(input, &mut output, count, heap).unwrap();
    output
}

fn convert_plain(from: &Datatype, to: &Datatype, input: &[u8]) -> Vec<u8> {
    convert(from, to, input, &mut Heap::new())
}
