//! The layer: its parameters, and the observer that takes the time.

use std::sync::Arc;
use system::clock::Instant;

use model::{Error, Result};
use vol::{
    Call, Capability, ConnectorInfo, Container, ExtensionInfo, LayerFactory, Observed, Observer, Operation,
    Optional, Parameters, Wrap, WrapCheck,
};

use crate::stats::chrome;
use crate::stats::extensions::{self, StatsJson, StatsRows, StatsTable};
use crate::stats::numbers::{Collected, StatsOptions};
use crate::stats::report::Stats;

/// Events of a timeline unless a parameter says otherwise: 24 MiB of them.
const EVENTS_MAX: u64 = 262_144;

/// Puts statistics over containers.
#[derive(Debug, Clone, Copy, Default)]
pub struct StatsLayer;

impl LayerFactory for StatsLayer {
    fn info(&self) -> ConnectorInfo {
        ConnectorInfo {
            name: "stats",
            value: 520,
            version: 1,
            capability: Capability::default(),
            about: "counts, bytes and latencies of every operation",
        }
    }

    fn check(&self, op: &WrapCheck<'_>) -> Result<()> {
        Watch::new(op.parameters).map(drop)
    }

    fn wrap(&self, op: &Wrap<'_>) -> Result<Arc<dyn Container>> {
        Ok(Arc::new(Observed::new(op.inner.clone(), Watch::new(op.parameters)?)))
    }

    fn extensions(&self) -> &'static [ExtensionInfo] {
        extensions::ALL
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    Table,
    Json,
}

impl Format {
    fn show(self, stats: &Stats) -> String {
        match self {
            Format::Table => stats.to_table(),
            Format::Json => stats.to_json(),
        }
    }
}

struct Watch {
    collected: Collected,
    format: Format,
    out: Option<String>,
    chrome: Option<String>,
}

fn unknown(parameter: &str, value: &str, known: &str) -> Error {
    Error::invalid("read parameter").with("parameter", parameter).with("value", value).with("known", known)
}

impl Watch {
    fn new(parameters: &Parameters) -> Result<Self> {
        parameters.only(&["out", "format", "by", "chrome", "events"])?;
        let format = match parameters.get("format").unwrap_or("table") {
            "table" => Format::Table,
            "json" => Format::Json,
            other => return Err(unknown("format", other, "table, json")),
        };
        let (operations, objects) = match parameters.get("by").unwrap_or("both") {
            "operation" => (true, false),
            "object" => (false, true),
            "both" => (true, true),
            other => return Err(unknown("by", other, "operation, object, both")),
        };
        let chrome = parameters.get("chrome").map(str::to_owned);
        let events_max = if chrome.is_some() { parameters.parsed("events", EVENTS_MAX)? } else { 0 };
        let out = parameters.get("out").filter(|out| *out != "-").map(str::to_owned);
        let collected = Collected::new(StatsOptions { operations, objects, events_max });
        Ok(Watch { collected, format, out, chrome })
    }

    fn stats(&self) -> Stats {
        Stats::new(&self.collected.merged())
    }

    fn write_files(&self) -> Result<()> {
        if let Some(path) = &self.out {
            let failed = |error| Error::io("write statistics", &error).with("file", path);
            std::fs::write(path, self.format.show(&self.stats())).map_err(failed)?;
        }
        match &self.chrome {
            Some(path) => {
                let (events, dropped) = self.collected.events();
                chrome::write(path, &events, dropped)
            }
            None => Ok(()),
        }
    }
}

impl Observer for Watch {
    type Begun = Instant;

    fn begin(&self, _call: &Call) -> Result<Instant> {
        Ok(Instant::now())
    }

    fn end(&self, call: &Call, begun: Instant, error: Option<&Error>) -> Result<()> {
        self.collected.add(call, begun, error.is_some());
        match call.operation {
            Operation::close => self.write_files(),
            _ => Ok(()),
        }
    }

