//! HDF5 filters, one file each.
