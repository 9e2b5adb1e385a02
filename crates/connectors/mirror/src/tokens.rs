//! Which object of a target is which of the primary.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use model::{LinkTarget, Result, Token};
use vol::{Container, OpList};

/// Where objects of the primary were found: the group and the path from there.
///
/// It is good until links go or move: before that, all of it is looked up in the targets.
#[derive(Debug, Default)]
pub(crate) struct Found(Mutex<HashMap<Token, (Token, String)>>);

impl Found {
    fn lock(&self) -> MutexGuard<'_, HashMap<Token, (Token, String)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn note(&self, object: Token, group: Token, path: &str) {
        self.lock().entry(object).or_insert_with(|| (group, path.to_owned()));
    }

    pub(crate) fn get(&self, object: Token) -> Option<(Token, String)> {
        self.lock().get(&object).cloned()
    }

    pub(crate) fn objects(&self) -> Vec<Token> {
        self.lock().keys().copied().collect()
    }

    pub(crate) fn clear(&self) {
        self.lock().clear();
    }

    pub(crate) fn len(&self) -> usize {
        self.lock().len()
    }
}

/// Tokens of a target by those of the primary, and how often objects are retained there.
#[derive(Debug, Default)]
pub(crate) struct Tokens {
    known: Mutex<HashMap<Token, Token>>,
    retained: Mutex<HashMap<Token, u64>>,
}

impl Tokens {
    fn known(&self) -> MutexGuard<'_, HashMap<Token, Token>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn retained(&self) -> MutexGuard<'_, HashMap<Token, u64>> {
        self.retained.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn get(&self, primary: Token) -> Option<Token> {
        self.known().get(&primary).copied()
    }

    pub(crate) fn set(&self, primary: Token, target: Token) {
        self.known().insert(primary, target);
    }
}

/// Calls `meet` with every object under two groups that hold the same, once each.
pub(crate) fn walk(
    (primary, group): (&dyn Container, Token),
    (target, same_group): (&dyn Container, Token),
    meet: &mut dyn FnMut(Token, Token),
) -> Result<()> {
    let (mut waiting, mut met) = (VecDeque::from([(group, same_group)]), HashSet::from([group]));
    meet(group, same_group);
    while let Some((group, same_group)) = waiting.pop_front() {
        // Objects that are no groups have no links.
        if !matches!(primary.object_info(group)?.kind, model::ObjectKind::Group) {
            continue;
        }
        let (mut skip, mut more) = (0, true);
        while more {
            let page = primary.link_list(group, &OpList { skip, ..OpList::default() })?;
            (skip, more) = (skip + page.entries.len() as u64, page.more && !page.entries.is_empty());
            for link in page.entries {
                let LinkTarget::Hard(object) = link.target else { continue };
                let same = target.link_get(same_group, &link.name)?.map(|link| link.target);
                if let (Some(LinkTarget::Hard(same)), true) = (same, met.insert(object)) {
                    meet(object, same);
                    waiting.push_back((object, same));
                }
            }
        }
    }
    Ok(())
}
