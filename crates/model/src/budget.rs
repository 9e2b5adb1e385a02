//! Memory that input can make grow is charged to an account, and refused beyond its limit.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::{Error, Result};

/// An account of bytes. Clones share it.
///
/// Code that allocates a size chosen by a file, a folder or a client takes a [`Charge`] first, and holds it as long as the memory:
/// decoded chunks, values of variable length, listings, frames, answers. An account may have a parent (a session of a server,
/// the server of a session), which is charged as well.
///
/// ```
/// use hyperslab_model::Budget;
///
/// let server = Budget::new("server", 1 << 30);
/// let session = server.child("session", 64 << 20);
/// let values = session.charge(1 << 20, "values")?;
/// assert_eq!(server.used(), 1 << 20);
/// assert!(session.charge(64 << 20, "values").is_err());
/// drop(values);
/// assert_eq!(server.used(), 0);
/// # Ok::<(), hyperslab_model::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Budget(Arc<Account>);

#[derive(Debug)]
struct Account {
    name: &'static str,
    limit: u64,
    used: AtomicU64,
    parent: Option<Budget>,
}

impl Budget {
    /// Returns an account of its own. `name` says in errors whose it is.
    pub fn new(name: &'static str, limit: u64) -> Self {
        Budget(Arc::new(Account { name, limit, used: AtomicU64::new(0), parent: None }))
    }

    /// Returns an account with a limit of its own, whose charges are charged to this one too.
    #[must_use]
    pub fn child(&self, name: &'static str, limit: u64) -> Self {
        Budget(Arc::new(Account { name, limit, used: AtomicU64::new(0), parent: Some(self.clone()) }))
    }

    /// Returns the number of bytes that may be charged at the same time.
    pub fn limit(&self) -> u64 {
        self.0.limit
    }

    /// Returns the number of bytes that are charged now.
    pub fn used(&self) -> u64 {
        self.0.used.load(Ordering::Relaxed)
    }

    /// Returns the number of bytes that are left, here and in every parent.
    pub fn left(&self) -> u64 {
        let own = self.0.limit.saturating_sub(self.used());
        self.0.parent.as_ref().map_or(own, |parent| parent.left().min(own))
    }

    /// Charges `bytes` until the returned value is dropped.
    ///
    /// # Errors
    ///
    /// An error of kind `Limit` that says what wanted how much, if this account or a parent would pass its limit.
    pub fn charge(&self, bytes: u64, what: &str) -> Result<Charge> {
        self.take(bytes, what)?;
        Ok(Charge { budget: self.clone(), bytes })
    }

    /// Returns a charge of no bytes, to be [resized](Charge::resize).
    pub fn empty_charge(&self) -> Charge {
        Charge { budget: self.clone(), bytes: 0 }
    }

    /// Returns `len` zeros, which are charged as long as they are held.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Budget::charge`], and an error if the system has no memory left.
    pub fn zeroed(&self, len: usize, what: &str) -> Result<Charged<Vec<u8>>> {
        let charge = self.charge(len as u64, what)?;
        Ok(Charged { value: zeroed(len, what)?, _charge: charge })
    }

    fn take(&self, bytes: u64, what: &str) -> Result<()> {
        let account = &*self.0;
        let taken = account.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |used| {
            used.checked_add(bytes).filter(|&sum| sum <= account.limit)
        });
        if let Err(used) = taken {
            return Err(self.refusal(bytes, used, what));
        }
        let Some(parent) = &account.parent else { return Ok(()) };
        parent.take(bytes, what).inspect_err(|_| {
            account.used.fetch_sub(bytes, Ordering::Relaxed);
        })
    }

    #[cold]
    fn refusal(&self, bytes: u64, used: u64, what: &str) -> Error {
        Error::limit(format!("take memory for {what}"))
            .with("bytes", bytes)
            .with("in use", used)
            .with("limit", self.0.limit)
            .with("of", self.0.name)
    }

    fn add(&self, bytes: u64) {
        self.0.used.fetch_add(bytes, Ordering::Relaxed);
        if let Some(parent) = &self.0.parent {
            parent.add(bytes);
        }
    }

    fn give(&self, bytes: u64) {
        self.0.used.fetch_sub(bytes, Ordering::Relaxed);
        if let Some(parent) = &self.0.parent {
            parent.give(bytes);
        }
    }
}

impl Default for Budget {
    /// Returns the account of a container with default [`Limits`](crate::Limits).
    fn default() -> Self {
        crate::Limits::default().budget()
    }
}

/// Bytes charged to a [`Budget`]; dropping it gives them back.
#[derive(Debug)]
pub struct Charge {
    budget: Budget,
    bytes: u64,
}

