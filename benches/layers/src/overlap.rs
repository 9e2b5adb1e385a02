//! What async gains: 64 writes of 4 MiB, and as much computing.
//!
//! Storage that waits (a disk, a network) is stood for by a layer that sleeps as long as a device of 1 GB/s takes; the
//! rows without it show storage that is as quick as memory, where copying into the queue is half of the work.

use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use model::{Result, Selection, Token};
use vol::{Container, Durability, Layer, OpWrite};

use crate::dataset;

const WRITES: usize = 64;
const BYTES: usize = 4 << 20;
const ROUNDS: usize = 9;
const DEVICE_BYTES_PER_SECOND: f64 = 1e9;

/// A container whose storage waits.
struct Device(Arc<dyn Container>);

impl Layer for Device {
    fn inner(&self) -> &dyn Container {
        &*self.0
    }

    fn dataset_write(&self, writes: &[OpWrite<'_>]) -> Result<()> {
        let bytes: usize = writes.iter().map(|write| write.from.len()).sum();
        let begun = Instant::now();
        self.0.dataset_write(writes)?;
        let wanted = Duration::from_secs_f64(bytes as f64 / DEVICE_BYTES_PER_SECOND);
        std::thread::sleep(wanted.saturating_sub(begun.elapsed()));
        Ok(())
    }
}

/// Computes for so long, on one core, without touching memory.
fn compute(time: Duration) {
    let begun = Instant::now();
    let mut x = 1u64;
    while begun.elapsed() < time {
        for _ in 0..1000 {
            x = black_box(x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1));
        }
    }
}

fn write(container: &dyn Container, dataset: Token, data: &[u8]) -> Result<()> {
    container.dataset_write(&[OpWrite { dataset, selection: &Selection::All, from: data }])
}

/// Seconds of writing with pieces of computing between.
fn time(container: &dyn Container, computing: Duration) -> Result<f64> {
    let data = vec![7; BYTES];
    let datasets = (0..WRITES)
        .map(|n| dataset(container, &format!("d{n}"), BYTES as u64))
        .collect::<Result<Vec<_>>>()?;
    let begun = Instant::now();
    for dataset in datasets {
        write(container, dataset, &data)?;
        compute(computing / WRITES as u32);
    }
    container.commit(Durability::None)?;
    Ok(begun.elapsed().as_secs_f64())
}

/// The least of some rounds, each in a new container.
fn best(make: &dyn Fn() -> Result<Arc<dyn Container>>, computing: Duration) -> Result<f64> {
    (0..ROUNDS).try_fold(f64::MAX, |best, _| Ok(best.min(time(&*make()?, computing)?)))
}

/// `async{…}` over a container.
fn queued(inner: Arc<dyn Container>) -> Result<Arc<dyn Container>> {
    let (stack, access, registry) =
        (vol::Stack::parse("async{threads=1}")?, vol::FileAccess::write(), vol::Registry::NONE);
    let parameters = stack.0.first().map(|entry| entry.parameters.clone()).unwrap_or_default();
    let op = vol::Wrap {
        inner,
        location: "bench",
        parameters: &parameters,
        made: None,
        access: &access,
        registry,
    };
    vol::LayerFactory::wrap(&async_layer::AsyncLayer, &op)
}

fn row(name: &str, make: &dyn Fn() -> Result<Arc<dyn Container>>) -> Result<()> {
    let writing = best(make, Duration::ZERO)?;
    let computing = Duration::from_secs_f64(writing);
    let both = best(make, computing)?;
    let overlapped = best(&|| queued(make()?), computing)?;
    let ratio = overlapped / writing;
    println!("{name:28} {writing:>10.3} {both:>12.3} {overlapped:>10.3} {ratio:>8.3}");
    Ok(())
}

pub(crate) fn run() -> Result<()> {
    println!(
        "\n64 writes of 4 MiB with as much computing: seconds, and async as a ratio to the writes alone"
    );
    println!("{:28} {:>10} {:>12} {:>10} {:>8}", "storage", "writes", "one by one", "async", "ratio");
    row("device of 1 GB/s", &|| Ok(Arc::new(Device(crate::container("")?))))?;
    row("memory", &|| crate::container(""))
}
