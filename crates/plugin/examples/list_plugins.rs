//! Says which plugins are along `HDF5_PLUGIN_PATH`, and what was passed over.

use hyperslab_plugin::SearchPath;
use vol::Registry;

fn main() {
    let mut registry = Registry::new();
    let path = SearchPath::parse(std::env::var_os("HDF5_PLUGIN_PATH").unwrap_or_default());
    for skipped in path.register_all(&mut registry).skipped {
        eprintln!("{}: {}", skipped.path.display(), skipped.why);
    }
    for connector in registry.connectors() {
        let info = connector.info();
        println!("{} {}: {} ({})", info.name, info.value, info.about, registry.origin(info.name));
    }
    for layer in registry.layers() {
        let info = layer.info();
        println!("{} {}: {} ({})", info.name, info.value, info.about, registry.layer_origin(info.name));
    }
}
