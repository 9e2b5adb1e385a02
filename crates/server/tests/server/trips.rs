//! Small calls cost one round trip, and a failed create leaves nothing behind.

use crate::common::{clients, group, in_folder, in_memory};
use hyperslab_server::Server;
use model::Kind;
use model::properties::FileCreate;
use vol::FileAccess;

/// Operations that the server ran so far.
fn ran(server: &Server) -> u64 {
    let text = server.metrics();
    let line = text.lines().find_map(|line| line.strip_prefix("hyperslab_operation_seconds_count "));
    line.and_then(|count| count.parse().ok()).expect("a count")
}

#[test]
fn a_small_call_is_one_operation_on_a_connection_that_is_there() {
    let server = Server::start(&in_memory()).unwrap();
    let container =
        clients().create(&server.location("a"), &FileCreate::default(), &FileAccess::write(), false).unwrap();
    let root = container.info().unwrap().root;
    let before = ran(&server);
    for name in ["a", "b", "c"] {
        container.group_create(&group(root, name)).unwrap();
        container.link_get(root, name).unwrap();
    }
    assert_eq!(ran(&server) - before, 6);
    assert!(server.metrics().contains("hyperslab_connections_total 1\n"), "{}", server.metrics());
}

#[test]
fn a_container_that_could_not_be_made_is_not_there() {
    let (server, folder) = in_folder().unwrap();
    let create = FileCreate { offset_bytes: 3, ..FileCreate::default() };
    let made = clients().create(&server.location("a.h5"), &create, &FileAccess::write(), false);
    assert_eq!(made.map(drop).unwrap_err().kind(), Kind::Unsupported);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}
