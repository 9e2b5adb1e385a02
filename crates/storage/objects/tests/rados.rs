//! The contract on a Ceph cluster: `scripts/ceph up DIR` starts one, and `HYPERSLAB_CEPH_CONF` says where it is.

mod suite;

use std::path::Path;
use std::process::ExitCode;
use std::sync::{Arc, OnceLock};

use hyperslab_objects::{Pool, rados};
use libtest_mimic::{Arguments, Trial};

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
        eprintln!(
            "SKIPPED: the engine on Ceph, because HYPERSLAB_CEPH_CONF names no cluster (scripts/ceph up DIR)"
        );
        let skipped = Trial::test("rados::skipped_without_a_cluster", || Ok(())).with_ignored_flag(true);
        return libtest_mimic::run(&Arguments::from_args(), vec![skipped]).exit_code();
    }
    suite::run("rados", pool)
}
