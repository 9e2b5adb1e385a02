//! Resynchronising: a stale target is created anew from the primary.

use std::sync::Arc;

use algorithms::copy::CopyContext;
use model::{Error, Result};
use vol::{Container, Layer};

use crate::mirror::targets::{Mirror, Progress, Target};

/// The primary as its user sees it: without the mark.
struct Primary<'m>(&'m Mirror);

impl Layer for Primary<'_> {
    fn inner(&self) -> &dyn Container {
        &*self.0.primary
    }

    fn object_info(&self, object: model::Token) -> Result<vol::ObjectInfo> {
        self.0.info_of(object)
    }

    fn attribute_list(
        &self,
        object: model::Token,
        op: &vol::OpList,
    ) -> Result<vol::Page<vol::AttributeInfo>> {
        self.0.list_attributes(object, op)
    }
}

impl Mirror {
    /// Makes all stale targets anew; no one changes anything meanwhile.
    pub(crate) fn resync(&self) -> Result<()> {
        let mut progress = self.progress();
        let mut failed: Option<Error> = None;
        for target in self.targets.iter().filter(|target| target.is_stale()) {
            match self.remake(target) {
                Ok(container) => self.begin_again(target, container)?,
                Err(error) => {
                    let error = error.during(format!("resynchronise {}", target.location));
                    target.set_stale(&error);
                    failed = failed.or(Some(error));
                }
            }
        }
        self.remember(&mut progress)?;
        failed.map_or(Ok(()), Err)
    }

    /// The mark says what is stale now, for good.
    fn remember(&self, progress: &mut Progress) -> Result<()> {
        match progress.is_marked {
            true => self.mark_open(progress)?,
            false => self.mark_closed(progress)?,
        }
        self.primary.commit(self.access.durability)
    }

    /// Returns a new container in place of a stale one.
    fn remake(&self, target: &Target) -> Result<Arc<dyn Container>> {
        if let (Some(old), _) = target.take() {
            // What it holds is replaced: how it ends does not matter.
            let _ = old.close();
        }
        let create = &self.primary.info()?.create;
        let container = self.registry.create(&target.location, create, &self.access, true)?;
        algorithms::copy::contents(&Primary(self), &*container, CopyContext::new(&self.access.limits))?;
        container.commit(self.access.durability)?;
        Ok(container)
    }

    fn begin_again(&self, target: &Target, container: Arc<dyn Container>) -> Result<()> {
        let (_, old) = target.take();
        target.set_healthy(container);
        let Some(pair) = target.pair(self) else { return Ok(()) };
        pair.learn((self.root, pair.target.info()?.root))?;
        for (object, times) in old.retained().iter() {
            // Objects without a link are not in the copy.
            let Some(same) = pair.tokens.get(*object) else { continue };
            (0..*times).try_for_each(|_| pair.target.retain(same))?;
            pair.tokens.retained().insert(*object, *times);
        }
        Ok(())
    }
}
