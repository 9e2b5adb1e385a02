//! Changes: the primary first, then every healthy target.

use algorithms::copy::{self, CopyContext};
use model::properties::Layout;
use model::{Error, Result, Selection, Token};
use vol::{Container, DatasetInfo, Durability, OpObjectCopy, Operation};

use crate::mirror::pair::Pair;
use crate::mirror::targets::{Mirror, Progress};

/// Objects found in the primary that wait to be looked up in the targets.
const FOUND_MAX: usize = 65_536;

impl Mirror {
    /// Makes a change in the primary, then in every healthy target.
    pub(crate) fn change<R>(
        &self,
        operation: Operation,
        primary: impl FnOnce(&dyn Container) -> Result<R>,
        target: impl Fn(&Pair<'_>, &R) -> Result<()>,
    ) -> Result<R> {
        let mut progress = self.begin_change()?;
        let answer = primary(&*self.primary)?;
        progress.is_changed = true;
        self.each_target(operation, |pair| target(pair, &answer)).map(|()| answer)
    }

    /// Calls every healthy target; an error where one fails and that stops the mirror.
    pub(crate) fn each_target(
        &self,
        operation: Operation,
        call: impl Fn(&Pair<'_>) -> Result<()>,
    ) -> Result<()> {
        let mut stopped: Option<Error> = None;
        // Those after one that failed get the change nevertheless: they are as good as the primary.
        for (target, pair) in self.healthy() {
            if let Err(error) = call(&pair) {
                stopped = stopped.or(self.failed(target, operation, error));
            }
        }
        stopped.map_or(Ok(()), Err)
    }

    /// Returns a change that creates an object.
    pub(crate) fn make(
        &self,
        operation: Operation,
        primary: impl FnOnce(&dyn Container) -> Result<Token>,
        target: impl Fn(&Pair<'_>) -> Result<Token>,
    ) -> Result<Token> {
        self.change(operation, primary, |pair, made| {
            pair.tokens.set(*made, target(pair)?);
            Ok(())
        })
    }

    /// Looks up in the targets what was found in the primary, while the paths to it are good.
    pub(crate) fn look_up_found(&self) {
        for (_, pair) in self.healthy() {
            for object in self.found.objects() {
                // What is not there is missed when it is changed.
                let _ = pair.token(object);
            }
        }
        self.found.forget();
    }

    /// Runs a change after which paths may lead to other objects.
    pub(crate) fn change_links(
        &self,
        operation: Operation,
        primary: impl FnOnce(&dyn Container) -> Result<()>,
        target: impl Fn(&Pair<'_>) -> Result<()>,
    ) -> Result<()> {
        self.look_up_found();
        let primary = |container: &dyn Container| {
            let answer = primary(container);
            self.found.forget();
            answer
        };
        self.change(operation, primary, |pair, ()| target(pair))
    }

    /// Remembers where an object was found, if nothing moved since `epoch`.
    pub(crate) fn note_found(&self, epoch: u64, object: Token, group: Token, path: &str) {
        if self.found.len() >= FOUND_MAX {
            self.look_up_found();
        }
        self.found.note(epoch, object, group, path);
    }

    pub(crate) fn copy_object(&self, op: &OpObjectCopy) -> Result<Token> {
        let context = CopyContext::new(&self.access.limits);
        let copy = |pair: &Pair<'_>, made: &Token| {
            let (object, place) = (pair.token(op.object)?, pair.place(&op.place)?);
            let same = copy::object(&*pair.target, &OpObjectCopy { object, place, ..op.clone() }, context)?;
            pair.learn((*made, same))
        };
        self.change(Operation::object_copy, |primary| primary.object_copy(op), copy)
    }

    /// Stores a chunk; where a target cannot take it as it is, its elements are copied.
    pub(crate) fn write_chunk(&self, dataset: Token, offset: &[u64], mask: u32, data: &[u8]) -> Result<()> {
        let write = |pair: &Pair<'_>, (): &()| {
            let info = self.primary.dataset_info(dataset)?;
            let same = pair.token(dataset)?;
            if !info.datatype.has_descriptors() && pair.target.chunk_write(same, offset, mask, data).is_ok() {
                return Ok(());
            }
            pair.copy_elements(dataset, &chunk(&info, offset)?)
        };
        self.change(Operation::chunk_write, |primary| primary.chunk_write(dataset, offset, mask, data), write)
    }

    pub(crate) fn commit_all(&self, durability: Durability) -> Result<()> {
        let mut progress = self.progress();
        if progress.is_changed && !progress.is_marked {
            self.mark_open(&mut progress)?;
        }
        self.primary.commit(durability)?;
        // From now on there is a commit that targets could lack.
        progress.is_new = false;
        self.each_target(Operation::commit, |pair| pair.target.commit(durability))
    }

    /// Closes the targets between two commits of the primary: the first says that they may lack something, the second
    /// that they do not, or which ones do.
    pub(crate) fn close_all(&self) -> Result<()> {
        let mut progress = self.progress();
        let marked = self.mark_before_closing(&mut progress);
        let targets = self.close_targets();
        let marked_targets = match marked {
            Ok(()) if progress.is_changed || progress.is_marked => self.mark_closed(&mut progress),
            other => other,
        };
        self.primary.close().and(marked_targets).and(targets)
    }

    fn mark_before_closing(&self, progress: &mut Progress) -> Result<()> {
        if !progress.is_changed {
            return Ok(());
        }
        if !progress.is_marked {
            self.mark_open(progress)?;
        }
        self.primary.commit(self.access.durability)
    }

    fn close_targets(&self) -> Result<()> {
        let closed = self.each_target(Operation::close, |pair| pair.target.close());
        for stale in self.targets.iter().filter(|target| target.is_stale()) {
            // It missed something, however it ends.
            let _ = stale.take().0.map(|container| container.close());
        }
        closed
    }
}

/// Returns the elements of the chunk that begins at `offset`.
fn chunk(info: &DatasetInfo, offset: &[u64]) -> Result<Selection> {
    let Layout::Chunked { shape, .. } = &info.create.layout else {
        return Err(Error::invalid("find chunk").with("problem", "the dataset is not chunked"));
    };
    let dims = info.space.dims().iter();
    let len = |((at, len), dim): ((&u64, &u64), &u64)| (*len).min(dim.saturating_sub(*at));
    let shape: Vec<u64> = offset.iter().zip(shape).zip(dims).map(len).collect();
    Selection::block(offset, &shape)
}
