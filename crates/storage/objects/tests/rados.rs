//! The contract on a Ceph cluster: `scripts/ceph up DIR` starts one, and `HYPERSLAB_CEPH_CONF` says where it is.

mod suite;

use std::path::Path;
use std::process::ExitCode;
use std::sync::{Arc, OnceLock};

use hyperslab_objects::{Pool, rados};

fn pool() -> Arc<dyn Pool> {
    static POOL: OnceLock<Arc<dyn Pool>> = OnceLock::new();
    let connect = || {
        let conf = std::env::var_os("HYPERSLAB_CEPH_CONF").unwrap();
        // Heads with few keys, so that some tests come to shards.
        rados::pool_with_heads_of("p3", Some(Path::new(&conf)), 1_000).unwrap()
    };
    POOL.get_or_init(connect).clone()
}

fn main() -> ExitCode {
    if std::env::var_os("HYPERSLAB_CEPH_CONF").is_none() {
        println!(
            "SKIPPED: the engine on Ceph, because HYPERSLAB_CEPH_CONF names no cluster (scripts/ceph up DIR)"
        );
        return ExitCode::SUCCESS;
    }
    suite::run("rados", pool)
}
