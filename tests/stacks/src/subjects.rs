//! What the suite is run on.

use std::sync::Arc;

use memory::MemoryConnector;
use testkit::{Folder, Subject};
use vol::{FileAccess, Registry, Result};

use crate::{lazy, loopback, proof, wide};

/// A terminal connector, and what lies over it.
#[derive(Debug, Clone, Copy)]
pub struct Entry {
    /// Name of the test, and of what it is run on.
    pub test: &'static str,
    /// Layers, outermost first; none for the connector alone.
    pub layers: &'static str,
    /// The terminal connector.
    pub connector: &'static str,
    /// Where a mirror among the layers has its target: compared whenever a container is closed.
    pub copy: Option<&'static str>,
}

const fn alone(connector: &'static str) -> Entry {
    Entry { test: connector, layers: "", connector, copy: None }
}

const fn over(test: &'static str, layers: &'static str, connector: &'static str) -> Entry {
    Entry { test, layers, connector, copy: None }
}

const fn mirrored(
    test: &'static str,
    layers: &'static str,
    connector: &'static str,
    copy: &'static str,
) -> Entry {
    Entry { test, layers, connector, copy: Some(copy) }
}

/// Every terminal connector alone, and stacks in which each of them and each layer stands at least once; but for
/// `readonly`, which refuses most of the suite.
pub const SUBJECTS: &[Entry] = &[
    alone("native"),
    alone("memory"),
    alone("raw"),
    alone("json"),
    alone("object"),
    alone("iod"),
    alone("log"),
    over("stats-memory", "stats", "memory"),
    over("trace-raw", "trace", "raw"),
    over("check-native", "check", "native"),
    over("stats-check-object", "stats | check", "object"),
    over("stats-iod", "stats", "iod"),
    over("trace-log", "trace", "log"),
    over("loopback-json", "loopback", "json"),
    over("async-check-memory", "async | check", "memory"),
    // Every write waits for space, or is too large for the queue.
    over("check-async-small-raw", "check | async{threads=4, memory=1000}", "raw"),
    over("stats-trace-check-json", "stats | trace | check", "json"),
    // What is queued is still queued when the next call comes.
    over("async-lazy-memory", "async | lazy", "memory"),
    mirrored(
        "async-mirror-lazy-memory",
        "async | mirror{to=memory:{}-copy} | lazy",
        "memory",
        "memory:{}-copy",
    ),
    // Descriptors of the target differ from those of the primary.
    mirrored("mirror-wide-memory", "mirror{to=wide:{}-copy}", "memory", "wide:{}-copy"),
    mirrored("mirror-memory-native", "mirror{to=memory:{}-copy}", "native", "memory:{}-copy"),
    over(
        "check-mirror-two-memory",
        "check | mirror{to=memory:{}-one, to=memory:{}-two, on_failure=continue}",
        "memory",
    ),
    mirrored(
        "stats-async-check-mirror-raw-native",
        "stats | async | check | mirror{to=raw:{}.copy}",
        "native",
        "raw:{}.copy",
    ),
];

/// The connectors and layers that users have, and those of this suite.
pub fn registry() -> Result<Registry> {
    let mut registry = hyperslab::registry();
    registry.register(Arc::new(wide::WideConnector(MemoryConnector::new())))?;
    registry.register_layer(Arc::new(lazy::LazyLayer))?;
    registry.register_layer(Arc::new(loopback::LoopbackLayer))?;
    registry.register_layer(Arc::new(proof::ProofLayer))?;
    Ok(registry)
}

impl Entry {
    /// The whole stack as one writes it, down to the connector.
    pub fn name(&self) -> String {
        match self.layers {
            "" => self.connector.to_owned(),
            layers => format!("{layers} | {}", self.connector),
        }
    }

    /// What the suite is run on.
    pub fn subject(&self) -> Result<Subject> {
        let (kept, connector) = (Folder::new("stacks"), self.connector);
        let folder = kept.path().display().to_string();
        let location = move |name: &str| match connector {
            "memory" => format!("memory:{name}"),
            "native" | "log" => format!("{connector}:{folder}/{name}.h5"),
            other => format!("{other}:{folder}/{name}"),
        };
        let subject = Subject::new(self.name(), registry()?, location).keeping(kept);
        let proof = self.copy.map(|copy| format!("proof{{copy={copy}}}"));
        let stack: Vec<&str> = proof.as_deref().into_iter().chain([self.layers]).collect();
        Ok(match self.layers {
            "" => subject,
            _ => subject.with_access(FileAccess::write().with_stack(stack.join(" | "))),
        })
    }
}
