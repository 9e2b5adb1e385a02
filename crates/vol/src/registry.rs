//! The registry of everything that a program can be extended with: connectors, layers, virtual file drivers, filters,
//! conversions and classes of links.

use std::any::Any;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, LazyLock};

use files::{Driver, Drivers};
use filters::Filter;
use model::convert::{Conversions, Convert, SoftConvert};
use model::properties::FileCreate;
use model::text::to_path;
use model::{Budget, Context, Datatype, Error, Result};

use crate::handle::handle;
use crate::{
    Access, Connector, ConnectorInfo, Container, ContainerCreate, ContainerOpen, CreateInfo, ExtensionInfo,
    FileAccess, LayerFactory, LinkClass, Location, Registered, Stack, Wrap, WrapCheck,
};

/// Finds connectors, layers, drivers, filters, conversions and classes of links. Connectors find each other here, because
/// none knows another.
///
/// A new registry has the drivers and filters of this build. Creating and opening a container use the same registry, and a
/// container copies the filters, conversions and classes that its registry had then.
#[derive(Clone, Default)]
pub struct Registry {
    connectors: BTreeMap<&'static str, Arc<dyn Connector>>,
    layers: BTreeMap<&'static str, Arc<dyn LayerFactory>>,
    /// Names in the order they were added: the first is the default for new containers, and is asked first.
    order: Vec<&'static str>,
    /// Origins of connectors that are not built in.
    origins: BTreeMap<&'static str, String>,
    layer_origins: BTreeMap<&'static str, String>,
    /// Connectors and layers that this build lacks, and the features that add them.
    absent: BTreeMap<&'static str, &'static str>,
    filter_origins: BTreeMap<u16, String>,
    drivers: Drivers,
    /// Storage engines of connectors, by their names in locations.
    engines: BTreeMap<String, Arc<dyn Any + Send + Sync>>,
    registered: Registered,
    /// The account of containers that are opened without one.
    budget: Option<Budget>,
}

static NONE: LazyLock<Registry> = LazyLock::new(Registry::new);

/// The origin of a connector that is part of the program.
const BUILT_IN: &str = "built in";

impl std::fmt::Debug for Registry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Registry")
            .field("connectors", &self.order)
            .field("layers", &self.layers.keys())
            .finish()
    }
}

