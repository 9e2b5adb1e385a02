//! Pipelines with a kept scratch give what fresh ones give, whatever the scratch was used for before.

mod common;

use common::{BYTES_MAX, Random, general_stages, golden, mutate, random, sample};
use hyperslab_filters::{Error, ErrorKind, Registry, Scratch, Stage};

/// A result that is longer than its chunk by this much is still allowed.
const OVER: usize = 4096;

/// Decodes both ways and compares; the kept way starts with whatever is in `scratch` and in its output.
fn decode_both(
    registry: &Registry,
    stages: &[Stage<'_>],
    mask: u32,
    stored: &[u8],
    chunk_bytes: usize,
    scratch: &mut Scratch,
) -> Result<Vec<u8>, Error> {
    let max = chunk_bytes + chunk_bytes / 2 + OVER;
    let fresh = registry.decode(stages, mask, stored.to_vec(), chunk_bytes, max);
    let mut out = vec![0xa5; chunk_bytes];
    let kept = registry.decode_into(stages, mask, stored, &mut out, max, scratch).map(|()| out);
    match (&fresh, &kept) {
        (Ok(fresh), Ok(kept)) => assert!(fresh == kept, "{stages:?} {mask}: other bytes"),
        (Err(fresh), Err(kept)) => assert_eq!(fresh.kind(), kept.kind(), "{stages:?}: {fresh}; {kept}"),
        _ => panic!("{stages:?} {mask}: fresh {:?}, kept {:?}", fresh.err(), kept.err()),
    }
    kept
}

fn encode_both(
    registry: &Registry,
    stages: &[Stage<'_>],
    input: &[u8],
    scratch: &mut Scratch,
) -> Result<(Vec<u8>, u32), Error> {
    let fresh = registry.encode(stages, input.to_vec());
    let mut out = vec![7; 100];
    let kept = registry.encode_into(stages, input, scratch, &mut out);
    let kept = kept.map(|(len, mask)| (out[..len].to_vec(), mask));
    assert!(fresh == kept, "{stages:?}, {} bytes", input.len());
    kept
}

#[test]
fn every_filter_and_length_agrees() {
    let (registry, mut random, mut scratch) = (Registry::default(), random(), Scratch::new());
    for (id, parameters) in general_stages() {
        for values in &parameters {
            for len in [0, 1, 2, 3, 5, 8, 31, 64, 65, 1000, 4099, random.below(70_000)] {
                let input = sample(&mut random, len);
                let stages = [Stage { id, optional: true, values }];
                let (stored, mask) = encode_both(&registry, &stages, &input, &mut scratch).unwrap();
                let back = decode_both(&registry, &stages, mask, &stored, len, &mut scratch);
                assert!(back.unwrap() == input, "filter {id} {values:?}, {len} bytes");
            }
        }
    }
}

fn random_pipeline<'a>(random: &mut Random, settings: &'a [(u16, Vec<Vec<u32>>)]) -> Vec<Stage<'a>> {
    let stage = |random: &mut Random| {
        let (id, values) = &settings[random.below(settings.len())];
        Stage { id: *id, optional: true, values: &values[random.below(values.len())] }
    };
    (0..random.below(6)).map(|_| stage(random)).collect()
}

#[test]
fn random_pipelines_agree() {
    let (registry, mut random, mut scratch) = (Registry::default(), random(), Scratch::new());
    let settings = general_stages();
    for _ in 0..300 {
        let stages = random_pipeline(&mut random, &settings);
        let len = [0, 1, 17, 4096, 20_000][random.below(5)];
        let input = sample(&mut random, len);
        let (stored, mask) = encode_both(&registry, &stages, &input, &mut scratch).unwrap();
        // Several containers around random bytes may need more than the limit: then both say so.
        if let Ok(back) = decode_both(&registry, &stages, mask, &stored, len, &mut scratch) {
            assert!(back == input, "{stages:?}, {len} bytes");
        }
        let other = random.next() as u32 & 63;
        let _ = decode_both(&registry, &stages, other, &stored, len, &mut scratch);
    }
}

#[test]
fn golden_chunks_agree_with_one_scratch_for_all() {
    let (registry, mut scratch) = (Registry::default(), Scratch::new());
    for record in golden() {
        let mut out = vec![0xa5; record.chunk.len()];
        let stages = record.stages();
        registry
            .decode_into(&stages, record.mask, &record.stored, &mut out, BYTES_MAX, &mut scratch)
            .unwrap_or_else(|error| panic!("{}: {error}", record.name));
        assert!(out == record.chunk, "{}", record.name);
        let optional: Vec<Stage<'_>> =
            stages.iter().map(|stage| Stage { optional: true, ..*stage }).collect();
        encode_both(&registry, &optional, &record.chunk, &mut scratch).unwrap();
    }
}

/// Old bytes of a reused buffer never show, and a state that saw broken input still works.
#[test]
fn broken_chunks_agree() {
    let (registry, mut random, mut scratch) = (Registry::default(), random(), Scratch::new());
    for record in golden().iter().filter(|record| record.chunk.len() < 60_000) {
        for _ in 0..6 {
            let mut bytes = record.stored.clone();
            mutate(&mut random, &mut bytes);
            let len = record.chunk.len() - random.below(2) * record.chunk.len() / 3;
            let _ = decode_both(&registry, &record.stages(), record.mask, &bytes, len, &mut scratch);
        }
    }
}

#[test]
fn longer_result_is_cut_and_shorter_refused() {
    let (registry, mut scratch) = (Registry::default(), Scratch::new());
    let input: Vec<u8> = (0..3000u32).map(|i| (i / 9) as u8).collect();
    for (id, parameters) in general_stages() {
        let stages = [Stage { id, optional: true, values: &parameters[0] }];
        let (stored, mask) = encode_both(&registry, &stages, &input, &mut scratch).unwrap();
        let cut = decode_both(&registry, &stages, mask, &stored, 2000, &mut scratch).unwrap();
        assert!(cut == input[..2000], "filter {id}");
        let error = decode_both(&registry, &stages, mask, &stored, 3001, &mut scratch).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt, "filter {id}: {error}");
    }
}

#[test]
fn without_a_stage_the_input_is_handed_on() {
    let (registry, mut scratch) = (Registry::default(), Scratch::new());
    let input = [1, 2, 3, 4];
    let stages =
        [Stage { id: 2, optional: true, values: &[1] }, Stage { id: 32013, optional: true, values: &[] }];
    let mut out = Vec::new();
    let (len, mask) = registry.encode_into(&stages, &input, &mut scratch, &mut out).unwrap();
    assert_eq!((&out[..len], mask), (&input[..], 0b10));
    assert_eq!(decode_both(&registry, &[], 0, &input, 3, &mut scratch).unwrap(), [1, 2, 3]);
    assert_eq!(decode_both(&registry, &stages, 0b11, &input, 4, &mut scratch).unwrap(), input);
    assert!(decode_both(&registry, &[], 0, &input, 5, &mut scratch).is_err());
}
