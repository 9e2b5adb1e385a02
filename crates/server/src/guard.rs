//! What stands between a client and a container: how much it holds, and what the server cannot do for it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use model::{Error, Kind, Result, Token};
use vol::{Capability, Container, ContainerInfo, Layer, OpPlacement, Pin, Placement};

use crate::lock;

/// A container as one session has it.
pub(crate) struct Guard {
    inner: Arc<dyn Container>,
    /// Objects that the client holds, and how often.
    held: Mutex<HashMap<Token, u64>>,
    /// Pins of the client, whose numbers other clients have too, and what they are called here.
    pins: Mutex<HashMap<u64, u64>>,
    objects_max: usize,
}

impl Guard {
    pub(crate) fn new(inner: Arc<dyn Container>, objects_max: usize) -> Self {
        Guard { inner, held: Mutex::default(), pins: Mutex::default(), objects_max }
    }

    /// Lets go of what the client held.
    pub(crate) fn let_go(&self) {
        for number in std::mem::take(&mut *lock(&self.pins)).into_values() {
            let _ = self.inner.blob_unpin(number);
        }
        for (object, count) in std::mem::take(&mut *lock(&self.held)) {
            for _ in 0..count {
                // An object that is gone needs nobody to let go of it.
                let _ = self.inner.release(object);
            }
        }
    }
}

impl Layer for Guard {
    fn inner(&self) -> &dyn Container {
        &*self.inner
    }

    /// Files beside the container are not followed here.
    fn info(&self) -> Result<Arc<ContainerInfo>> {
        let info = self.inner.info()?;
        let capability = Capability { external_data: false, virtual_datasets: false, ..info.capability };
        Ok(Arc::new(ContainerInfo { capability, ..(*info).clone() }))
    }

    /// Where elements lie is told with a lock, or not at all.
    fn elements_find(&self, _op: &OpPlacement) -> Result<Placement> {
        Err(Error::unsupported("find elements without a lock"))
    }

    fn elements_place(&self, _op: &OpPlacement) -> Result<Placement> {
        Err(Error::unsupported("place elements without a lock"))
    }

    fn elements_changed(&self, _op: &OpPlacement) -> Result<()> {
        Err(Error::unsupported("change elements without a lock"))
    }

    /// A container without pins needs none: whoever queued this does not wait to be told.
    fn blob_pin(&self, pin: u64) -> Result<()> {
        let mut pins = lock(&self.pins);
        if pins.len() >= self.objects_max {
            return Err(Error::limit("pin blobs").with("pins", pins.len()));
        }
        let number = Pin::number();
        match self.inner.blob_pin(number) {
            Err(error) if error.kind() != Kind::Unsupported => return Err(error),
            _ => pins.insert(pin, number),
        };
        Ok(())
    }

    fn blob_unpin(&self, pin: u64) -> Result<()> {
        let number = lock(&self.pins).remove(&pin);
        match number.map_or(Ok(()), |number| self.inner.blob_unpin(number)) {
            Err(error) if error.kind() != Kind::Unsupported => Err(error),
            _ => Ok(()),
        }
    }

    fn retain(&self, object: Token) -> Result<()> {
        let mut held = lock(&self.held);
        if held.len() >= self.objects_max && !held.contains_key(&object) {
            return Err(Error::limit("open object").with("objects", held.len()));
        }
        self.inner.retain(object)?;
        *held.entry(object).or_default() += 1;
        Ok(())
    }

    fn release(&self, object: Token) -> Result<()> {
        self.inner.release(object)?;
        let mut held = lock(&self.held);
        if let Some(count) = held.get_mut(&object) {
            *count -= 1;
            if *count == 0 {
                held.remove(&object);
            }
        }
        Ok(())
    }
}
