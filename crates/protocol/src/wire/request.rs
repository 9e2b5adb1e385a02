//! Requests: arguments as bytes, with byte strings and buffers for elements next to them.

use std::cell::OnceCell;

use model::{Budget, Result, Selection, Token};
use vol::{Container, Operation};

use super::{Reader, Wire, scratch};

/// One operation on its way.
#[derive(Debug)]
pub struct Request<'a> {
    /// Which.
    pub code: Operation,
    /// Its arguments.
    pub arguments: &'a [u8],
    /// Byte strings, which the arguments count but do not hold.
    pub bulk: Vec<&'a [u8]>,
    /// Space that elements are read into.
    pub into: Vec<&'a mut [u8]>,
}

/// Arguments that are being put together.
#[derive(Debug)]
pub(crate) struct Outgoing<'a> {
    /// Values.
    pub(crate) bytes: Vec<u8>,
    /// Byte strings.
    pub(crate) bulk: Vec<&'a [u8]>,
    /// Space for elements.
    pub(crate) into: Vec<&'a mut [u8]>,
}

impl Outgoing<'_> {
    /// Returns a request without arguments.
    pub(crate) fn new() -> Self {
        Outgoing { bytes: scratch::take(), bulk: Vec::new(), into: Vec::new() }
    }
}

impl Default for Outgoing<'_> {
    fn default() -> Self {
        Outgoing::new()
    }
}

/// Arguments that are being read.
pub(crate) struct Incoming<'a> {
    pub(super) reader: Reader<'a>,
    bulk: std::vec::IntoIter<&'a [u8]>,
    into: std::vec::IntoIter<&'a mut [u8]>,
    /// Where the selections of transfers stay while the operation runs.
    selections: &'a OnceCell<Vec<Selection>>,
    container: &'a dyn Container,
}

impl<'a> Incoming<'a> {
    /// Returns the arguments of a request; `selections` is an empty place that lives as long as they do.
    pub(crate) fn new(
        request: Request<'a>,
        selections: &'a OnceCell<Vec<Selection>>,
        container: &'a dyn Container,
    ) -> Self {
        let reader = Reader::new(request.arguments);
        let (bulk, into) = (request.bulk.into_iter(), request.into.into_iter());
        Incoming { reader, bulk, into, selections, container }
    }

    /// Returns the account that what the operation fetches is charged to.
    pub(super) fn budget(&self) -> Budget {
        self.container.budget()
    }

    /// Returns the next byte string.
    pub(super) fn bulk(&mut self) -> Result<&'a [u8]> {
        self.bulk.next().ok_or_else(|| self.reader.corrupt("a byte string is missing"))
    }

    /// Returns the next `count` byte strings.
    pub(super) fn bulks(&mut self, count: usize) -> Result<Vec<&'a [u8]>> {
        match count <= self.bulk.len() {
            true => Ok(self.bulk.by_ref().take(count).collect()),
            false => Err(self.reader.corrupt("byte strings are missing").with("count", count)),
        }
    }

    /// Returns the next space for elements.
    pub(super) fn into(&mut self) -> Result<&'a mut [u8]> {
        self.into.next().ok_or_else(|| self.reader.corrupt("a buffer is missing"))
    }

    /// Returns the datasets and selections of transfers, which come one after another.
    pub(super) fn transfers(&mut self) -> Result<impl Iterator<Item = (Token, &'a Selection)> + use<'a>> {
        let count = self.reader.count(17)?;
        let (mut datasets, mut selections) = (Vec::new(), Vec::new());
        for _ in 0..count {
            datasets.push(Token::get(&mut self.reader)?);
            selections.push(Selection::get(&mut self.reader)?);
        }
        let kept: &'a Vec<Selection> = self.selections.get_or_init(|| selections);
        Ok(datasets.into_iter().zip(kept))
    }

    /// Returns an error where anything is left.
    pub(crate) fn finish(&self) -> Result<()> {
        self.reader.finish()?;
        match self.bulk.len() + self.into.len() {
            0 => Ok(()),
            left => Err(self.reader.corrupt("byte strings are left").with("count", left)),
        }
    }
}
