//! The memory connector as a plugin: what has every capability shows that all of it passes the boundary.

hyperslab_plugin::export!(memory::MemoryConnector::new());
