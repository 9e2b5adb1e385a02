//! The native connector: the HDF5 file format.
