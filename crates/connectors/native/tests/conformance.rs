//! The conformance suite on the native connector: one test for each behaviour, each in an HDF5 file of its own; and the same
//! on files of several members.

use std::sync::Arc;

use hyperslab_native::NativeConnector;
use testkit::{Folder, Subject, conformance};
use vol::{FileAccess, Registry, Result};

fn native() -> Result<Subject> {
    subject("native", FileAccess::write())
}

fn split() -> Result<Subject> {
    subject("native on split files", FileAccess::write().with_driver("split"))
}

fn multi() -> Result<Subject> {
    subject("native on multi files", FileAccess::write().with_driver("multi"))
}

fn subject(name: &'static str, access: FileAccess) -> Result<Subject> {
    let folder = Folder::new("conformance");
    let mut registry = Registry::new();
    registry.register(Arc::new(NativeConnector))?;
    let place = folder.path().to_owned();
    let location = move |name: &str| format!("native:{}", place.join(format!("{name}.h5")).display());
    Ok(Subject::new(name, registry, location).with_access(access).keeping(folder))
}

fn main() {
    let arguments = libtest_mimic::Arguments::from_args();
    let mut trials = conformance::trials("native", native);
    trials.extend(conformance::trials("split", split));
    trials.extend(conformance::trials("multi", multi));
    libtest_mimic::run(&arguments, trials).exit();
}
