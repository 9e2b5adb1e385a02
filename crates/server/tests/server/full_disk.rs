//! A disk that is full at every page of a workload, behind a server: the client hears of it, the container is the old one
//! or the new one, and work goes on.

use hyperslab_server::{Config, Server};
use testkit::full::{FullDisk, SmallDisk};

#[test]
fn a_full_disk_of_a_server_leaves_what_was_or_what_is_to_be() {
    let disk = SmallDisk::new("server", 4 << 20);
    let server = Server::start(&Config::local(crate::common::storage(), disk.path())).unwrap();
    let (registry, location) = (crate::common::clients(), server.location("c.h5"));
    let full = FullDisk { registry: &registry, location: &location, disk: &disk, is_atomic: true };
    full.assert_nothing_is_lost();
}
