//! The map between objects of the primary and those of a target.

use std::collections::{HashMap, HashSet, VecDeque};

use model::{LinkTarget, Result, Token};
use system::sync::{Mutex, MutexGuard};
use vol::{Container, OpList};

/// Where objects of the primary were found: the group and the path from there.
///
/// It is good until links go or move: before that, all of it is looked up in the targets, and what was found while they
/// did is forgotten.
#[derive(Debug, Default)]
pub(crate) struct TokenMap(Mutex<TokenMapState>);

#[derive(Debug, Default)]
struct TokenMapState {
    places: HashMap<Token, (Token, String)>,
    /// How often links went or moved.
    epoch: u64,
}

impl TokenMap {
    fn lock(&self) -> MutexGuard<'_, TokenMapState> {
        self.0.lock()
    }

    /// Returns the time before something is looked for, for [`TokenMap::note`].
    pub(crate) fn epoch(&self) -> u64 {
        self.lock().epoch
    }

    /// Notes where an object was found, unless links went or moved meanwhile.
    pub(crate) fn note(&self, epoch: u64, object: Token, group: Token, path: &str) {
        let mut state = self.lock();
        if state.epoch == epoch {
            state.places.entry(object).or_insert_with(|| (group, path.to_owned()));
        }
    }

    pub(crate) fn get(&self, object: Token) -> Option<(Token, String)> {
        self.lock().places.get(&object).cloned()
    }

    pub(crate) fn objects(&self) -> Vec<Token> {
        self.lock().places.keys().copied().collect()
    }

    /// Links go or move.
    pub(crate) fn forget(&self) {
        let mut state = self.lock();
        state.places.clear();
        state.epoch += 1;
    }

    pub(crate) fn len(&self) -> usize {
        self.lock().places.len()
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
        self.known.lock()
    }

    pub(crate) fn retained(&self) -> MutexGuard<'_, HashMap<Token, u64>> {
        self.retained.lock()
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
