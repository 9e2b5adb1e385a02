//! A timeline for `chrome://tracing` and Perfetto (Trace Event Format, complete events).

use std::fs::File;
use std::io::{self, BufWriter, Write};

use model::{Error, Result};

use crate::stats::numbers::Event;

/// Writes the calls to a file.
pub(crate) fn write(path: &str, events: &[Event], dropped: u64) -> Result<()> {
    let failed = |error: io::Error| Error::io("write timeline", &error).with("file", path);
    let mut out = BufWriter::new(File::create(path).map_err(failed)?);
    write_to(&mut out, events, dropped).and_then(|()| out.flush()).map_err(failed)
}

fn write_to(out: &mut impl Write, events: &[Event], dropped: u64) -> io::Result<()> {
    write!(
        out,
        "{{\"displayTimeUnit\": \"ns\", \"otherData\": {{\"dropped\": {dropped}}}, \"traceEvents\": ["
    )?;
    for (n, event) in events.iter().enumerate() {
        write!(out, "{}\n{}", if n == 0 { "" } else { "," }, line(event))?;
    }
    writeln!(out, "\n]}}")
}

fn line(event: &Event) -> String {
    let Event { call, begin, nanos, thread, failed } = event;
    let object = call.object.map_or(String::from("null"), |token| format!("\"{token}\""));
    format!(
        "{{\"name\": \"{}\", \"ph\": \"X\", \"pid\": 1, \"tid\": {thread}, \"ts\": {}, \"dur\": {}, \
         \"args\": {{\"object\": {object}, \"bytes\": {}, \"failed\": {failed}}}}}",
        call.operation.name(),
        micros(*begin),
        micros(*nanos),
        call.bytes
    )
}

fn micros(nanos: u64) -> String {
    format!("{}.{:03}", nanos / 1000, nanos % 1000)
}

#[cfg(test)]
mod tests {
    use model::Token;
    use vol::{Call, Operation};

    use super::*;

    #[test]
    fn an_event_is_one_line_with_microseconds() {
        let call = Call { operation: Operation::dataset_read, object: Some(Token::from_u64(5)), bytes: 8 };
        let event = Event { call, begin: 1_234_567, nanos: 5, thread: 2, failed: false };
        let mut out = Vec::new();
        write_to(&mut out, &[event, event], 3).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert_eq!(text.lines().count(), 4);
        assert!(text.contains("\"ts\": 1234.567, \"dur\": 0.005") && text.contains("\"dropped\": 3"));
        assert!(text.contains("\"object\": \"0x5\", \"bytes\": 8, \"failed\": false"));
    }
}
