//! Derives `hyperslab::H5Type`.