impl Registry {
    /// Returns a registry without connectors and layers, for connectors that need no other.
    pub fn none() -> &'static Registry {
        &NONE
    }

    /// Returns a registry without connectors and layers. It has the drivers and filters of this build.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a connector. The first one is the default for new containers.
    ///
    /// # Errors
    /// Returns `Exists` if its name or number is taken.
    pub fn register(&mut self, connector: Arc<dyn Connector>) -> Result<()> {
        let info = connector.info();
        let is_named = self.connectors.contains_key(info.name);
        self.check_new(&info, is_named, "register connector")?;
        self.order.push(info.name);
        self.connectors.insert(info.name, connector);
        Ok(())
    }

    /// Returns a copy of this registry in which `wrap` replaces each connector by another of the same name.
    #[must_use]
    pub fn with_connectors(&self, wrap: impl Fn(&Arc<dyn Connector>) -> Arc<dyn Connector>) -> Registry {
        let connectors = self.connectors.iter().map(|(name, connector)| (*name, wrap(connector))).collect();
        Registry { connectors, ..self.clone() }
    }

    /// Adds a layer.
    ///
    /// # Errors
    /// Returns `Exists` if its name or number is taken.
    pub fn register_layer(&mut self, layer: Arc<dyn LayerFactory>) -> Result<()> {
        let info = layer.info();
        let is_named = self.layers.contains_key(info.name);
        self.check_new(&info, is_named, "register layer")?;
        self.layers.insert(info.name, layer);
        Ok(())
    }

    /// Declares a connector or a layer that the program was built without. An error about its name names `feature`, which
    /// would add it.
    pub fn register_absent(&mut self, name: &'static str, feature: &'static str) {
        self.absent.insert(name, feature);
    }

    /// Returns the error about a connector or a layer that is not registered.
    pub(crate) fn missing(&self, operation: &str, name: &str, known: &[&str]) -> Error {
        let Some(feature) = self.absent.get(name) else {
            return Error::not_found(operation).with("name", name).with("known", known.join(", "));
        };
        let problem = format!("this program was built without the feature `{feature}`");
        Error::unsupported(operation).with("name", name).with("problem", problem)
    }

    /// Adds a virtual file driver.
    ///
    /// # Errors
    /// Returns `Exists` if its name or an alias is taken.
    pub fn register_driver(&mut self, driver: Arc<dyn Driver>) -> Result<()> {
        let name = driver.info().name;
        self.drivers.register(driver).map_err(|e| Error::io("register driver", &e).with("name", name))
    }

    /// Adds a storage engine, which connectors find as `connector+name:`. Its type is one that these connectors know: they
    /// have functions that call this one.
    ///
    /// # Errors
    /// Returns `Invalid` if the name cannot stand in a location, and `Exists` if it is taken.
    pub fn register_engine(&mut self, name: &str, engine: Arc<dyn Any + Send + Sync>) -> Result<()> {
        let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        if name.is_empty() || !name.chars().all(fits) {
            return Err(Error::invalid("register storage engine").with("name", name));
        }
        if self.engines.contains_key(name) {
            return Err(Error::exists("register storage engine").with("name", name));
        }
        self.engines.insert(name.to_owned(), engine);
        Ok(())
    }

    /// Returns a storage engine that was added, or `None` if it is of another type or there is none.
    pub fn engine<T: Any>(&self, name: &str) -> Option<&T> {
        self.engines.get(name).and_then(|engine| engine.downcast_ref())
    }

    /// Returns the names of the storage engines that were added.
    pub fn engine_names(&self) -> impl Iterator<Item = &str> {
        self.engines.keys().map(String::as_str)
    }

    /// Adds a filter.
    ///
    /// # Errors
    /// Returns `Exists` if there is a filter with its number.
    pub fn register_filter(&mut self, filter: Arc<dyn Filter>) -> Result<()> {
        let (id, name) = (filter.id(), filter.name());
        if let Ok(taken) = self.registered.filters.get(id) {
            let error = Error::exists("register filter").with("name", name).with("number", id);
            return Err(error.with("taken by", taken.name()));
        }
        self.registered.filters.register(filter);
        Ok(())
    }

    /// Sets a function that is asked for filters which this registry lacks.
    pub fn set_filter_finder(&mut self, finder: filters::Finder) {
        self.registered.filters.set_finder(finder);
    }

    /// Adds a conversion from one datatype to exactly one other. Of several for the same pair, the newest is used.
    pub fn register_conversion(&mut self, name: &str, from: Datatype, to: Datatype, run: Convert) {
        self.conversions_mut().register_hard(name, from, to, run);
    }

    /// Adds a rule that offers conversions for the pairs of datatypes that it knows. It is asked when no conversion of exactly
    /// the pair is registered.
    pub fn register_conversions(&mut self, name: &str, rule: SoftConvert) {
        self.conversions_mut().register_soft(name, rule);
    }

    /// Returns the conversions for changes.
    pub fn conversions_mut(&mut self) -> &mut Conversions {
        Arc::make_mut(&mut self.registered.conversions)
    }

    /// Adds a class of user-defined links.
    ///
    /// # Errors
    /// Returns `Invalid` if its number is not one of user-defined classes, and `Exists` if it is taken.
    pub fn register_link_class(&mut self, class: Arc<dyn LinkClass>) -> Result<()> {
        self.registered.link_classes.register(class)
    }

    /// Returns the virtual file drivers.
    pub fn drivers(&self) -> &Drivers {
        &self.drivers
    }

    /// Returns the filters, conversions and classes of links, which a container copies when it is opened.
    pub fn registered(&self) -> &Registered {
        &self.registered
    }

    /// Returns the driver that `access` names and its parameters, or `None` if it names none.
    ///
    /// # Errors
    /// Returns `Unsupported` if there is no such driver, and `Invalid` if the text cannot be read.
    pub fn driver(&self, access: &FileAccess) -> Result<Option<(&Arc<dyn Driver>, files::DriverParameters)>> {
        let Some(text) = access.driver.as_deref() else { return Ok(None) };
        let stack = Stack::parse(text).during("read driver")?;
        let [entry] = stack.0.as_slice() else {
            return Err(Error::invalid("read driver")
                .with("driver", text)
                .with("problem", "one is expected"));
        };
        let driver = self.drivers.get(&entry.name).ok_or_else(|| {
            let known: Vec<_> = self.drivers.names().collect();
            Error::unsupported("find driver").with("driver", &entry.name).with("known", known.join(", "))
        })?;
        let pairs = entry.parameters.iter().map(|(key, value)| (key.to_owned(), value.to_owned()));
        Ok(Some((driver, pairs.collect())))
    }

    /// Checks that a connector can use the driver that `access` names.
    fn check_driver(&self, connector: &dyn Connector, access: &FileAccess) -> Result<()> {
        match self.driver(access)? {
            Some((driver, _)) if !connector.uses_drivers() => {
                let error = Error::unsupported("use driver").with("driver", driver.info().name);
                Err(error.with("connector", connector.info().name))
            }
            _ => Ok(()),
        }
    }

    /// Returns an error if a name or a number is taken. Connectors and layers share one range of numbers, as in
    /// libhdf5.
    fn check_new(&self, info: &ConnectorInfo, is_named: bool, operation: &str) -> Result<()> {
        let connectors = self.connectors.values().map(|connector| connector.info());
        let mut all = connectors.chain(self.layers.values().map(|layer| layer.info()));
        let Some(taken) = all.find(|known| known.value == info.value).map(|known| known.name) else {
            return match is_named {
                true => Err(Error::exists(operation).with("name", info.name)),
                false => Ok(()),
            };
        };
        Err(Error::exists(operation)
            .with("name", info.name)
            .with("value", info.value)
            .with("taken by", taken))
    }

    /// Sets the default connector. It creates containers at locations without a prefix, and is asked first whether it
    /// knows an existing one.
    ///
    /// # Errors
    /// Returns `NotFound` if there is no such connector, and `Unsupported` if the program was built without it.
    pub fn set_default(&mut self, name: &str) -> Result<()> {
        let known = self.by_name(name)?.info().name;
        self.order.retain(|other| *other != known);
        self.order.insert(0, known);
        Ok(())
    }

    /// Adds a connector as [`Registry::register`] does, and records its origin, for example a file.
    ///
    /// # Errors
    /// Returns `Exists` if its name or number is taken.
    pub fn register_from(&mut self, connector: Arc<dyn Connector>, origin: &str) -> Result<()> {
        let name = connector.info().name;
        self.register(connector)?;
        self.origins.insert(name, origin.to_owned());
        Ok(())
    }

    /// Adds a layer as [`Registry::register_layer`] does, and records its origin, for example a file.
    ///
    /// # Errors
    /// Returns `Exists` if its name or number is taken.
    pub fn register_layer_from(&mut self, layer: Arc<dyn LayerFactory>, origin: &str) -> Result<()> {
        let name = layer.info().name;
        self.register_layer(layer)?;
        self.layer_origins.insert(name, origin.to_owned());
        Ok(())
    }

    /// Adds a filter and records its origin, for example the file of a plugin.
    ///
    /// # Errors
    /// Returns `Exists` if there is a filter with its number.
    pub fn register_filter_from(&mut self, filter: Arc<dyn Filter>, origin: &str) -> Result<()> {
        let id = filter.id();
        self.register_filter(filter)?;
        self.filter_origins.insert(id, origin.to_owned());
        Ok(())
    }

    /// Returns the origin of the filter with this number: a file, or `built in`.
    pub fn filter_origin(&self, id: u16) -> &str {
        self.filter_origins.get(&id).map_or(BUILT_IN, String::as_str)
    }

    /// Returns the origin of a connector: a file, or `built in`.
    pub fn origin(&self, connector: &str) -> &str {
        self.origins.get(connector).map_or(BUILT_IN, String::as_str)
    }

    /// Returns the origin of a layer: a file, or `built in`.
    pub fn layer_origin(&self, layer: &str) -> &str {
        self.layer_origins.get(layer).map_or(BUILT_IN, String::as_str)
    }

    /// Returns all connectors, in the order they were added.
    pub fn connectors(&self) -> impl Iterator<Item = &Arc<dyn Connector>> {
        self.order.iter().filter_map(|name| self.connectors.get(name))
    }

    /// Returns all layers, sorted by name.
    pub fn layers(&self) -> impl Iterator<Item = &Arc<dyn LayerFactory>> {
        self.layers.values()
    }

    /// Returns the connector with this name.
    ///
    /// # Errors
    /// Returns `NotFound` if there is none, and `Unsupported` if the program was built without it.
    pub fn by_name(&self, name: &str) -> Result<&Arc<dyn Connector>> {
        self.connectors.get(name).ok_or_else(|| self.missing("find connector", name, &self.order))
    }

    /// Returns the connector with this number.
    ///
    /// # Errors
    /// Returns `NotFound` if there is none.
    pub fn by_value(&self, value: u32) -> Result<&Arc<dyn Connector>> {
        let found = self.connectors().find(|c| c.info().value == value);
        found.ok_or_else(|| Error::not_found("find connector").with("value", value))
    }

    /// Returns the extensions of all connectors and layers.
    pub fn extensions(&self) -> impl Iterator<Item = ExtensionInfo> {
        let connectors = self.connectors.values().flat_map(|connector| connector.extensions());
        connectors.chain(self.layers.values().flat_map(|layer| layer.extensions())).copied()
    }

    /// Returns the access that a caller of an [optional operation](Container::optional) needs. It is `Write` for an
    /// operation that no connector and no layer declares.
    pub fn extension_access(&self, name: &str) -> Access {
        self.extensions().find(|known| known.name == name).map_or(Access::Write, |known| known.access)
    }

    /// Sets the account that is charged for all containers without an account of their own.
    pub fn set_budget(&mut self, budget: Budget) {
        self.budget = Some(budget);
    }

    /// Returns `access` with an account of memory that the connector, its layers and the containers they open share.
    fn with_account<'a>(&self, access: &'a FileAccess) -> Cow<'a, FileAccess> {
        if access.budget.is_some() {
            return Cow::Borrowed(access);
        }
        let budget = self.budget.clone().unwrap_or_else(|| access.limits.budget());
        Cow::Owned(access.clone().with_budget(budget))
    }

    /// Creates a container at a location. It is closed when the last `Arc` of it is dropped.
    ///
    /// # Errors
    /// Returns the error of [`Registry::check_create`], before anything is created or replaced, or of the connector.
    /// If a layer cannot be put over the new container, the container is removed.
    pub fn create(
        &self,
        location: &str,
        create: &FileCreate,
        access: &FileAccess,
        truncate: bool,
    ) -> Result<Arc<dyn Container>> {
        let access = &self.with_account(access);
        // Nothing is made or replaced for what cannot work.
        self.check_create(location, create, access, truncate)?;
        let stack = self.stack_of(access)?;
        let place = self.place(location);
        let op = self.creation(&place, create, access, truncate);
        let connector = self.creator(&place)?;
        let made = connector.create(&op).during(&format!("create {location}"))?;
        let how = Some(CreateInfo { create, truncate });
        let stacked = self.stacked(made.clone(), &stack, location, how, access).inspect_err(|_| {
            // What stood there is gone, and a container without its layers is not what was asked for. The error says more
            // than one about an empty container that stays.
            let _ = made.close();
            let _ = connector.delete(&self.container_open(&place, access));
        })?;
        Ok(handle(stacked, location, access, &self.registered.link_classes))
    }

    /// Checks whether [`Registry::create`] would succeed, as far as this can be known without creating or replacing
    /// anything: the location, the connector's own checks, and every layer of the stack with its parameters and
    /// targets.
    ///
    /// # Errors
    /// Returns the error that [`Registry::create`] would return.
    pub fn check_create(
        &self,
        location: &str,
        create: &FileCreate,
        access: &FileAccess,
        truncate: bool,
    ) -> Result<()> {
        let stack = self.stack_of(access)?;
        let place = self.place(location);
        let op = self.creation(&place, create, access, truncate);
        let connector = self.creator(&place)?;
        self.check_driver(&**connector, access).during(&format!("create {location}"))?;
        connector.check_create(&op).during(&format!("create {location}"))?;
        self.check_layers(&stack, location, Some(CreateInfo { create, truncate }), access)
    }

    /// Parses a location. An address such as `https://host/run.h5` is the path of a file whose driver knows the
    /// scheme.
    pub fn place(&self, location: &str) -> Location {
        match self.drivers.of_address(location) {
            Some(_) => Location { connector: None, engine: None, path: location.to_owned() },
            None => Location::parse(location),
        }
    }

    fn creation<'a>(
        &'a self,
        place: &'a Location,
        create: &'a FileCreate,
        access: &'a FileAccess,
        truncate: bool,
    ) -> ContainerCreate<'a> {
        let (path, engine) = (&*place.path, place.engine.as_deref());
        ContainerCreate { path, engine, create, access, truncate, registry: self }
    }

    fn container_open<'a>(&'a self, place: &'a Location, access: &'a FileAccess) -> ContainerOpen<'a> {
        ContainerOpen { path: &place.path, engine: place.engine.as_deref(), access, registry: self }
    }

    /// Returns the connector that creates a container at a location.
    fn creator(&self, place: &Location) -> Result<&Arc<dyn Connector>> {
        match &place.connector {
            Some(name) => self.by_name(name),
            None => self.connectors().next().ok_or_else(|| Error::not_found("find default connector")),
        }
    }

    fn check_layers(
        &self,
        stack: &Stack,
        location: &str,
        made: Option<CreateInfo<'_>>,
        access: &FileAccess,
    ) -> Result<()> {
        stack.0.iter().try_for_each(|entry| {
            let op = WrapCheck { location, parameters: &entry.parameters, made, access, registry: self };
            self.layer(&entry.name)?.check(&op).map_err(|e| e.during(format!("put {} over it", entry.name)))
        })
    }

    /// Opens a container at a location. Without a prefix, its content decides which connector opens it. It is closed
    /// when the last `Arc` of it is dropped.
    ///
    /// # Errors
    /// Returns `Invalid` if the stack of layers cannot be parsed, `NotFound` or `Unsupported` for an unknown
    /// connector, layer or driver, and otherwise the error of the connector or of a layer.
    pub fn open(&self, location: &str, access: &FileAccess) -> Result<Arc<dyn Container>> {
        let access = &self.with_account(access);
        let stack = self.stack_of(access)?;
        self.check_layers(&stack, location, None, access)?;
        let place = self.place(location);
        let op = self.container_open(&place, access);
        let opened = match &place.connector {
            Some(name) => {
                let connector = self.by_name(name)?;
                self.check_driver(&**connector, access).and_then(|()| connector.open(&op))
            }
            None => self.open_known(&op),
        };
        let opened = opened.map_err(|e| e.during(format!("open {location}")))?;
        let opened = crate::unfinished::with_warning(opened);
        let stacked = self.stacked(opened, &stack, location, None, access)?;
        Ok(handle(stacked, location, access, &self.registered.link_classes))
    }

    /// Opens a container with the first connector that knows it. If none does, the default connector opens it, and its
    /// error says what is wrong.
    fn open_known(&self, op: &ContainerOpen<'_>) -> Result<Arc<dyn Container>> {
        let has_driver = self.driver(op.access)?.is_some();
        for connector in self.connectors().filter(|connector| !has_driver || connector.uses_drivers()) {
            if let Some(container) = connector.open_known(op)? {
                return Ok(container);
            }
        }
        self.connectors().next().ok_or_else(|| Error::not_found("find default connector"))?.open(op)
    }

    /// Returns the file or folder that is exactly the container at a location, if there is one: renaming it moves the
    /// container.
    ///
    /// # Errors
    /// Returns `NotFound` or `Unsupported` if the location names an unknown connector.
    pub fn path_of(&self, location: &str) -> Result<Option<PathBuf>> {
        let place = self.place(location);
        let is_address = self.drivers.of_address(&place.path).is_some();
        let is_at_path = !is_address && self.creator(&place)?.is_at_path(place.engine.as_deref());
        Ok(is_at_path.then(|| to_path(place.path.trim_end_matches('/')).into_owned()))
    }

    /// Returns whether a connector knows the container at a location (`H5Fis_accessible`).
    ///
    /// # Errors
    /// Returns `NotFound` or `Unsupported` if the location names an unknown connector, and otherwise the error of
    /// looking at the storage.
    pub fn is_accessible(&self, location: &str, access: &FileAccess) -> Result<bool> {
        let place = self.place(location);
        self.connector_at(&place, access)?.is_accessible(&self.container_open(&place, access))
    }

    /// Removes a container. Anything else at the location is not removed.
    ///
    /// # Errors
    /// Returns the error of opening the container if no connector knows it, or the error of removing it.
    pub fn delete(&self, location: &str, access: &FileAccess) -> Result<()> {
        let place = self.place(location);
        let connector = self.connector_at(&place, access)?;
        let op = self.container_open(&place, access);
        // `H5Fdelete` leaves alone what it does not recognise, too.
        if !connector.is_accessible(&op)? {
            drop(self.open(location, access).during(&format!("delete {location}"))?);
        }
        connector.delete(&op)
    }

    /// Repairs a container whose writer died, and returns what was repaired; see [`Connector::recover`].
    ///
    /// # Errors
    /// Returns the error of the connector.
    pub fn recover(&self, location: &str, access: &FileAccess) -> Result<Vec<String>> {
        let access = &self.with_account(access);
        let place = self.place(location);
        self.connector_at(&place, access)?.recover(&self.container_open(&place, access))
    }

    /// Returns the connector that a location names, or the one whose container lies there.
    fn connector_at(&self, place: &Location, access: &FileAccess) -> Result<&Arc<dyn Connector>> {
        match &place.connector {
            Some(name) => self.by_name(name),
            None => self.recognise(place, access),
        }
    }

    /// Returns the connector whose container lies at `path`, or the default one if none knows it.
    fn recognise(&self, place: &Location, access: &FileAccess) -> Result<&Arc<dyn Connector>> {
        let op = self.container_open(place, access);
        for connector in self.connectors() {
            if connector.is_accessible(&op).unwrap_or(false) {
                return Ok(connector);
            }
        }
        self.connectors().next().ok_or_else(|| Error::not_found("find default connector"))
    }

    /// Puts the layers that the caller asked for over a container that was just created or opened.
    fn stacked(
        &self,
        container: Arc<dyn Container>,
        stack: &Stack,
        location: &str,
        made: Option<CreateInfo<'_>>,
        access: &FileAccess,
    ) -> Result<Arc<dyn Container>> {
        stack.0.iter().rev().try_fold(container, |inner, entry| {
            let parameters = &entry.parameters;
            let op = Wrap { inner, location, parameters, made, access, registry: self };
            self.layer(&entry.name)?.wrap(&op).map_err(|e| e.during(format!("put {} over it", entry.name)))
        })
    }

    fn stack_of(&self, access: &FileAccess) -> Result<Stack> {
        access.stack.as_deref().map_or(Ok(Stack::default()), |stack| self.check_stack(stack))
    }

    /// Parses a stack and checks that all its layers are registered.
    ///
    /// # Errors
    /// Returns `Invalid` if the stack cannot be parsed, `NotFound` for an unknown layer, and `Unsupported` for one
    /// that the program was built without.
    pub fn check_stack(&self, stack: &str) -> Result<Stack> {
        let stack = Stack::parse(stack)?;
        stack.0.iter().try_for_each(|entry| self.layer(&entry.name).map(drop))?;
        Ok(stack)
    }

    /// Returns the layer with this name.
    ///
    /// # Errors
    /// Returns `NotFound` if there is none, and `Unsupported` if the program was built without it.
    pub fn layer(&self, name: &str) -> Result<&Arc<dyn LayerFactory>> {
        self.layers.get(name).ok_or_else(|| {
            let known: Vec<_> = self.layers.keys().copied().collect();
            self.missing("find layer", name, &known)
        })
    }
}