    fn optional(&self, name: &str, request: &[u8]) -> Option<Result<Vec<u8>>> {
        Optional::new(name, request)
            .on::<StatsTable>(|()| Ok(self.stats().to_table()))
            .on::<StatsJson>(|()| Ok(self.stats().to_json()))
            .on::<StatsRows>(|()| Ok(self.stats().to_rows()))
            .answer()
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use memory::MemoryConnector;
    use model::properties::{DatasetCreate, FileCreate};
    use model::{Dataspace, Datatype, Kind, Selection, Token};
    use vol::{FileAccess, LinkLocation, OpDatasetCreate, OpRead, OpWrite, Registry};

    use super::*;

    fn open(stack: &str) -> Result<Arc<dyn Container>> {
        let mut registry = Registry::new();
        registry.register(Arc::new(MemoryConnector::new()))?;
        registry.register_layer(Arc::new(StatsLayer))?;
        registry.create("memory:x", &FileCreate::default(), &FileAccess::write().with_stack(stack), false)
    }

    /// Returns one dataset of eight bytes: written, read three times; and one call that fails.
    fn use_it(container: &dyn Container) -> Token {
        let op = OpDatasetCreate {
            place: Some(LinkLocation::new(container.info().unwrap().root, "d")),
            datatype: Datatype::native_int(4),
            committed: None,
            space: Dataspace::simple(&[2]).unwrap(),
            create: DatasetCreate::default(),
        };
        let dataset = container.dataset_create(&op).unwrap();
        let selection = &Selection::All;
        container.dataset_write(&[OpWrite { dataset, selection, from: &[7; 8] }]).unwrap();
        for _ in 0..3 {
            container.dataset_read(&mut [OpRead { dataset, selection, into: &mut [0; 8] }]).unwrap();
        }
        container.dataset_info(Token::from_u64(99)).unwrap_err();
        dataset
    }

    #[test]
    fn counts_bytes_and_errors_add_up() {
        let container = open("stats").unwrap();
        let dataset = use_it(&*container);
        let stats = Stats::of(&*container).unwrap();
        let numbers = |name: &str| stats.operation(name).map(|row| (row.count, row.errors, row.bytes));
        assert_eq!(numbers("dataset_read"), Some((3, 0, 24)));
        assert_eq!(numbers("dataset_write"), Some((1, 0, 8)));
        assert_eq!(numbers("dataset_info"), Some((1, 1, 0)));
        assert_eq!(numbers("map_get"), None);
        let object = stats.objects.iter().find(|row| row.name == dataset.to_string()).unwrap();
        assert_eq!((object.count, object.bytes), (5, 32));
        let read = stats.operation("dataset_read").unwrap();
        assert!(
            read.p50 <= read.p90 && read.p90 <= read.p99 && read.p99 <= read.max && read.max <= read.total
        );
    }

    #[test]
    fn blobs_count_what_came_back() {
        let container = open("stats{by=operation}").unwrap();
        let id = container.blob_put(&[b"four"]).unwrap();
        let mut blobs = vol::Blobs::default();
        blobs.push(b"there before").unwrap();
        container.blob_get(&[&id], &mut blobs).unwrap();
        let stats = Stats::of(&*container).unwrap();
        assert_eq!(stats.operation("blob_get").map(|row| row.bytes), Some(id.len() as u64 + 4));
        assert!(stats.objects.is_empty());
    }

    #[test]
    fn the_outer_of_two_layers_answers_and_the_inner_passes_others_on() {
        let container = open("stats | stats{by=object}").unwrap();
        use_it(&*container);
        assert!(!Stats::of(&*container).unwrap().operations.is_empty());
        assert_eq!(container.optional("none", &[]).unwrap_err().kind(), Kind::Unsupported);
        let table = vol::call::<StatsTable>(&*container, &()).unwrap();
        assert!(table.starts_with("operation"), "{table}");
    }

    #[test]
    fn unknown_parameters_are_refused() {
        for stack in
            ["stats{by=day}", "stats{format=xml}", "stats{colour=red}", "stats{chrome=x,events=many}"]
        {
            assert_eq!(open(stack).map(|_| ()).unwrap_err().kind(), Kind::Invalid, "{stack}");
        }
    }

    fn temporary(name: &str) -> std::path::PathBuf {
        std::env::temp_dir().join(format!("hyperslab-stats-{}-{name}", std::process::id()))
    }

    fn taken(path: &Path) -> String {
        let text = std::fs::read_to_string(path).unwrap();
        std::fs::remove_file(path).unwrap();
        text
    }

    #[test]
    fn closing_writes_the_files() {
        let (out, chrome) = (temporary("out.json"), temporary("chrome.json"));
        let stack =
            format!("stats{{out={}, format=json, chrome={}, events=4}}", out.display(), chrome.display());
        let container = open(&stack).unwrap();
        use_it(&*container);
        container.close().unwrap();
        assert!(taken(&out).contains(r#"{"operation": "close", "count": 1"#));
        let timeline = taken(&chrome);
        assert_eq!(timeline.matches("\"ph\": \"X\"").count(), 4);
        assert!(timeline.contains("\"dropped\": 4"), "{timeline}");
    }

    #[test]
    fn a_file_that_cannot_be_written_fails_the_close() {
        let container = open("stats{out=/nowhere/at/all}").unwrap();
        assert_eq!(container.close().unwrap_err().kind(), Kind::NotFound);
    }
}
