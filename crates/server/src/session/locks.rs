//! Locks of clients that use elements in the file itself.

use model::{Error, Result};
use protocol::{Granted, Lock};

use super::Session;
use crate::direct::Direct;

impl Session {
    fn direct(&self) -> Result<&Direct> {
        let problem = "the server was not started for direct access";
        self.direct.as_deref().ok_or_else(|| Error::unsupported("use file directly").with("problem", problem))
    }

    /// Locks datasets for a client that uses their elements in the file itself. `bytes` is what the lock remembers.
    pub(crate) fn lock(&self, asked: &Lock, bytes: u64) -> Result<Granted> {
        self.charge_lock(asked.lock, bytes)?;
        // On an error there is no lock.
        self.take_lock(asked).inspect_err(|_| drop(self.lock_charges.lock().remove(&asked.lock)))
    }

    fn take_lock(&self, asked: &Lock) -> Result<Granted> {
        let direct = self.direct()?;
        if asked.write && !self.writable {
            return Err(Error::denied("lock dataset").with("problem", "the container is open to read"));
        }
        let mut ops = asked.ops.clone();
        if let Some(translated) = &self.translated {
            ops.iter_mut().try_for_each(|op| translated.real(op.dataset).map(|real| op.dataset = real))?;
        }
        let mut placements = direct.lock(asked.lock, &ops, asked.write)?;
        // The client knows the file by another name.
        placements.iter_mut().for_each(|placement| placement.path.clear());
        let lease_ms = u32::try_from(direct.lease().as_millis()).unwrap_or(u32::MAX);
        Ok(Granted { lease_ms, placements })
    }

    pub(crate) fn renew(&self, lock: u64) -> Result<()> {
        self.direct()?.renew(lock)
    }

    pub(crate) fn unlock(&self, number: u64) {
        if let Some(direct) = &self.direct {
            direct.unlock(number);
        }
        self.lock_charges.lock().remove(&number);
    }

    /// A lock that is taken anew remembers more.
    fn charge_lock(&self, number: u64, bytes: u64) -> Result<()> {
        let mut charges = self.lock_charges.lock();
        match charges.get_mut(&number) {
            Some(charge) => charge.resize(charge.bytes().saturating_add(bytes), "locks"),
            None => {
                charges.insert(number, self.budget.charge(bytes, "locks")?);
                Ok(())
            }
        }
    }

    /// Gives back locks that ran out.
    pub(crate) fn expire_locks(&self) {
        if let Some(direct) = &self.direct {
            direct.expire();
        }
    }
}
