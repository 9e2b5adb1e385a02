//! What is stored, object by object, dkey by dkey, akey by akey: for people who want to see the mapping.

use std::fmt::Write;

use model::Result;
use objects::{ObjectId, Size};

use super::show::{key, value};
use crate::error::During;
use crate::identity;
use crate::keys::{GLOBAL, ROOT};
use crate::listing::{PAGE, each_akey, each_dkey};
use crate::opening::Opening;

/// Writing to a text does not fail.
macro_rules! line {
    ($out:expr, $($arg:tt)*) => {
        let _ = writeln!($out, $($arg)*);
    };
}

fn title(id: ObjectId) -> String {
    match id {
        GLOBAL => "global metadata".to_owned(),
        ROOT => "group (root)".to_owned(),
        id => identity::kind(id).name().to_owned(),
    }
}

impl Opening {
    /// The whole container as text.
    pub(crate) fn show_storage(&self) -> Result<String> {
        let mut out = String::new();
        let mut ids: Vec<ObjectId> = Vec::new();
        loop {
            let page = self.store().objects(ids.last().copied(), PAGE).during("list objects")?;
            let new: Vec<ObjectId> = page.into_iter().filter(|id| ids.last() != Some(id)).collect();
            if new.is_empty() {
                break;
            }
            ids.extend(new);
        }
        ids.sort_unstable_by_key(|id| (id.low, id.high));
        ids.dedup();
        for id in ids {
            self.dump_object(id, &mut out)?;
        }
        Ok(out)
    }

    fn dump_object(&self, id: ObjectId, out: &mut String) -> Result<()> {
        line!(out, "object {id} {}", title(id));
        let mut dkeys = Vec::new();
        each_dkey(self.store(), id, b"", |dkey| {
            dkeys.push(dkey.to_vec());
            Ok(true)
        })?;
        for dkey in dkeys {
            line!(out, "  dkey {}", key(id, None, &dkey));
            let mut akeys = Vec::new();
            each_akey(self.store(), id, &dkey, b"", |akey| {
                akeys.push(akey.to_vec());
                Ok(true)
            })?;
            for akey in akeys {
                let shown = self.dump_value(id, &dkey, &akey)?;
                line!(out, "    akey {} = {shown}", key(id, Some(&dkey), &akey));
            }
        }
        Ok(())
    }

    fn dump_value(&self, id: ObjectId, dkey: &[u8], akey: &[u8]) -> Result<String> {
        Ok(match self.store().size(id, dkey, akey).during("show storage")? {
            None => "nothing".to_owned(),
            Some(Size::Records { record_size, end }) => {
                format!("records of {record_size} bytes, the last before {end}")
            }
            Some(Size::Single(_)) => {
                let found = self.store().get(id, dkey, &[akey]).during("show storage")?.pop().flatten();
                value(id, dkey, akey, &found.unwrap_or_default(), self.limits())
            }
        })
    }
}
