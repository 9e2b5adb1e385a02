//! The trace layer: one event an operation, through the `tracing` crate, with the target `hyperslab`.
//!
//! ```text
//! trace{level=debug}
//! ```
//!
//! Who listens is the program's choice (`tracing_subscriber`, …); where no one does, a call costs one look at a flag.

use std::sync::Arc;
use system::clock::Instant;

use model::{Error, Result};
use tracing::Level;
use vol::{
    Call, Capability, ConnectorInfo, Container, LayerFactory, Observed, Observer, Parameters, Wrap, WrapCheck,
};

/// Puts tracing over containers.
#[derive(Debug, Clone, Copy, Default)]
pub struct TraceLayer;

impl LayerFactory for TraceLayer {
    fn info(&self) -> ConnectorInfo {
        ConnectorInfo {
            name: "trace",
            value: 521,
            version: 1,
            capability: Capability::default(),
            about: "one line an operation, through tracing",
        }
    }

    fn check(&self, op: &WrapCheck<'_>) -> Result<()> {
        Tell::new(op.parameters).map(drop)
    }

    fn wrap(&self, op: &Wrap<'_>) -> Result<Arc<dyn Container>> {
        Ok(Arc::new(Observed::new(op.inner.clone(), Tell::new(op.parameters)?)))
    }
}

struct Tell {
    level: Level,
}

impl Tell {
    fn new(parameters: &Parameters) -> Result<Self> {
        parameters.only(&["level"])?;
        Ok(Tell { level: parameters.parsed("level", Level::DEBUG)? })
    }
}

/// `$with!(level)` for the level that is a constant only in each arm.
macro_rules! at_level {
    ($level:expr, $with:ident) => {
        match $level {
            Level::ERROR => $with!(Level::ERROR),
            Level::WARN => $with!(Level::WARN),
            Level::INFO => $with!(Level::INFO),
            Level::DEBUG => $with!(Level::DEBUG),
            _ => $with!(Level::TRACE),
        }
    };
}

impl Observer for Tell {
    /// When it began, where a caller listens.
    type Begun = Option<Instant>;

    fn begin(&self, _call: &Call) -> Result<Option<Instant>> {
        macro_rules! is_wanted {
            ($level:expr) => {
                tracing::enabled!(target: "hyperslab", $level)
            };
        }
        Ok(at_level!(self.level, is_wanted).then(Instant::now))
    }

    fn end(&self, call: &Call, begun: Option<Instant>, error: Option<&Error>) -> Result<()> {
        let Some(begun) = begun else { return Ok(()) };
        let micros = begun.elapsed().as_secs_f64() * 1e6;
        let (operation, bytes) = (call.operation.name(), call.bytes);
        let object = call.object.map(tracing::field::display);
        let error = error.map(tracing::field::display);
        macro_rules! tell {
            ($level:expr) => {
                tracing::event!(target: "hyperslab", $level, operation, object, bytes, micros, error)
            };
        }
        at_level!(self.level, tell);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Debug;
    use system::sync::Mutex;

    use memory::MemoryConnector;
    use model::properties::FileCreate;
    use model::{Kind, Token};
    use tracing::field::{Field, Visit};
    use tracing::span::{Attributes, Id, Record};
    use tracing::{Event, Metadata, Subscriber};
    use vol::{FileAccess, Registry};

    use super::*;

    /// Keeps events as lines.
    #[derive(Clone, Default)]
    struct Lines(Arc<Mutex<Vec<String>>>);

    struct Line<'a>(&'a mut String);

    impl Visit for Line<'_> {
        fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
            if field.name() != "micros" {
                self.0.push_str(&format!(" {}={value:?}", field.name()));
            }
        }
    }

    impl Subscriber for Lines {
        fn enabled(&self, metadata: &Metadata<'_>) -> bool {
            *metadata.level() <= Level::INFO
        }

        fn new_span(&self, _: &Attributes<'_>) -> Id {
            Id::from_u64(1)
        }

        fn record(&self, _: &Id, _: &Record<'_>) {}

        fn record_follows_from(&self, _: &Id, _: &Id) {}

        fn event(&self, event: &Event<'_>) {
            let mut line = format!("{} {}", event.metadata().level(), event.metadata().target());
            event.record(&mut Line(&mut line));
            self.0.lock().push(line);
        }

        fn enter(&self, _: &Id) {}

        fn exit(&self, _: &Id) {}
    }

    fn lines(stack: &str) -> Vec<String> {
        let mut registry = Registry::new();
        registry.register(Arc::new(MemoryConnector::new())).unwrap();
        registry.register_layer(Arc::new(TraceLayer)).unwrap();
        let access = FileAccess::write().with_stack(stack);
        let lines = Lines::default();
        tracing::subscriber::with_default(lines.clone(), || {
            let container = registry.create("memory:x", &FileCreate::default(), &access, false).unwrap();
            container.blob_put(&[b"abc"]).unwrap();
            container.group_info(Token::from_u64(7)).unwrap_err();
        });
        let found = lines.0.lock();
        found.clone()
    }

    #[test]
    fn an_operation_is_one_line() {
        let lines = lines("trace{level=info}");
        assert_eq!(lines.len(), 3, "{lines:?}");
        assert_eq!(lines[0], "INFO hyperslab operation=\"blob_put\" bytes=11");
        let failed = "INFO hyperslab operation=\"group_info\" object=0x7 bytes=0 error=";
        assert!(lines[1].starts_with(failed), "{}", lines[1]);
        // The handle was dropped.
        assert_eq!(lines[2], "INFO hyperslab operation=\"close\" bytes=0");
    }

    #[test]
    fn nothing_is_emitted_below_what_is_listened_for() {
        assert!(lines("trace").is_empty());
    }

    #[test]
    fn an_unknown_level_is_refused() {
        let parameters = vol::Stack::parse("trace{level=loud}").unwrap().0.remove(0).parameters;
        let inner: Arc<dyn Container> = Arc::new(Nothing);
        let access = &FileAccess::read();
        let op = Wrap {
            inner,
            location: "x",
            parameters: &parameters,
            made: None,
            access,
            registry: Registry::none(),
        };
        assert_eq!(TraceLayer.wrap(&op).map(|_| ()).unwrap_err().kind(), Kind::Invalid);
    }

    struct Nothing;

    impl Container for Nothing {}
}
