//! Transfers that all processes make together: one operation each, however many elements there are, so that all make
//! as many.

use std::borrow::Cow;

use model::convert::Plan;
use model::heap::Heap;
use model::{Datatype, Error, Result};
use vol::{Collective, Direction, OpRead, OpWrite, Pin, Transfer};

use super::{DescriptorPlan, Elements};

impl<'a> Elements<'a> {
    /// Returns the container's collective transfers, if this is to be one.
    pub(super) fn collective(&self) -> Option<&'a dyn Collective> {
        match self.transfer {
            Transfer::Collective => self.container.collective(),
            Transfer::Independent => None,
        }
    }

    /// Returns an error if one process cannot write the elements without the others.
    pub(super) fn check_alone(&self) -> Result<()> {
        if !self.file_type.has_descriptors() || self.container.collective().is_none() {
            return Ok(());
        }
        let problem = "values of variable length and references are written collectively";
        Err(Error::unsupported("write elements independently").with("problem", problem))
    }

    pub(super) fn read_together(
        &self,
        collective: &dyn Collective,
        memory: &Datatype,
        into: &mut [u8],
        heap: &mut Heap,
    ) -> Result<()> {
        if memory == self.file_type && !memory.has_descriptors() {
            let read = OpRead { dataset: self.dataset, selection: self.selection, into };
            return collective.read_all(&mut [read]);
        }
        let in_memory = self.file_type.memory_type();
        let refuse = |error| collective.refuse(Direction::Read, self.dataset, error);
        let plan = Plan::compile(&in_memory, memory, self.conversions).map_err(refuse)?;
        let count = self.count().map_err(refuse)? as usize;
        let _pin = Pin::of(self.container, self.file_type).map_err(refuse)?;
        let bytes = count * self.file_type.size() as usize;
        let _charge = self.container.budget().charge(bytes as u64, "elements").map_err(refuse)?;
        let mut raw = vec![0; bytes];
        let read = OpRead { dataset: self.dataset, selection: self.selection, into: &mut raw };
        collective.read_all(&mut [read])?;
        if self.file_type.has_descriptors() {
            raw = DescriptorPlan::new(self.file_type, &in_memory).detach(self.container, &raw, heap)?;
        }
        plan.run(&raw, into, count, heap)
    }

    pub(super) fn write_together(
        &self,
        collective: &dyn Collective,
        memory: &Datatype,
        from: &[u8],
        heap: &mut Heap,
    ) -> Result<()> {
        let in_memory = self.file_type.memory_type();
        let values = match *memory == in_memory {
            true => Cow::Borrowed(from),
            false => match self.converted(memory, &in_memory, from, heap) {
                Ok(values) => Cow::Owned(values),
                Err(error) => return Err(collective.refuse(Direction::Write, self.dataset, error)),
            },
        };
        match self.file_type.has_descriptors() {
            true => collective.write_values_all(self.dataset, self.selection, &values, heap),
            false => collective.write_all(&[OpWrite {
                dataset: self.dataset,
                selection: self.selection,
                from: &values,
            }]),
        }
    }

    /// Returns all elements in the memory datatype of the dataset's type.
    fn converted(
        &self,
        memory: &Datatype,
        in_memory: &Datatype,
        from: &[u8],
        heap: &mut Heap,
    ) -> Result<Vec<u8>> {
        let plan = Plan::compile(memory, in_memory, self.conversions)?;
        let count = self.count()? as usize;
        let bytes = count * in_memory.size() as usize;
        let _charge = self.container.budget().charge(bytes as u64, "elements")?;
        let mut values = vec![0; bytes];
        if plan.needs_background() && count > 0 {
            let mut old = Vec::new();
            self.fetch(self.selection, count, &mut old)?;
            values = match self.file_type.has_descriptors() {
                true => DescriptorPlan::new(self.file_type, in_memory).detach(self.container, &old, heap)?,
                false => old,
            };
        }
        plan.run(from, &mut values, count, heap)?;
        Ok(values)
    }
}
