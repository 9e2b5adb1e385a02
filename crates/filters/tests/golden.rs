//! Chunks that libhdf5 and hdf5plugin wrote, round trips through every filter, and broken input.

mod common;

use std::panic::{AssertUnwindSafe, catch_unwind};

use common::{BYTES_MAX, Record, general_stages, golden, mutate, random, sample};
use hyperslab_filters::{ErrorKind, Registry, Stage};

#[test]
fn chunks_of_libhdf5_and_plugins_decode() {
    let registry = Registry::default();
    let mut failures = Vec::new();
    let records = golden();
    for record in &records {
        let result = registry.decode(
            &record.stages(),
            record.mask,
            record.stored.clone(),
            record.chunk.len(),
            BYTES_MAX,
        );
        match result {
            Ok(bytes) if bytes == record.chunk => {}
            Ok(bytes) => {
                let at = bytes.iter().zip(&record.chunk).position(|(a, b)| a != b);
                failures.push(format!("{}: differs at {at:?} of {}", record.name, record.chunk.len()));
            }
            Err(error) => failures.push(format!("{}: {error}", record.name)),
        }
    }
    assert!(failures.is_empty(), "{} of {}:\n{}", failures.len(), records.len(), failures.join("\n"));
}

/// Lossy filters may change a chunk once, but not what they made of it.
#[test]
fn chunks_encode_and_decode_back() {
    let registry = Registry::default();
    for record in golden() {
        let optional: Vec<Stage<'_>> =
            record.stages().iter().map(|stage| Stage { optional: true, ..*stage }).collect();
        let (stored, mask) = registry
            .encode(&optional, record.chunk.clone())
            .unwrap_or_else(|error| panic!("{}: {error}", record.name));
        let back = registry
            .decode(&optional, mask, stored, record.chunk.len(), BYTES_MAX)
            .unwrap_or_else(|error| panic!("{}: {error}", record.name));
        assert!(back == record.chunk || record.uses(6), "{}: differs", record.name);
    }
}

#[test]
fn every_length_and_element_size_round_trips() {
    let registry = Registry::default();
    let mut random = random();
    for (id, parameters) in general_stages() {
        for values in &parameters {
            for len in [0, 1, 2, 3, 7, 8, 63, 64, 127, 1000, 4099, random.below(70_000)] {
                let input = sample(&mut random, len);
                let stages = [Stage { id, optional: true, values }];
                let (stored, mask) = registry.encode(&stages, input.clone()).unwrap();
                let back = registry.decode(&stages, mask, stored, len, BYTES_MAX);
                let back = back.unwrap_or_else(|error| panic!("{values:?}, {len} bytes: {error}"));
                assert!(back == input, "filter {id} {values:?}, {len} bytes");
            }
        }
    }
}

/// Decodes and reports a panic with what caused it.
fn must_not_panic(registry: &Registry, record: &Record, stages: &[Stage<'_>], input: Vec<u8>) {
    let copy = input.clone();
    let result = catch_unwind(AssertUnwindSafe(|| {
        registry.decode(stages, record.mask, input, record.chunk.len(), 1 << 20)
    }));
    match result {
        Ok(Ok(bytes)) => assert_eq!(bytes.len(), record.chunk.len()),
        Ok(Err(error)) => assert!(!error.to_string().contains('\n'), "{error}"),
        Err(_) => panic!("{}: values {:?}, input {copy:02x?}", record.name, stages),
    }
}

#[test]
fn mutated_chunks_never_panic() {
    let registry = Registry::default();
    let mut random = random();
    let records: Vec<Record> = golden().into_iter().filter(|record| record.chunk.len() < 60_000).collect();
    let rounds = std::env::var("FILTER_ROUNDS").ok().and_then(|text| text.parse().ok()).unwrap_or(20);
    for _ in 0..rounds {
        for record in &records {
            let mut bytes = record.stored.clone();
            mutate(&mut random, &mut bytes);
            must_not_panic(&registry, record, &record.stages(), bytes);
        }
    }
}

#[test]
fn random_input_and_values_never_panic() {
    let registry = Registry::default();
    let mut random = random();
    let records: Vec<Record> = golden().into_iter().filter(|record| record.chunk.len() < 60_000).collect();
    for _ in 0..6 {
        for record in &records {
            let mut stages = record.stages.clone();
            for (_, values) in &mut stages {
                let at = random.below(values.len());
                if let Some(value) = values.get_mut(at) {
                    *value = [0, 1, 5, 255, 1 << 16, u32::MAX, random.next() as u32][random.below(7)];
                }
            }
            let stages: Vec<Stage<'_>> =
                stages.iter().map(|(id, values)| Stage { id: *id, optional: false, values }).collect();
            must_not_panic(&registry, record, &stages, record.stored.clone());
            let len = random.below(300);
            let noise = random.bytes(len);
            must_not_panic(&registry, record, &record.stages(), noise.clone());
            must_not_panic(&registry, record, &stages, noise);
            let encoded = catch_unwind(AssertUnwindSafe(|| registry.encode(&stages, record.chunk.clone())));
            assert!(encoded.is_ok(), "{}: encode panicked on {stages:?}", record.name);
        }
    }
}

#[test]
fn bombs_stop_at_the_limit() {
    let registry = Registry::default();
    let zeros = vec![0; 4 << 20];
    for id in [1, 307, 32000, 32001, 32004, 32008, 32015, 32026] {
        let values: &[u32] = if id == 32008 { &[0, 4, 4, 0, 2] } else { &[2, 2, 4, 0, 5, 1, 1] };
        let values = if [1, 307, 32015].contains(&id) { &[6][..] } else { values };
        let values = if id == 32004 { &[][..] } else { values };
        let values = if id == 32026 { &[1, 0, 4, 0, 5, 1, 1][..] } else { values };
        let stages = [Stage { id, optional: false, values }];
        let (stored, _) = registry.encode(&stages, zeros.clone()).unwrap();
        assert!(stored.len() < zeros.len() / 50, "filter {id}: {} bytes", stored.len());
        let error = registry.decode(&stages, 0, stored, 1 << 20, 1 << 20).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Limit, "{error}");
    }
}

