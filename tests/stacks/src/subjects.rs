//! What the suite is run on.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use memory::MemoryConnector;
use testkit::Subject;
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

/// A folder that goes with the subject that uses it.
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        // What is left behind in a temporary folder is not worth a failure.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn folder() -> Result<Folder> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let name = format!("hyperslab-stacks-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
    let folder = std::env::temp_dir().join(name);
    std::fs::create_dir_all(&folder).map_err(|e| vol::Error::io("make folder", &e))?;
    Ok(Folder(folder))
}

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
        let (kept, connector) = (folder()?, self.connector);
        let folder = kept.0.display().to_string();
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
