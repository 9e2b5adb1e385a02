//! From what was found in a folder to objects.

use std::collections::HashMap;

use json_text::text::Value;
use json_text::{Loader, Objects, charset_from_json};
use model::{Context, Error, LinkTarget, ObjectKind, Result, Token};
use vol::{LinkLocation, OpLinkCreate};

use crate::container::RawContainer;
use crate::folder::Folder;
use crate::homes::ObjectHome;
use crate::scan::{Parent, ScanItem, ScanResult};

/// Objects by identity. A caller that an identity meant may be gone: then its token leads nowhere.
pub(crate) struct KnownObjects<'a>(pub(crate) &'a Folder);

impl Objects for KnownObjects<'_> {
    fn name_of(&self, token: Token) -> Result<String> {
        self.0.keeper().objects().name_of(token)
    }

    fn token_of(&self, name: &str) -> Result<Token> {
        let id = name.rsplit_once('/').map_or(name, |(_, id)| id);
        Ok(self.0.ids().token_from(id))
    }
}

/// A link that waits for the other objects: its name and what it points to.
struct PendingLink<'v> {
    name: &'v str,
    target: Target<'v>,
}

enum Target<'v> {
    Object(Token),
    Said(&'v Value<'static>),
}

/// Creates objects of what was found, with their links, attributes and pairs.
pub(crate) fn load(
    folder: &Folder,
    keeper: &RawContainer,
    found: &ScanResult<'_>,
    root_value: Option<&Value<'static>>,
) -> Result<()> {
    let objects = KnownObjects(folder);
    let loader = Loader::new(keeper, &objects, folder.limits());
    let mut tokens = vec![None; found.items.len()];
    // Types first: datasets and attributes use them.
    for kind in [ObjectKind::Datatype, ObjectKind::Group, ObjectKind::Dataset, ObjectKind::Map] {
        for (n, item) in found.items.iter().enumerate().filter(|(_, item)| item.kind == kind) {
            let made = make(folder, &loader, found, item);
            tokens[n] = Some(made.during(&format!("read {}", folder.dir().path(&item.path).display()))?);
        }
    }
    let token_of = |parent: Parent| match parent {
        Parent::Known(token) => Some(token),
        Parent::Found(n) => tokens.get(n).copied().flatten(),
    };
    note_homes(folder, found, &tokens, token_of);
    let values: HashMap<Token, &Value<'static>> =
        tokens.iter().zip(&found.items).filter_map(|(token, item)| Some(((*token)?, &item.value))).collect();
    for (group, links) in gather(found, &tokens, token_of) {
        let value = values.get(&group).copied().or(root_value);
        link_all(folder, &loader, group, links, value);
    }
    for (item, token) in found.items.iter().zip(&tokens) {
        if let Some(token) = *token {
            describe(&loader, token, item)
                .during(&format!("read {}", folder.dir().path(&item.path).display()))?;
        }
    }
    found.warnings.iter().for_each(|warning| folder.warn(warning.clone()));
    Ok(())
}

fn make(folder: &Folder, loader: &Loader<'_>, found: &ScanResult<'_>, item: &ScanItem) -> Result<Token> {
    let op = match item.kind {
        ObjectKind::Dataset => Some(loader.dataset_op(&item.value)?),
        _ => None,
    };
    // A copy made by hand has the identity of its original.
    let id = found.ids(item).into_iter().flatten().find(|id| folder.ids().by_id(id).is_err());
    if let Some(id) = id {
        folder.keeper().shared().expect(&id);
    }
    match (item.kind, op) {
        (ObjectKind::Dataset, Some(op)) => loader.container.dataset_create(&op),
        (ObjectKind::Datatype, _) => loader.committed(&item.value),
        (ObjectKind::Map, _) => loader.map(&item.value),
        _ => loader.group(&item.value),
    }
}

fn note_homes(
    folder: &Folder,
    found: &ScanResult<'_>,
    tokens: &[Option<Token>],
    token_of: impl Fn(Parent) -> Option<Token>,
) {
    let mut homes = folder.homes_mut();
    for (item, token) in found.items.iter().zip(tokens) {
        let (Some(token), Some(parent)) = (*token, item.parent.and_then(&token_of)) else { continue };
        homes.set(token, ObjectHome { parent, stem: item.stem.clone(), is_plain: item.is_plain });
        if let Some(seen) = &item.seen {
            homes.seen.insert(token, seen.clone());
        }
        if let Some(listing) = &item.listing {
            homes.listings.insert(token, listing.clone());
        }
    }
}

/// Returns the links of each group.
fn gather<'v>(
    found: &'v ScanResult<'_>,
    tokens: &[Option<Token>],
    token_of: impl Fn(Parent) -> Option<Token>,
) -> HashMap<Token, Vec<PendingLink<'v>>> {
    let mut groups: HashMap<Token, Vec<PendingLink<'v>>> = HashMap::new();
    for (item, token) in found.items.iter().zip(tokens) {
        if let (Some(token), Some(group)) = (*token, item.parent.and_then(&token_of)) {
            let target = Target::Object(token);
            groups.entry(group).or_default().push(PendingLink { name: &item.name, target });
        }
    }
    for link in &found.links {
        if let Some(group) = token_of(link.parent) {
            let target = Target::Said(&link.value);
            groups.entry(group).or_default().push(PendingLink { name: &link.name, target });
        }
    }
    groups
}

/// Creates the links of a group: in the order that its metadata says, then by name.
fn link_all(
    folder: &Folder,
    loader: &Loader<'_>,
    group: Token,
    mut links: Vec<PendingLink<'_>>,
    value: Option<&Value<'static>>,
) {
    let order =
        value.and_then(|value| value.get("order")).and_then(|order| order.array().ok()).unwrap_or_default();
    let places: HashMap<&str, usize> =
        order.iter().enumerate().filter_map(|(n, name)| Some((name.text().ok()?, n))).collect();
    links.sort_by_key(|link| (places.get(link.name).copied().unwrap_or(usize::MAX), link.name.to_owned()));
    let charsets = value.and_then(|value| value.get("charSets"));
    for link in links {
        let charset = charset_from_json(link.name, charsets.and_then(|sets| sets.get(link.name)));
        let made = charset.and_then(|charset| {
            let target = match link.target {
                Target::Object(token) => LinkTarget::Hard(token),
                Target::Said(value) => loader.link_target(value)?,
            };
            let place = LinkLocation { group, name: link.name.to_owned(), charset };
            loader.container.link_create(&OpLinkCreate { place, target })
        });
        // One bad link does not hide the rest.
        if let Err(error) = made {
            folder.warn(format!("link \"{}\" is left out: {error}", link.name));
        }
    }
}

/// Attributes, comment and pairs, now that all objects are there.
pub(crate) fn describe(loader: &Loader<'_>, token: Token, item: &ScanItem) -> Result<()> {
    loader.common(token, &item.value)?;
    match item.kind {
        ObjectKind::Map => loader.pairs(token, &item.value),
        _ => Ok(()),
    }
}

/// The format that the root folder's metadata must name.
pub(crate) const FORMAT: &str = "hyperslab-raw";

/// Returns an error unless a root folder's metadata is ours.
pub(crate) fn check_format(value: &Value<'_>) -> Result<()> {
    match value.get("format").and_then(|format| format.text().ok()) {
        Some(FORMAT) => Ok(()),
        _ => Err(Error::corrupt("open folder").with("problem", "its .group.json is of no raw container")),
    }
}
