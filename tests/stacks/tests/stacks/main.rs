//! The conformance suite on stacks of layers over the memory connector: one test for each stack and behaviour.

mod lazy;
mod proof;
mod wide;

use std::sync::Arc;

use memory::MemoryConnector;
use testkit::{Subject, conformance};
use vol::{FileAccess, Registry, Result};

fn registry() -> Result<Registry> {
    let mut registry = Registry::new();
    let memory = MemoryConnector::new();
    registry.register(Arc::new(memory.clone()))?;
    registry.register(Arc::new(wide::WideConnector(memory)))?;
    registry.register_layer(Arc::new(async_layer::AsyncLayer))?;
    registry.register_layer(Arc::new(check_layer::CheckLayer))?;
    registry.register_layer(Arc::new(lazy::LazyLayer))?;
    registry.register_layer(Arc::new(proof::ProofLayer))?;
    registry.register_layer(Arc::new(mirror_layer::MirrorLayer))?;
    registry.register_layer(Arc::new(stats_layer::StatsLayer))?;
    registry.register_layer(Arc::new(trace_layer::TraceLayer))?;
    Ok(registry)
}

/// Names of subjects, and their stacks.
const STACKS: &[(&str, &str)] = &[
    ("stats", "stats"),
    ("trace", "trace"),
    ("check", "check"),
    ("async", "async"),
    // Every write waits for room, or is too large for the queue.
    ("async-small", "async{threads=4, memory=1000}"),
    ("async-lazy", "async | lazy"),
    ("stats-trace-check", "stats | trace | check"),
    ("check-async-check", "check | async | check"),
    ("mirror", "proof | mirror{to=memory:{}-copy}"),
    // Slots of the target differ from those of the primary.
    ("mirror-wide", "proof | mirror{to=wide:{}-copy}"),
    ("check-mirror", "check | mirror{to=memory:{}-one, to=memory:{}-two, on_failure=continue}"),
    ("stats-async-check-mirror", "stats | async | check | mirror{to=memory:{}-copy}"),
    ("async-proof-mirror-lazy", "async | proof | mirror{to=memory:{}-copy} | lazy"),
];

fn subject(stack: &str) -> Result<Subject> {
    let subject = Subject::new("memory", registry()?, |name| format!("memory:{name}"));
    Ok(subject.with_access(FileAccess::write().with_stack(stack)))
}

fn main() {
    let arguments = libtest_mimic::Arguments::from_args();
    let trials = STACKS.iter().flat_map(|(name, stack)| conformance::trials(name, || subject(stack)));
    libtest_mimic::run(&arguments, trials.collect()).exit();
}