/// A frame that claims 2^60 bytes in chunks of one byte, with an index of zeros: nothing of that is allocated.
#[test]
fn frame_with_an_endless_index_is_refused() {
    let registry = Registry::default();
    let stages = [Stage { id: 32026, optional: false, values: &[1, 0, 4, 0, 5, 1, 1] }];
    let (mut frame, _) = registry.encode(&stages, vec![0; 4096]).unwrap();
    frame[30..38].copy_from_slice(&(1u64 << 60).to_be_bytes());
    frame[58..62].copy_from_slice(&1u32.to_be_bytes());
    let error = registry.decode(&stages, 0, frame, 4096, BYTES_MAX).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Limit, "{error}");
}

#[test]
fn unknown_filters_are_named_with_their_number() {
    let error = Registry::default().get(32013).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert_eq!(error.to_string(), "filter 32013 (zfp): unsupported: not available in this build");
    assert!(Registry::default().get(40000).err().unwrap().to_string().contains("40000 (unknown)"));
}

#[test]
fn optional_stage_that_cannot_apply_sets_its_mask_bit() {
    let registry = Registry::default();
    let stages = [
        Stage { id: 2, optional: true, values: &[4] },
        Stage { id: 32000, optional: true, values: &[] },
        Stage { id: 32013, optional: true, values: &[] },
    ];
    let input = vec![1, 2, 3, 4, 5, 6, 7, 8];
    let (stored, mask) = registry.encode(&stages, input.clone()).unwrap();
    assert_eq!(mask, 0b110);
    assert_eq!(registry.decode(&stages, mask, stored, 8, 8).unwrap(), input);
    let mandatory = [Stage { id: 32000, optional: false, values: &[] }];
    assert_eq!(registry.encode(&mandatory, input).unwrap_err().kind(), ErrorKind::Incompressible);
}

/// Input of `check_encode.py`, which lets libhdf5 read what we wrote. Records: u16 name length, name, u32 mask,
/// u32 length, bytes.
#[test]
#[ignore = "writes a file for check_encode.py; set FILTER_ENCODED to its path"]
fn write_encoded_chunks() {
    let path = std::env::var("FILTER_ENCODED").expect("FILTER_ENCODED is the file to write");
    let registry = Registry::default();
    let mut out = Vec::new();
    for record in golden() {
        let stages: Vec<Stage<'_>> =
            record.stages().iter().map(|stage| Stage { optional: true, ..*stage }).collect();
        let (stored, mask) = registry.encode(&stages, record.chunk.clone()).unwrap();
        out.extend_from_slice(&(record.name.len() as u16).to_le_bytes());
        out.extend_from_slice(record.name.as_bytes());
        out.extend_from_slice(&mask.to_le_bytes());
        out.extend_from_slice(&(stored.len() as u32).to_le_bytes());
        out.extend_from_slice(&stored);
    }
    std::fs::write(path, out).unwrap();
}
