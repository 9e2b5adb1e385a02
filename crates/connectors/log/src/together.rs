//! Transfers of datasets that are not in the log, by all processes together: the leader makes them for everyone.

use model::heap::Heap;
use model::{Error, Result, Selection, Token};
use protocol::wire;
use vol::{Collective, Container, DatasetInfo, Direction, OpRead, OpWrite};

use crate::container::LogContainer;
use crate::values::{ElementsMessage, InMemory};

/// What a process reads or writes: the selection and the elements, or why it cannot take part.
type Wish = (Option<Error>, (Selection, ElementsMessage));
/// What it gets.
type Granted = (Option<Error>, ElementsMessage);

fn confused() -> Error {
    Error::invalid("transfer elements together").with("problem", "processes call different operations")
}

fn wish(own: Result<(Selection, ElementsMessage)>) -> Wish {
    match own {
        Ok(own) => (None, own),
        Err(error) => (Some(error), (Selection::None, ElementsMessage::default())),
    }
}

fn failed(error: Option<Error>) -> Result<()> {
    error.map_or(Ok(()), Err)
}

impl LogContainer {
    fn is_logged(&self, dataset: Token) -> bool {
        self.shared().read().logged(dataset).is_some()
    }

    /// Brings the wishes of all processes to the leader, who answers each. An error of one is everyone's.
    fn ask_for_all(
        &self,
        own: Result<(Selection, ElementsMessage)>,
        answer: impl Fn(&dyn Container, Selection, ElementsMessage) -> Result<ElementsMessage>,
    ) -> Result<ElementsMessage> {
        let comm = &self.shared().comm;
        let wishes = comm.gather(0, &wire::to_bytes::<Wish>(&wish(own))?)?;
        let mut answers = vec![Vec::new(); comm.size()];
        if let Some(leader) = self.leading() {
            let wishes = wishes.iter().map(|bytes| wire::from_bytes::<Wish>(bytes));
            let wishes = wishes.collect::<Result<Vec<_>>>().and_then(|wishes| {
                let read = |(error, own): Wish| failed(error).map(|()| own);
                wishes.into_iter().map(read).collect::<Result<Vec<_>>>()
            });
            let granted = wishes.and_then(|wishes| {
                let each = |(selection, elements)| answer(leader, selection, elements);
                wishes.into_iter().map(each).collect::<Result<Vec<_>>>()
            });
            for (rank, message) in answers.iter_mut().enumerate() {
                let granted: Granted = match &granted {
                    Ok(all) => (None, all.get(rank).cloned().unwrap_or_default()),
                    Err(error) => (Some(error.clone()), ElementsMessage::default()),
                };
                *message = wire::to_bytes(&granted)?;
            }
        }
        let (error, elements) =
            wire::from_bytes::<Granted>(comm.alltoall(answers)?.first().ok_or_else(confused)?)?;
        failed(error).map(|()| elements)
    }

    /// Reads elements of a dataset that is not in the log, with their values.
    fn read_plain(&self, read: &mut OpRead<'_>) -> Result<()> {
        let dataset = read.dataset;
        let info = self.inner().dataset_info(dataset)?;
        let own = algorithms::checks::transfer(&info, read.selection, read.into.len());
        let own = own.map(|()| (read.selection.clone(), ElementsMessage::default()));
        let datatype = &info.datatype;
        let granted = self.ask_for_all(own, |leader, selection, _| {
            let count = selection.element_count(info.space.dims())?;
            let bytes = count.checked_mul(datatype.size().into()).ok_or_else(confused)?;
            let limit = self.shared().limits.result_bytes_max;
            let mut raw = vec![0; model::Within::within(bytes, limit, "elements")?];
            leader.dataset_read(&mut [OpRead { dataset, selection: &selection, into: &mut raw }])?;
            Ok(InMemory::fetch(datatype, &raw, leader)?.to_message())
        })?;
        let elements = self.values().put(datatype, InMemory::from_message(granted))?;
        match elements.len() == read.into.len() {
            true => read.into.copy_from_slice(&elements),
            false => return Err(confused()),
        }
        Ok(())
    }

    /// Writes elements of a dataset that is not in the log, with their values, in the order of ranks.
    fn write_plain(&self, dataset: Token, own: Result<(Selection, ElementsMessage)>) -> Result<()> {
        let info = self.inner().dataset_info(dataset)?;
        let own = self.check_writable().and(own).and_then(|own| check_elements(&info, own));
        self.ask_for_all(own, |leader, selection, elements| {
            let from = InMemory::from_message(elements).store(&info.datatype, leader)?;
            leader.dataset_write(&[OpWrite { dataset, selection: &selection, from: &from }])?;
            Ok(ElementsMessage::default())
        })
        .map(drop)
    }
}

