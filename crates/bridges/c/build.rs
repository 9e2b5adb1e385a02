//! Gives the shared library the name that programs record which are linked with it: they find it under that name, whatever
//! name they linked (`libhdf5.so` is a link to it), and a copy that is preloaded is the same library to them.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_OS").as_deref() == Ok("linux") {
        println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libhyperslab_hdf5.so");
    }
}
