//! What the inner loops cost: `cargo run --release -p hyperslab-model --example kernels`.

use std::hint::black_box;
use std::time::{Duration, Instant};

use hyperslab_model::convert::{Conversions, Plan};
use hyperslab_model::datatype::{Compound, Member};
use hyperslab_model::selection::{PointIndex, SetOp};
use hyperslab_model::{ByteOrder, Datatype, Heap, Result, Selection};

const ROUNDS: usize = 15;
/// Elements of a conversion: source and target stay in the second-level cache.
const ELEMENTS: usize = 32 << 10;

fn best(mut work: impl FnMut() -> Result<()>) -> Result<Duration> {
    let mut best = Duration::MAX;
    for _ in 0..ROUNDS {
        let begun = Instant::now();
        work()?;
        best = best.min(begun.elapsed());
    }
    Ok(best)
}

fn conversion(name: &str, from: &Datatype, to: &Datatype) -> Result<()> {
    let plan = Plan::compile(from, to, &Conversions::default())?;
    let source = vec![1u8; ELEMENTS * plan.from_bytes()];
    let mut target = vec![0u8; ELEMENTS * plan.to_bytes()];
    let time = best(|| plan.run(black_box(&source), black_box(&mut target), ELEMENTS, &mut Heap::new()))?;
    println!("{name}: {:.2} ns an element", time.as_nanos() as f64 / ELEMENTS as f64);
    Ok(())
}

fn record(size: u32, members: &[(&str, u32, Datatype)]) -> Datatype {
    let member = |(name, offset, datatype): &(&str, u32, Datatype)| Member {
        name: (*name).to_owned(),
        offset: *offset,
        datatype: datatype.clone(),
    };
    Datatype::Compound(Compound { size, members: members.iter().map(member).collect() })
}

fn conversions() -> Result<()> {
    let [f32s, f64s] = [Datatype::ieee_f32(ByteOrder::NATIVE), Datatype::ieee_f64(ByteOrder::NATIVE)];
    let [i32s, u8s] = [Datatype::native_int(4), Datatype::native_uint(1)];
    let big = Datatype::integer(4, true, ByteOrder::Big);
    conversion("f64 to f32", &f64s, &f32s)?;
    conversion("f32 to f64", &f32s, &f64s)?;
    conversion("big-endian i32 to i32", &big, &i32s)?;
    conversion("big-endian i32 to f64", &big, &f64s)?;
    conversion("f64 to i32", &f64s, &i32s)?;
    conversion("i32 to u8", &i32s, &u8s)?;
    let members = |at: [u32; 3]| {
        [("id", at[0], i32s.clone()), ("value", at[1], f64s.clone()), ("flag", at[2], u8s.clone())]
    };
    let (padded, packed) = (record(24, &members([0, 8, 16])), record(13, &members([0, 4, 12])));
    conversion("padded to packed compound", &padded, &packed)?;
    conversion("packed to padded compound", &packed, &padded)?;
    conversion("one member of a compound", &packed, &record(8, &[("value", 0, f64s.clone())]))?;
    let swapped = record(24, &[("id", 0, big), ("value", 8, f32s), ("flag", 16, u8s)]);
    conversion("compound with members converted", &packed, &swapped)
}

fn copies() -> Result<()> {
    let (dims, chunk_shape) = ([16384, 16384], [256, 256]);
    let strided = Selection::hyperslab(&[0, 0], &[4, 4], &[4096, 4096], &[1, 1])?;
    let chunk = vec![1u8; 256 * 256 * 4];
    let mut into = vec![0u8; 4096 * 4096 * 4];
    let time =
        best(|| strided.chunk_runs(&dims, &[512, 512], &chunk_shape)?.copy_out(4, &chunk, 0, &mut into))?;
    println!("every fourth f32 of a chunk: {:.2} ns an element", time.as_nanos() as f64 / 4096.0);
    let mut seed = 5u64;
    let coords = (0..200_000).map(|_| random(&mut seed) % 16384).collect();
    if let Selection::Points(points) = Selection::points(2, coords)? {
        let time = best(|| PointIndex::new(&points, &chunk_shape).map(drop))?;
        println!("grouping 100,000 points: {time:?}");
        let index = PointIndex::new(&points, &chunk_shape)?;
        let time = best(|| {
            index.chunks().try_for_each(|at| index.chunk_runs(&at)?.copy_out(4, &chunk, 0, &mut into))
        })?;
        println!("copying them: {time:?}");
    }
    Ok(())
}

fn random(seed: &mut u64) -> u64 {
    *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    *seed >> 33
}

fn unions() -> Result<()> {
    let (dims, mut seed) = ([10_000, 10_000], 7);
    let mut blocks = Vec::new();
    for _ in 0..10_000 {
        let [x, y, height, width] = [9900, 9900, 20, 20].map(|max| random(&mut seed) % max);
        blocks.push(([x, y], [height + 1, width + 1]));
    }
    for count in [2_000, 10_000] {
        let time = best(|| {
            let mut union = Selection::None;
            for (start, shape) in &blocks[..count] {
                union = union.combine(SetOp::Or, &Selection::block(start, shape)?, &dims)?;
            }
            union.element_count(&dims).map(drop)
        })?;
        println!("{count} blocks united one by one: {:.2} us each", time.as_secs_f64() * 1e6 / count as f64);
    }
    Ok(())
}

fn main() -> Result<()> {
    conversions()?;
    copies()?;
    if std::env::args().len() > 1 { Ok(()) } else { unions() }
}
