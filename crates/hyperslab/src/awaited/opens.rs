//! Opens and links that are awaited.

use layers::asynchronous::{requests, start, start_info, start_link};
use model::{Error, Index, Kind, Link, LinkTarget, ObjectKind, Order, Result, Token};
use vol::{Lookup, OpList, OpLookup};

use crate::group::{PAGE, another_kind};
use crate::object::{NamedDatatype, Object, ObjectHandle};
use crate::{Dataset, Group, Map};

impl Group {
    /// Opens a dataset, as [`Group::dataset`] does.
    ///
    /// # Errors
    /// Returns `NotFound` if the path leads to nothing, and `Invalid` if it leads to an object of another kind.
    pub async fn dataset_async(&self, path: &str) -> Result<Dataset> {
        match self.find_async(path).await? {
            Some(object) => opened_dataset(object, path).await,
            None => self.open_aside(path, Group::dataset).await,
        }
    }

    /// Opens a group, as [`Group::group`] does.
    ///
    /// # Errors
    /// Returns `NotFound` if the path leads to nothing, and `Invalid` if it leads to an object of another kind.
    pub async fn group_async(&self, path: &str) -> Result<Group> {
        match self.find_async(path).await? {
            Some(object) => of_kind(object, path, ObjectKind::Group).await.map(Group),
            None => self.open_aside(path, Group::group).await,
        }
    }

    /// Opens a map, as [`Group::map`] does.
    ///
    /// # Errors
    /// Returns `NotFound` if the path leads to nothing, and `Invalid` if it leads to an object of another kind.
    pub async fn map_async(&self, path: &str) -> Result<Map> {
        match self.find_async(path).await? {
            Some(object) => opened_map(object, path).await,
            None => self.open_aside(path, Group::map).await,
        }
    }

    /// Opens a committed datatype, as [`Group::named_datatype`] does.
    ///
    /// # Errors
    /// Returns `NotFound` if the path leads to nothing, and `Invalid` if it leads to an object of another kind.
    pub async fn named_datatype_async(&self, path: &str) -> Result<NamedDatatype> {
        match self.find_async(path).await? {
            Some(object) => of_kind(object, path, ObjectKind::Datatype).await.map(NamedDatatype),
            None => self.open_aside(path, Group::named_datatype).await,
        }
    }

    /// Opens an object, whatever it is, as [`Group::object`] does.
    ///
    /// # Errors
    /// Returns `NotFound` if the path leads to nothing.
    pub async fn object_async(&self, path: &str) -> Result<ObjectHandle> {
        let Some(object) = self.find_async(path).await? else {
            return self.open_aside(path, Group::object).await;
        };
        Ok(match kind_of(&object).await? {
            ObjectKind::Group => ObjectHandle::Group(Group(object)),
            ObjectKind::Datatype => ObjectHandle::Datatype(NamedDatatype(object)),
            ObjectKind::Dataset => ObjectHandle::Dataset(opened_dataset(object, path).await?),
            ObjectKind::Map => ObjectHandle::Map(opened_map(object, path).await?),
        })
    }

