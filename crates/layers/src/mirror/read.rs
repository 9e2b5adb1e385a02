//! Reads: from the primary, without its mark; values also from a target where the primary's storage fails.

use std::sync::Arc;

use model::{Error, Kind, Result, Token};
use vol::{AttributeInfo, DatasetInfo, OpList, OpRead, Page};

use crate::mirror::mark::{self, MARK};
use crate::mirror::pair::Pair;
use crate::mirror::targets::Mirror;

fn reserved() -> Error {
    Error::not_found("find attribute").with("name", MARK).with("problem", "the name is the mirror's")
}

impl Mirror {
    /// Returns what the primary answered, or the first healthy target where its storage failed.
    pub(crate) fn or_from_target<R>(
        &self,
        answer: Result<R>,
        mut read: impl FnMut(&Pair<'_>) -> Result<R>,
    ) -> Result<R> {
        let Err(error) = answer else { return answer };
        if !matches!(error.kind(), Kind::Io | Kind::Corrupt) {
            return Err(error);
        }
        for (target, pair) in self.healthy() {
            if let Ok(answer) = read(&pair) {
                target.count_read();
                return Ok(answer);
            }
        }
        Err(error)
    }

    pub(crate) fn read_info(&self, dataset: Token) -> Result<Arc<DatasetInfo>> {
        self.or_from_target(self.primary.dataset_info(dataset), |pair| {
            let info = pair.target.dataset_info(pair.token(dataset)?)?;
            without_descriptors(&info.datatype)?;
            match info.committed {
                Some(_) => Err(Error::unsupported("return a committed datatype of a target")),
                None => Ok(info),
            }
        })
    }

    pub(crate) fn read(&self, reads: &mut [OpRead<'_>]) -> Result<()> {
        let answer = self.primary.dataset_read(reads);
        self.or_from_target(answer, |pair| {
            for read in reads.iter_mut() {
                let dataset = pair.token(read.dataset)?;
                without_descriptors(&pair.target.dataset_info(dataset)?.datatype)?;
                let read = OpRead { dataset, selection: read.selection, into: read.into };
                pair.target.dataset_read(&mut [read])?;
            }
            Ok(())
        })
    }

    pub(crate) fn read_attributes(&self, object: Token, names: &[&str]) -> Result<Vec<Vec<u8>>> {
        self.check_name(object, names)?;
        self.or_from_target(self.primary.attribute_read(object, names), |pair| {
            let object = pair.token(object)?;
            for name in names {
                let info = pair.target.attribute_info(object, name)?;
                without_descriptors(&info.ok_or_else(|| Error::not_found("find attribute"))?.datatype)?;
            }
            pair.target.attribute_read(object, names)
        })
    }

    pub(crate) fn read_map(&self, map: Token, keys: &[&[u8]]) -> Result<Vec<Option<Vec<u8>>>> {
        self.or_from_target(self.primary.map_get(map, keys), |pair| {
            let map = pair.token(map)?;
            without_descriptors(&pair.target.map_info(map)?.value)?;
            pair.target.map_get(map, keys)
        })
    }

    /// Returns an error where the mirror's own attribute is meant.
    pub(crate) fn check_name(&self, object: Token, names: &[&str]) -> Result<()> {
        if object == self.root && names.contains(&MARK) { Err(reserved()) } else { Ok(()) }
    }

    /// Returns whether the primary has the mirror's attribute now, on this object.
    pub(crate) fn is_marked(&self, object: Token) -> Result<bool> {
        if object == self.root { mark::is_there(&*self.primary, object) } else { Ok(false) }
    }

    /// Returns the attributes without the mirror's own.
    pub(crate) fn list_attributes(&self, object: Token, op: &OpList) -> Result<Page<AttributeInfo>> {
        if !self.is_marked(object)? {
            return self.primary.attribute_list(object, op);
        }
        let all = self.primary.attribute_list(object, &OpList { skip: 0, count_max: u64::MAX, ..*op })?;
        let skip = usize::try_from(op.skip).unwrap_or(usize::MAX);
        let count = usize::try_from(op.count_max).unwrap_or(usize::MAX);
        let mut entries = all.entries.into_iter().filter(|info| info.name != MARK).skip(skip);
        let page = entries.by_ref().take(count).collect();
        Ok(Page { entries: page, more: entries.next().is_some() })
    }
}

/// Descriptors in elements belong to one container: another's mean nothing to the caller.
pub(crate) fn without_descriptors(datatype: &model::Datatype) -> Result<()> {
    match datatype.has_descriptors() {
        true => Err(Error::unsupported("read variable-length values and references from a target")),
        false => Ok(()),
    }
}
