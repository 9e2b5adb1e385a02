//! Opening what the user named on the command line.

use std::path::Path;
use std::sync::Arc;

use hyperslab::vol::{Container, FileAccess};
use hyperslab::{FolderResolver, Result, registry};

/// Opens a location to read it. Files that it refers to are opened from its own folder only.
pub(crate) fn open(location: &str, driver: Option<&str>) -> Result<Arc<dyn Container>> {
    let registry = registry();
    let folder = Path::new(location).parent().unwrap_or(Path::new(""));
    let mut access = FileAccess::read();
    if let Ok(resolver) = FolderResolver::new(folder, registry.clone()) {
        access = access.with_resolver(resolver);
    }
    access.driver = driver.map(str::to_owned);
    registry.open(location, &access)
}
