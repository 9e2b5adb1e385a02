//! Virtual file drivers: a byte plane under the native connector.