/// Returns what a process writes, if it fits the dataset: nothing is written before all know that theirs does.
fn check_elements(
    info: &DatasetInfo,
    (selection, elements): (Selection, ElementsMessage),
) -> Result<(Selection, ElementsMessage)> {
    let count = selection.element_count(info.space.dims())?;
    selection.validate(info.space.dims())?;
    match count.checked_mul(info.datatype.memory_type().size().into()) == Some(elements.0.len() as u64) {
        true => Ok((selection, elements)),
        false => {
            Err(Error::invalid("transfer elements").with("elements", count).with("bytes", elements.0.len()))
        }
    }
}

impl Collective for LogContainer {
    fn read_all(&self, reads: &mut [OpRead<'_>]) -> Result<()> {
        self.values().clear();
        // Those that need all processes come first: an error of one's own must not keep the others waiting.
        for read in reads.iter_mut().filter(|read| !self.is_logged(read.dataset)) {
            self.read_plain(read)?;
        }
        for read in reads.iter_mut().filter(|read| self.is_logged(read.dataset)) {
            let OpRead { dataset, selection, into } = read;
            Container::dataset_read(self, &mut [OpRead { dataset: *dataset, selection, into }])?;
        }
        Ok(())
    }

    fn write_all(&self, writes: &[OpWrite<'_>]) -> Result<()> {
        for write in writes.iter().filter(|write| !self.is_logged(write.dataset)) {
            let own = (write.selection.clone(), (write.from.to_vec(), Default::default()));
            self.write_plain(write.dataset, Ok(own))?;
        }
        let logged = writes.iter().filter(|write| self.is_logged(write.dataset));
        let logged = logged.map(|&OpWrite { dataset, selection, from }| OpWrite { dataset, selection, from });
        let logged: Vec<_> = logged.collect();
        if logged.is_empty() { Ok(()) } else { Container::dataset_write(self, &logged) }
    }

    fn write_values_all(
        &self,
        dataset: Token,
        selection: &Selection,
        values: &[u8],
        heap: &Heap,
    ) -> Result<()> {
        let (bytes, references) = heap.parts();
        let own = (selection.clone(), (values.to_vec(), (bytes.to_vec(), references.to_vec())));
        self.write_plain(dataset, Ok(own))
    }

    fn refuse(&self, direction: Direction, dataset: Token, error: Error) -> Error {
        if self.is_logged(dataset) {
            return error;
        }
        let taken = match direction {
            Direction::Write => self.write_plain(dataset, Err(error.clone())),
            Direction::Read => self.ask_for_all(Err(error.clone()), |_, _, _| Err(confused())).map(drop),
        };
        taken.err().unwrap_or(error)
    }
}

impl LogContainer {
    /// Writes an attribute whose values this process holds; the leader's are those that count.
    pub(crate) fn write_attribute(&self, object: Token, name: &str, data: &[u8]) -> Result<()> {
        if self.shared().is_alone() {
            return self.inner().attribute_write(object, name, data);
        }
        let done = self.ask_leader(|leader| {
            let missing = || Error::not_found("write attribute").with("name", name);
            let datatype = leader.attribute_info(object, name)?.ok_or_else(missing)?.datatype;
            let stored = match datatype.has_descriptors() {
                true => InMemory::fetch(&datatype, data, self.values())?.store(&datatype, leader)?,
                false => data.to_vec(),
            };
            leader.attribute_write(object, name, &stored)?;
            Ok((0, 0))
        });
        self.values().clear();
        done.map(drop)
    }

    /// Reads attributes with their values.
    pub(crate) fn read_attributes(&self, object: Token, names: &[&str]) -> Result<Vec<Vec<u8>>> {
        if self.shared().is_alone() {
            return self.inner().attribute_read(object, names);
        }
        self.values().clear();
        let raw = self.inner().attribute_read(object, names)?;
        let mut found = Vec::with_capacity(raw.len());
        for (name, raw) in names.iter().zip(raw) {
            let info = self.inner().attribute_info(object, name)?;
            let datatype = info.map(|info| info.datatype).filter(model::Datatype::has_descriptors);
            found.push(match datatype {
                Some(datatype) => self.with_values(&datatype, &raw)?,
                None => raw,
            });
        }
        Ok(found)
    }

    /// Returns elements that the leader read, with their values held here.
    fn with_values(&self, datatype: &model::Datatype, raw: &[u8]) -> Result<Vec<u8>> {
        let granted: Option<Granted> =
            self.leading().map(|leader| match InMemory::fetch(datatype, raw, leader) {
                Ok(elements) => (None, elements.to_message()),
                Err(error) => (Some(error), ElementsMessage::default()),
            });
        let mut message = granted.map_or(Ok(Vec::new()), |granted| wire::to_bytes(&granted))?;
        self.shared().comm.bcast(0, &mut message)?;
        let (error, elements) = wire::from_bytes::<Granted>(&message)?;
        failed(error)?;
        self.values().put(datatype, InMemory::from_message(elements))
    }
}
