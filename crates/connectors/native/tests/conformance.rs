//! The conformance suite on the native connector: one test for each behaviour, each in an HDF5 file of its own; and the same
//! on files of several members.

use std::path::PathBuf;
use std::sync::Arc;

use hyperslab_native::NativeConnector;
use testkit::{Subject, conformance};
use vol::{FileAccess, Registry, Result};

/// A folder that goes with the subject that uses it.
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

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
    static NEXT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
    let number = NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    let folder = std::env::temp_dir().join(format!("hyperslab-conformance-{}-{number}", std::process::id()));
    std::fs::create_dir_all(&folder).map_err(|e| vol::Error::io("make folder", &e))?;
    let mut registry = Registry::new();
    registry.register(Arc::new(NativeConnector))?;
    let place = folder.clone();
    let location = move |name: &str| format!("native:{}", place.join(format!("{name}.h5")).display());
    Ok(Subject::new(name, registry, location).with_access(access).keeping(Folder(folder)))
}

fn main() {
    let arguments = libtest_mimic::Arguments::from_args();
    let mut trials = conformance::trials("native", native);
    trials.extend(conformance::trials("split", split));
    trials.extend(conformance::trials("multi", multi));
    libtest_mimic::run(&arguments, trials).exit();
}
