//! JSON that is written piece by piece, within a limit.

use hyperslab::vol::model::Charge;
use serde_json::Value;

use crate::answer::{Answer, Failure};
use crate::call::{Call, busy};

/// Memory is taken in steps of this, so that few bytes do not cost an account much.
const CHARGE_BYTES: u64 = 1 << 20;

/// A JSON text that grows. Its memory is charged to the account of answers.
#[derive(Debug)]
pub(crate) struct JsonText {
    bytes: Vec<u8>,
    bytes_max: u64,
    charge: Option<Charge>,
}

impl JsonText {
    /// Returns an empty text for the answer to a request.
    pub(crate) fn new(call: &Call<'_>) -> Self {
        let charge = Some(call.memory.empty_charge());
        JsonText { bytes: Vec::new(), bytes_max: call.limits.response_bytes_max, charge }
    }

    /// Returns an empty text without an account, for values that are bounded otherwise.
    pub(crate) fn unbounded() -> Self {
        JsonText { bytes: Vec::new(), bytes_max: u64::MAX, charge: None }
    }

    /// Appends bytes.
    ///
    /// # Errors
    /// Returns a failure with the status 413 if the text becomes too long, and 503 if there is no memory for it now.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        let len = (self.bytes.len() + bytes.len()) as u64;
        if len > self.bytes_max {
            return Err(Failure::too_large(len, self.bytes_max));
        }
        if let Some(charge) = self.charge.as_mut().filter(|charge| charge.bytes() < len) {
            charge.resize(len.next_multiple_of(CHARGE_BYTES), "answer").map_err(|_| busy())?;
        }
        self.bytes.extend_from_slice(bytes);
        Ok(())
    }

    /// Appends what can be shown.
    pub(crate) fn push_display(&mut self, value: impl std::fmt::Display) -> Result<(), Failure> {
        self.push(value.to_string().as_bytes())
    }

    /// Appends a string with its quotes.
    pub(crate) fn push_string(&mut self, text: &str) -> Result<(), Failure> {
        self.push_display(Value::from(text))
    }

    /// Appends a number; `null` if it is not finite.
    pub(crate) fn push_f64(&mut self, number: f64) -> Result<(), Failure> {
        if number.is_finite() { self.push(format!("{number:?}").as_bytes()) } else { self.push(b"null") }
    }

    /// Appends a number as the shortest text that is this single-precision number.
    pub(crate) fn push_f32(&mut self, number: f32) -> Result<(), Failure> {
        if number.is_finite() { self.push(format!("{number:?}").as_bytes()) } else { self.push(b"null") }
    }

    /// Appends a value.
    pub(crate) fn push_value(&mut self, value: &Value) -> Result<(), Failure> {
        self.push_display(value)
    }

    /// Returns the bytes.
    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    /// Returns the answer.
    pub(crate) fn into_answer(self) -> Answer {
        self.into_answer_as("application/json")
    }

    /// Returns the answer, as another kind of text.
    pub(crate) fn into_answer_as(self, content_type: &'static str) -> Answer {
        let answer = Answer::new(content_type, self.bytes);
        match self.charge {
            Some(charge) => answer.charged(charge),
            None => answer,
        }
    }
}

/// An object that is written member by member.
#[derive(Debug)]
pub(crate) struct JsonFields<'o> {
    out: &'o mut JsonText,
    is_first: bool,
}

impl<'o> JsonFields<'o> {
    /// Begins an object.
    pub(crate) fn begin(out: &'o mut JsonText) -> Result<Self, Failure> {
        out.push(b"{")?;
        Ok(JsonFields { out, is_first: true })
    }

    /// Writes the name of a member, whose value the caller writes next.
    pub(crate) fn name(&mut self, name: &str) -> Result<&mut JsonText, Failure> {
        self.out.push(if self.is_first { b"" } else { b"," })?;
        self.is_first = false;
        self.out.push_string(name)?;
        self.out.push(b":")?;
        Ok(self.out)
    }

    /// Writes a member.
    pub(crate) fn put(&mut self, name: &str, value: &Value) -> Result<(), Failure> {
        self.name(name)?.push_value(value)
    }

    /// Ends the object.
    pub(crate) fn end(self) -> Result<(), Failure> {
        self.out.push(b"}")
    }
}
