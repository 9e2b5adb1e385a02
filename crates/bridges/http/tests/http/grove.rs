//! Answers of h5grove 4.0 to requests about `small.h5`, compared with ours.
//!
//! `make.py` made the file; `answers.json` has the requests, and what h5grove answered.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::client::{Response, get};
use crate::serving;

/// Answers that differ on purpose, with the status of ours, and why.
const DIFFERENT: &[(&str, u16, &str)] = &[
    ("data_be_i2_json.txt", 200, "h5grove fails on big-endian arrays"),
    ("data_be_i2_flat.txt", 200, "h5grove fails on big-endian arrays"),
    ("data_be_i2_tiff.txt", 200, "h5grove fails on big-endian arrays"),
    ("data_cplx_tiff.txt", 422, "the status says that the argument is wrong"),
    ("data_sel7.txt", 422, "the status says that the selection is wrong"),
    ("data_sel8.txt", 422, "the status says that the selection is wrong"),
    ("data_sel9.txt", 422, "the status says that the selection is wrong"),
    ("data_sel10.txt", 422, "the status says that the selection is wrong"),
    ("err_data_group.txt", 422, "the status says that it is not a dataset"),
    ("err_attr_unknown.txt", 404, "the status says that there is no such attribute"),
    ("stats_str_vlen.txt", 422, "the status says that strings have no statistics"),
    ("stats_cplx.json", 422, "h5grove drops imaginary parts"),
    ("data_empty_bin.bin", 200, "h5grove sends a pointer of its process"),
    ("data_ref_bin.bin", 422, "h5grove sends pointers of its process"),
    ("data_regref_bin.bin", 422, "h5grove sends pointers of its process"),
    ("data_str_vlen_bin.bin", 422, "h5grove sends pointers of its process"),
    ("data_vlen_bin.bin", 422, "h5grove sends pointers of its process"),
    ("data_f4_2d_tiff.tiff", 200, "the same picture without a comment of another program"),
    ("data_zero_tiff.tiff", 200, "the same picture without a comment of another program"),
    ("err_missing_file_param.json", 422, "the message is ours"),
    ("err_resolve.json", 422, "the message names no classes of Python"),
    ("err_nothdf.txt", 500, "the message says what is wrong with the file"),
];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/h5grove")
}

fn hexadecimal(text: &str) -> Vec<u8> {
    (0..text.len() / 2).map(|at| u8::from_str_radix(&text[2 * at..2 * at + 2], 16).unwrap()).collect()
}

/// Returns whether two values are equal. Numbers are compared by value: 0 is 0.0, and the last digit of a double may differ.
fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => {
            let (a, b) = (a.as_f64().unwrap(), b.as_f64().unwrap());
            (a - b).abs() <= a.abs() * f64::EPSILON
        }
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(key, a)| b.get(key).is_some_and(|b| same(a, b)))
        }
        _ => a == b,
    }
}

fn is_equal(ours: &Response, theirs: &Value) -> bool {
    let kind = theirs["type"].as_str().unwrap();
    let same_type = kind.is_empty() || ours.header("content-type") == Some(kind);
    let same_body = match theirs["text"].as_str() {
        Some(text) if kind == "application/json" => same(&ours.json(), &serde_json::from_str(text).unwrap()),
        Some(text) => ours.text() == text,
        None => ours.body == hexadecimal(theirs["bytes"].as_str().unwrap()),
    };
    u64::from(ours.status) == theirs["status"].as_u64().unwrap() && same_type && same_body
}

#[test]
fn answers_are_those_of_h5grove() {
    let server = serving::start(&folder());
    let answers: Value =
        serde_json::from_slice(&std::fs::read(folder().join("answers.json")).unwrap()).unwrap();
    let (mut equal, mut wrong) = (0, Vec::new());
    for theirs in answers.as_array().unwrap() {
        let name = theirs["name"].as_str().unwrap();
        let ours = get(server.address(), &format!("/h5grove{}", theirs["request"].as_str().unwrap()));
        match DIFFERENT.iter().find(|(different, ..)| *different == name) {
            Some((_, status, _)) if ours.status == *status => {}
            None if is_equal(&ours, theirs) => equal += 1,
            _ => wrong.push(format!("{name}: {} {}\n   not {theirs}", ours.status, ours.text())),
        }
    }
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
    assert_eq!(
        (equal, DIFFERENT.len()),
        (answers.as_array().unwrap().len() - DIFFERENT.len(), DIFFERENT.len())
    );
    println!(
        "{equal} of {} answers are equal, {} differ on purpose",
        equal + DIFFERENT.len(),
        DIFFERENT.len()
    );
}
