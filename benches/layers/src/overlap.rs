//! What async gains: 64 writes of 4 MiB, and as much computing.
//!
//! Storage that waits (a disk, a network) is stood for by a layer that sleeps as long as a device of 1 GB/s takes; the
//! rows without it show storage that is as quick as memory, where copying into the queue is half of the work.
//!
//! All rounds of async are shown, with the time that its threads were ready to run and got no core (Linux only): on a busy
//! machine that, and not the layer, may be what a round shows.

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

/// Seconds that all threads of this process have waited for a core so far: the second number of `schedstat`.
fn core_wait() -> f64 {
    let Ok(threads) = std::fs::read_dir("/proc/self/task") else { return 0.0 };
    let of_thread = |thread: std::fs::DirEntry| {
        let text = std::fs::read_to_string(thread.path().join("schedstat")).ok()?;
        text.split_whitespace().nth(1)?.parse::<f64>().ok()
    };
    threads.flatten().filter_map(of_thread).sum::<f64>() / 1e9
}

/// How long a round took.
#[derive(Clone, Copy)]
struct Round {
    seconds: f64,
    waited: f64,
}

/// Writing with pieces of computing between.
fn time(container: &dyn Container, computing: Duration) -> Result<Round> {
    let data = vec![7; BYTES];
    let datasets = (0..WRITES)
        .map(|n| dataset(container, &format!("d{n}"), BYTES as u64))
        .collect::<Result<Vec<_>>>()?;
    let (begun, waited) = (Instant::now(), core_wait());
    for dataset in datasets {
        write(container, dataset, &data)?;
        compute(computing / WRITES as u32);
    }
    container.commit(Durability::None)?;
    let seconds = begun.elapsed().as_secs_f64();
    // The container is still open, and its threads with it.
    Ok(Round { seconds, waited: core_wait() - waited })
}

/// Some rounds, each in a new container, the shortest first.
fn rounds(make: &dyn Fn() -> Result<Arc<dyn Container>>, computing: Duration) -> Result<Vec<Round>> {
    let mut rounds = (0..ROUNDS).map(|_| time(&*make()?, computing)).collect::<Result<Vec<_>>>()?;
    rounds.sort_by(|a, b| a.seconds.total_cmp(&b.seconds));
    Ok(rounds)
}

/// The shortest of some rounds.
fn best(make: &dyn Fn() -> Result<Arc<dyn Container>>, computing: Duration) -> Result<f64> {
    Ok(rounds(make, computing)?.first().map_or(f64::NAN, |round| round.seconds))
}

/// `async{…}` over a container.
fn queued(inner: Arc<dyn Container>) -> Result<Arc<dyn Container>> {
    let (stack, access, registry) =
        (vol::Stack::parse("async{threads=1}")?, vol::FileAccess::write(), vol::Registry::none());
    let parameters = stack.0.first().map(|entry| entry.parameters.clone()).unwrap_or_default();
    let op = vol::Wrap {
        inner,
        location: "bench",
        parameters: &parameters,
        made: None,
        access: &access,
        registry,
    };
    vol::LayerFactory::wrap(&layers::asynchronous::AsyncLayer, &op)
}

fn row(name: &str, make: &dyn Fn() -> Result<Arc<dyn Container>>) -> Result<()> {
    let writing = best(make, Duration::ZERO)?;
    let computing = Duration::from_secs_f64(writing);
    let both = best(make, computing)?;
    println!("{name:28} {writing:>10.3} {both:>12.3}");
    for Round { seconds, waited } in rounds(&|| queued(make()?), computing)? {
        println!("{:52} {seconds:>10.3} {:>8.3} {waited:>18.3}", "", seconds / writing);
    }
    Ok(())
}

pub(crate) fn run() -> Result<()> {
    println!(
        "\n64 writes of 4 MiB with as much computing: seconds, and async as a ratio to the writes alone"
    );
    let heads = ["storage", "writes", "one by one", "async", "ratio", "waited for a core"];
    let [storage, writes, both, queued, ratio, waited] = heads;
    println!("{storage:28} {writes:>10} {both:>12} {queued:>10} {ratio:>8} {waited:>18}");
    row("device of 1 GB/s", &|| Ok(Arc::new(Device(crate::container("")?))))?;
    row("memory", &|| crate::container(""))
}
