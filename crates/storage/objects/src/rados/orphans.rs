//! Data objects that no key points to: what a client left that was killed before its flush.

use std::collections::BTreeSet;

use super::core::{Core, lock};
use super::ffi::Ask;
use super::heads::{LEVEL, object_of};
use super::pending::{Akey, numbers};
use super::{PAGE, failed};
use crate::Result;
use crate::layout::value::Value;

impl Core {
    /// Counts them, and removes them if asked to.
    pub(super) fn orphans(&self, remove: bool) -> Result<u64> {
        // Data first: what is written from now on is not looked at.
        let names = self.names.list().map_err(failed("list the objects of the cluster"))?;
        let data = names.iter().filter_map(|name| u64::from_str_radix(name.strip_prefix("d.")?, 16).ok());
        let mut orphans: BTreeSet<u64> = data.collect();
        let mut used = BTreeSet::new();
        for name in names.iter().filter(|name| object_of(name).is_some()) {
            self.each_value(name, |value| used.append(&mut numbers(Some(value))))?;
        }
        let waiting = self.pending();
        used.extend(waiting.values().flat_map(|dkey| dkey.akeys.values()).flat_map(Akey::used));
        drop(waiting);
        orphans.retain(|number| !used.contains(number));
        if remove {
            lock(&self.pending_free).extend(&orphans);
            self.remove_pending_free();
        }
        Ok(orphans.len() as u64)
    }

    fn each_value(&self, name: &str, mut each: impl FnMut(&Value)) -> Result<()> {
        let mut after = Vec::new();
        loop {
            let ask = Ask { name: name.into(), keys: Vec::new(), after: Some((after, PAGE)) };
            let Some(answer) = self.ask(&[ask])?.into_iter().next() else { return Ok(()) };
            for (_, stored) in answer.behind.iter().filter(|(key, _)| key != LEVEL) {
                each(&Value::decode(stored)?);
            }
            match answer.behind.into_iter().next_back().filter(|_| answer.more) {
                Some((last, _)) => after = last,
                None => return Ok(()),
            }
        }
    }
}