    /// Returns whether a path leads to an object, as [`Group::exists`] does.
    ///
    /// # Errors
    /// Returns the error of the storage.
    pub async fn exists_async(&self, path: &str) -> Result<bool> {
        match self.token_async(path).await {
            Ok(Some(_)) => Ok(true),
            Ok(None) => self.open_aside(path, Group::exists).await,
            Err(error) if error.kind() == Kind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Returns the link named `name`, as [`Group::link`] does.
    ///
    /// # Errors
    /// Returns `NotFound` if the group has no such link.
    pub async fn link_async(&self, name: &str) -> Result<Link> {
        if !self.session.is_started() {
            return self.open_aside(name, Group::link).await;
        }
        let link = start_link(&*self.session.container, self.token, name).await?;
        let missing = || Error::not_found("find link").with("name", name).with("group", self.path.shown());
        link.ok_or_else(missing)
    }

    /// Returns all links, sorted by name, as [`Group::links`] does.
    ///
    /// # Errors
    /// Returns the error of the storage.
    pub async fn links_async(&self) -> Result<Vec<Link>> {
        if !self.session.is_started() {
            return self.open_aside("", |group, _| group.links()).await;
        }
        let (group, mut links) = (self.token, Vec::new());
        loop {
            let skip = links.len() as u64;
            let op = OpList { index: Index::Name, order: Order::Increasing, skip, count_max: PAGE };
            let page = start(&*self.session.container, move |c| c.link_list(group, &op)).await?;
            links.extend(page.entries);
            if !page.more {
                return Ok(links);
            }
        }
    }

    /// Returns the names of all links, sorted, as [`Group::member_names`] does.
    ///
    /// # Errors
    /// Returns the error of the storage.
    pub async fn member_names_async(&self) -> Result<Vec<String>> {
        Ok(self.links_async().await?.into_iter().map(|link| link.name).collect())
    }

    /// Returns the object that a path leads to, with a handle that is counted in the background; `None` where that
    /// cannot be started.
    async fn find_async(&self, path: &str) -> Result<Option<Object>> {
        let handle = |token| requests(|| Object::new(self.session.clone(), token, self.full_path(path))).0;
        Ok(self.token_async(path).await?.map(handle))
    }

    /// Returns the token that a path leads to; `None` where that cannot be started: without the layer, through links
    /// to other files, and where the connector does not follow paths.
    async fn token_async(&self, path: &str) -> Result<Option<Token>> {
        if !self.session.is_started() {
            return Ok(None);
        }
        if let Some(token) = self.find_hard(path).await? {
            return Ok(Some(token));
        }
        let traversals_max = self.session.access.limits.link_traversals_max;
        let op = OpLookup { from: self.token, path: path.to_owned(), traversals_max };
        match start(&*self.session.container, move |c| c.lookup(&op)).await {
            Ok(Lookup::Object(token)) => Ok(Some(token)),
            Err(error) if error.kind() == Kind::NotFound => Err(error),
            _ => Ok(None),
        }
    }

    /// Returns the object that a path of one hard link leads to. Changes elsewhere need not wait for this, as they do
    /// for a lookup, which may follow any link.
    async fn find_hard(&self, path: &str) -> Result<Option<Token>> {
        let mut components = model::link::components(path);
        let (Some(name), None) = (components.next(), components.next()) else { return Ok(None) };
        let group = if model::link::is_absolute(path) { self.session.root } else { self.token };
        let link = start_link(&*self.session.container, group, name).await?;
        match link.map(|link| link.target) {
            Some(LinkTarget::Hard(token)) => Ok(Some(token)),
            Some(_) => Ok(None),
            None => Err(Error::not_found("follow path").with("path", path)),
        }
    }

    /// Calls `open` on a thread that may wait.
    async fn open_aside<T: Send + 'static>(
        &self,
        path: &str,
        open: impl FnOnce(&Group, &str) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let (group, path) = (self.clone(), path.to_owned());
        self.session.aside(move || open(&group, &path)).await
    }
}

async fn kind_of(object: &Object) -> Result<ObjectKind> {
    let token = object.token;
    Ok(start(&*object.session.container, move |c| c.object_info(token)).await?.kind)
}

async fn of_kind(object: Object, path: &str, kind: ObjectKind) -> Result<Object> {
    let found = kind_of(&object).await?;
    if found == kind { Ok(object) } else { Err(another_kind(path, kind, found)) }
}

async fn opened_dataset(object: Object, path: &str) -> Result<Dataset> {
    let token = object.token;
    match start_info(&*object.session.container, token).await {
        Ok(info) => Ok(Dataset::with_info(object, info)),
        // As a rule it is one. Where not, that is why it failed.
        Err(error) => of_kind(object, path, ObjectKind::Dataset).await.and(Err(error)),
    }
}

async fn opened_map(object: Object, path: &str) -> Result<Map> {
    let token = object.token;
    match start(&*object.session.container, move |c| c.map_info(token)).await {
        Ok(info) => Ok(Map::of_types(object, info.key, info.value)),
        Err(error) => of_kind(object, path, ObjectKind::Map).await.and(Err(error)),
    }
}
