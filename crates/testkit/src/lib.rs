//! The conformance suite that every connector runs, and generators.
