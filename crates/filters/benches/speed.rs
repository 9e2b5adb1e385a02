//! Speed of filters on one core, best of many: `cargo bench -p hyperslab-filters [--features c-codecs] [-- NAME]`.
//!
//! The data is one chunk of 1 MiB: a smooth field of 32-bit floats with noise in the low bits.

use std::hint::black_box;
use std::time::{Duration, Instant};

use hyperslab_filters::{Registry, Scratch, Stage};

const CHUNK_BYTES: usize = 1 << 20;
const NOISE_BITS: u32 = 8;
const TIME: Duration = Duration::from_millis(400);

/// Name, and the filters with their values.
type Pipeline = (&'static str, &'static [(u16, &'static [u32])]);

const PIPELINES: &[Pipeline] = &[
    ("shuffle 2", &[(2, &[2])]),
    ("shuffle 3", &[(2, &[3])]),
    ("shuffle 4", &[(2, &[4])]),
    ("shuffle 8", &[(2, &[8])]),
    ("shuffle 12", &[(2, &[12])]),
    ("shuffle 16", &[(2, &[16])]),
    ("shuffle 24", &[(2, &[24])]),
    ("bitshuffle 2", &[(32008, &[0, 4, 2, 0, 0])]),
    ("bitshuffle 4", &[(32008, &[0, 4, 4, 0, 0])]),
    ("bitshuffle 8", &[(32008, &[0, 4, 8, 0, 0])]),
    ("fletcher32", &[(3, &[])]),
    ("shuffle, deflate 1", &[(2, &[4]), (1, &[1])]),
    ("shuffle, deflate 4", &[(2, &[4]), (1, &[4])]),
    ("shuffle, deflate 6", &[(2, &[4]), (1, &[6])]),
    ("shuffle, deflate 9", &[(2, &[4]), (1, &[9])]),
    ("fletcher32, shuffle, deflate 4", &[(3, &[]), (2, &[4]), (1, &[4])]),
    ("lz4", &[(32004, &[])]),
    ("shuffle, lz4", &[(2, &[4]), (32004, &[])]),
    ("zstd 1", &[(32015, &[1])]),
    ("shuffle, zstd 1", &[(2, &[4]), (32015, &[1])]),
    ("lzf", &[(32000, &[])]),
    ("shuffle, lzf", &[(2, &[4]), (32000, &[])]),
    ("bitshuffle lz4", &[(32008, &[0, 4, 4, 0, 2])]),
    ("bitshuffle zstd 1", &[(32008, &[0, 4, 4, 0, 3, 1])]),
    ("blosc blosclz", &[(32001, &[2, 2, 4, 0, 5, 1, 0])]),
    ("blosc lz4", &[(32001, &[2, 2, 4, 0, 5, 1, 1])]),
    ("blosc lz4 bits", &[(32001, &[2, 2, 4, 0, 5, 2, 1])]),
    ("blosc zstd 1", &[(32001, &[2, 2, 4, 0, 1, 1, 5])]),
    ("blosc2 lz4", &[(32026, &[1, 0, 4, 0, 5, 1, 1])]),
];

fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    let chunk = field();
    println!("{:32} {:>12} {:>12} {:>8}", "GB/s", "encode", "decode", "size");
    for (name, filters) in PIPELINES {
        if wanted.is_empty() || wanted.iter().any(|word| name.contains(word)) {
            let stages: Vec<Stage<'_>> =
                filters.iter().map(|(id, values)| Stage { id: *id, optional: true, values }).collect();
            measure(name, &stages, &chunk);
        }
    }
}

/// Returns a sine with noise in the lowest bits of the mantissa.
fn field() -> Vec<u8> {
    let mut noise = 0x9e37_79b9_7f4a_7c15u64;
    let mut value = |i: usize| {
        noise ^= noise << 13;
        noise ^= noise >> 7;
        noise ^= noise << 17;
        let smooth = (i as f32 * 0.001).sin() * 100.0;
        smooth.to_bits() ^ (noise >> 40) as u32 & ((1 << NOISE_BITS) - 1)
    };
    (0..CHUNK_BYTES / 4).flat_map(|i| value(i).to_le_bytes()).collect()
}

fn measure(name: &str, stages: &[Stage<'_>], chunk: &[u8]) {
    let registry = Registry::default();
    let (mut scratch, mut buffer) = (Scratch::new(), Vec::new());
    let encoded = best(|| {
        black_box(
            registry.encode_into(stages, black_box(chunk), &mut scratch, &mut buffer).expect("encodes"),
        );
    });
    let (stored, mask) = registry.encode(stages, chunk.to_vec()).expect("encodes");
    let mut out = vec![0; chunk.len()];
    let bytes_max = 2 * chunk.len();
    let decoded = best(|| {
        registry
            .decode_into(stages, mask, black_box(&stored), &mut out, bytes_max, &mut scratch)
            .expect("decodes");
        black_box(&out);
    });
    assert!(out == chunk, "{name}: other bytes come back");
    let size = stored.len() as f64 / chunk.len() as f64;
    println!("{name:32} {encoded:12.3} {decoded:12.3} {size:8.3}");
}

/// GB/s of the fastest run: others are disturbed.
fn best(mut run: impl FnMut()) -> f64 {
    let start = Instant::now();
    let mut fastest = f64::MAX;
    while start.elapsed() < TIME {
        let begin = Instant::now();
        run();
        fastest = fastest.min(begin.elapsed().as_secs_f64());
    }
    CHUNK_BYTES as f64 / fastest / 1e9
}