impl Charge {
    /// Returns the bytes that are charged.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Changes the charge to `bytes`, as when a vector grows.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Budget::charge`]; the charge is then unchanged.
    pub fn resize(&mut self, bytes: u64, what: &str) -> Result<()> {
        match bytes.checked_sub(self.bytes) {
            Some(0) => return Ok(()),
            Some(more) => self.budget.take(more, what)?,
            None => self.budget.give(self.bytes - bytes),
        }
        self.bytes = bytes;
        Ok(())
    }

    /// Returns the account that is charged.
    pub fn budget(&self) -> &Budget {
        &self.budget
    }
}

/// A copy is charged like its original, and beyond the limit where it has to be: copies are made by the program, not by content.
impl Clone for Charge {
    fn clone(&self) -> Self {
        self.budget.add(self.bytes);
        Charge { budget: self.budget.clone(), bytes: self.bytes }
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        self.budget.give(self.bytes);
    }
}

/// A value together with the charge for its memory.
#[derive(Debug)]
pub struct Charged<T> {
    value: T,
    _charge: Charge,
}

impl<T> Charged<T> {
    /// Returns the value; from now on its memory is the caller's affair.
    pub fn into_inner(self) -> T {
        self.value
    }
}

impl<T> std::ops::Deref for Charged<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T> std::ops::DerefMut for Charged<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.value
    }
}

/// Returns `len` zeros, or an error where the system has no memory for them.
pub fn zeroed(len: usize, what: &str) -> Result<Vec<u8>> {
    // The allocation is tried first: `vec![0; len]` aborts if it fails.
    let mut probe: Vec<u8> = Vec::new();
    probe.try_reserve_exact(len).map_err(|_| no_memory(len, what))?;
    drop(probe);
    // Zeroed pages come from the system when they are first used.
    Ok(vec![0; len])
}

/// Makes a vector at least `len` long, with zeros at its end, or returns an error where the system has no memory for them.
pub fn lengthen(bytes: &mut Vec<u8>, len: usize, what: &str) -> Result<()> {
    if let Some(more) = len.checked_sub(bytes.len()) {
        bytes.try_reserve(more).map_err(|_| no_memory(len, what))?;
        bytes.resize(len, 0);
    }
    Ok(())
}

/// Reserves space for `more` bytes at the end of a vector, at least doubling its capacity so that few charges follow. A vector
/// without a charge grows as well.
pub fn grow(bytes: &mut Vec<u8>, more: usize, charge: Option<&mut Charge>, what: &str) -> Result<()> {
    let need = bytes.len().checked_add(more).ok_or_else(|| no_memory(more, what))?;
    if need <= bytes.capacity() {
        return Ok(());
    }
    let mut capacity = need.max(bytes.capacity().saturating_mul(2));
    if let Some(charge) = charge {
        // If twice as much is refused, what is needed may still fit.
        if charge.resize(capacity as u64, what).is_err() {
            capacity = need;
            charge.resize(need as u64, what)?;
        }
    }
    bytes.try_reserve_exact(capacity - bytes.len()).map_err(|_| no_memory(capacity, what))
}

#[cold]
fn no_memory(len: usize, what: &str) -> Error {
    Error::limit(format!("take memory for {what}")).with("bytes", len).with("problem", "the system has none")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_charged_counts_until_it_is_dropped() {
        let budget = Budget::new("test", 100);
        let charge = budget.charge(60, "a").unwrap();
        let refused = budget.charge(41, "b").unwrap_err().to_string();
        assert!(refused.contains('b') && refused.contains("41") && refused.contains("60"), "{refused}");
        drop(charge);
        assert_eq!((budget.used(), budget.left()), (0, 100));
        assert!(budget.charge(100, "b").is_ok());
    }

    #[test]
    fn a_parent_that_refuses_leaves_the_child_as_it_was() {
        let parent = Budget::new("parent", 50);
        let child = parent.child("child", 100);
        let _first = child.charge(30, "a").unwrap();
        assert!(child.charge(30, "b").is_err());
        assert_eq!((parent.used(), child.used(), child.left()), (30, 30, 20));
    }

    #[test]
    fn a_charge_grows_and_shrinks() {
        let budget = Budget::new("test", 100);
        let mut charge = budget.charge(10, "a").unwrap();
        charge.resize(90, "a").unwrap();
        assert!(charge.resize(101, "a").is_err());
        assert_eq!((budget.used(), charge.bytes()), (90, 90));
        charge.resize(5, "a").unwrap();
        drop(charge);
        assert_eq!(budget.used(), 0);
    }

    #[test]
    fn threads_never_pass_the_limit() {
        let budget = Budget::new("test", 1000);
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..1000 {
                        if let Ok(charge) = budget.charge(300, "a") {
                            assert!(budget.used() <= 1000);
                            drop(charge);
                        }
                    }
                });
            }
        });
        assert_eq!(budget.used(), 0);
    }

    #[test]
    fn more_than_the_machine_has_is_an_error() {
        let refused = Budget::new("test", u64::MAX).zeroed(isize::MAX as usize, "a bomb").unwrap_err();
        assert!(refused.to_string().contains("bomb"));
    }
}
