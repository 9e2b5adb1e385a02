//! Several nodes in front of one store: clients go on when one ends, and everything they did is there once.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use hyperslab_server::{Config, Listen, Server};
use model::datatype::ByteOrder;
use model::properties::{FileCreate, ObjectCreate};
use model::{Dataspace, Datatype, Kind, LinkTarget, Selection, Token};
use vol::*;

use crate::common::raw::Raw;
use crate::common::{
    bytes_dataset, clients, group, in_folder, leasing_nodes, location_of, node, shared_storage,
};
use crate::proxy::{Proxy, Trouble};

pub(crate) fn create(location: &str) -> std::sync::Arc<dyn Container> {
    clients().create(location, &FileCreate::default(), &FileAccess::write(), false).unwrap()
}

fn write(container: &dyn Container, dataset: Token, bytes: &[u8]) {
    container.dataset_write(&[OpWrite { dataset, selection: &Selection::All, from: bytes }]).unwrap();
}

fn read(container: &dyn Container, dataset: Token, count: usize) -> Vec<u8> {
    let mut bytes = vec![0; count];
    container.dataset_read(&mut [OpRead { dataset, selection: &Selection::All, into: &mut bytes }]).unwrap();
    bytes
}

fn attribute(object: Token, name: &str) -> OpAttributeCreate {
    OpAttributeCreate {
        object,
        name: name.into(),
        charset: model::CharacterSet::Ascii,
        datatype: Datatype::integer(4, false, ByteOrder::Little),
        committed: None,
        space: Dataspace::Scalar,
    }
}

#[test]
fn clients_go_on_at_another_node_with_everything_that_was_answered() {
    let storage = shared_storage();
    let mut servers = vec![Server::start(&node(&storage)).unwrap(), Server::start(&node(&storage)).unwrap()];
    let location = location_of(&[&servers[0], &servers[1]], "a?node=0");
    let container = create(&location);
    let root = container.info().unwrap().root;
    let data = bytes_dataset(&*container, "data", 8).unwrap();
    container.retain(data).unwrap();
    write(&*container, data, b"not yet!");
    container.attribute_create(&attribute(data, "count")).unwrap();
    container.attribute_write(data, "count", &7u32.to_le_bytes()).unwrap();
    drop(servers.remove(0));
    assert_eq!(read(&*container, data, 8), b"not yet!");
    assert_eq!(container.attribute_read(data, &["count"]).unwrap(), [7u32.to_le_bytes()]);
    container
        .link_create(&OpLinkCreate {
            place: LinkLocation::new(root, "again"),
            target: LinkTarget::Hard(data),
        })
        .unwrap();
    container.release(data).unwrap();
    container.commit(Durability::Full).unwrap();
    assert_eq!(container.object_info(data).unwrap().references, 2);
    assert!(container.storage_check().unwrap().is_empty());
    container.close().unwrap();
}

#[test]
fn a_container_that_servers_cannot_share_is_refused() {
    let (first, _folder) = in_folder().unwrap();
    let (second, _other) = in_folder().unwrap();
    let location = location_of(&[&first, &second], "a.h5");
    let error = clients()
        .create(&location, &FileCreate::default(), &FileAccess::write(), false)
        .map(drop)
        .unwrap_err();
    assert_eq!(error.kind(), Kind::Unsupported);
    assert!(error.to_string().contains("object+rados"), "{error}");
}

#[test]
fn a_name_does_not_say_how_the_store_is_reached() {
    let server = Server::start(&node(&shared_storage())).unwrap();
    let mut raw = Raw::connect(match *server.listen() {
        Listen::Tcp(address) => address,
        Listen::Unix(_) => panic!("not TCP"),
    })
    .unwrap();
    raw.hello(None).unwrap();
    for name in ["a?conf=/etc/other", "a\\sessions"] {
        let error = raw.open(name, &FileAccess::read(), false).unwrap_err();
        assert_eq!(error.kind(), Kind::Denied, "{name}");
    }
}

#[test]
fn a_node_that_does_not_answer_is_left_out() {
    let storage = shared_storage();
    let server = Server::start(&node(&storage)).unwrap();
    let gone = Server::start(&node(&storage)).unwrap();
    let location = location_of(&[&gone, &server], "a?node=0");
    drop(gone);
    create(&location).close().unwrap();
    assert!(clients().is_accessible(&location, &FileAccess::read()).unwrap());
    clients().delete(&location, &FileAccess::write()).unwrap();
    let error = clients().open(&location, &FileAccess::read()).map(drop).unwrap_err();
    assert_eq!(error.kind(), Kind::NotFound, "{error}");
}

#[test]
fn clients_spread_over_nodes() {
    let storage = shared_storage();
    let servers: Vec<Server> = (0..2).map(|_| Server::start(&node(&storage)).unwrap()).collect();
    let location = location_of(&[&servers[0], &servers[1]], "a");
    create(&location).close().unwrap();
    let open: Vec<_> = (0..64).map(|_| clients().open(&location, &FileAccess::read()).unwrap()).collect();
    for server in &servers {
        let metrics = server.metrics();
        let count = metrics.lines().find_map(|line| line.strip_prefix("hyperslab_sessions ")).unwrap();
        // Less than a quarter on one side has odds of one in a hundred thousand.
        assert!((16..=48).contains(&count.parse::<u32>().unwrap()), "{count} of {}", open.len());
    }
}

#[test]
fn changes_beyond_the_budget_are_stored_on_the_way() {
    let storage = shared_storage();
    let servers: Vec<Server> = (0..2).map(|_| Server::start(&node(&storage)).unwrap()).collect();
    let location = location_of(&[&servers[0], &servers[1]], "a?node=0&kept=1");
    let container = create(&location);
    let data = bytes_dataset(&*container, "data", 300 << 10).unwrap();
    for round in 0..20u8 {
        write(&*container, data, &vec![round; 300 << 10]);
    }
    let commits = "hyperslab_operations_total{operation=\"commit\"} ";
    let metrics = servers[0].metrics();
    let count: u32 = metrics.lines().find_map(|line| line.strip_prefix(commits)).unwrap().parse().unwrap();
    assert_eq!(count, 6, "three writes have space");
    container.close().unwrap();
}

/// One writer: objects, links, attributes, pairs, elements and removals, all of which carry its number.
pub(crate) fn load(container: &dyn Container, writer: u32, ended: &AtomicBool, done: &AtomicU32) -> u32 {
    let root = container.info().unwrap().root;
    let own = container.group_create(&group(root, &format!("writer{writer}"))).unwrap();
    let name = |kind: &str, round: u32| format!("{kind}{round:05}");
    let map = OpMapCreate {
        place: Some(LinkLocation::new(own, "map")),
        key: Datatype::integer(4, false, ByteOrder::Little),
        value: Datatype::integer(4, false, ByteOrder::Little),
        create: ObjectCreate::default(),
    };
    let map = container.map_create(&map).unwrap();
    let mut round = 0;
    while !ended.load(Ordering::Relaxed) || round < 20 {
        let bytes: Vec<u8> = (round..round + 64).flat_map(|n| (n ^ writer << 16).to_le_bytes()).collect();
        let place = |name: String| LinkLocation::new(own, name);
        let data = container
            .dataset_create(&OpDatasetCreate {
                place: Some(place(name("data", round))),
                datatype: Datatype::integer(1, false, ByteOrder::Little),
                committed: None,
                space: Dataspace::simple(&[256]).unwrap(),
                create: Default::default(),
            })
            .unwrap();
        write(container, data, &bytes);
        container.attribute_create(&attribute(data, "round")).unwrap();
        container.attribute_write(data, "round", &round.to_le_bytes()).unwrap();
        container.map_put(map, &[(&round.to_le_bytes(), &round.to_le_bytes())]).unwrap();
        let target = LinkTarget::Hard(data);
        container.link_create(&OpLinkCreate { place: place(name("link", round)), target }).unwrap();
        if round % 3 == 0 {
            let to = place(name("moved", round));
            let from = (own, name("link", round));
            container.link_move(&OpLinkMove { from: from.0, name: from.1, to, copy: false }).unwrap();
        }
        if round % 3 == 1 {
            container.link_delete(own, &name("data", round)).unwrap();
            container.link_delete(own, &name("link", round)).unwrap();
            assert!(container.map_delete(map, &round.to_le_bytes()).unwrap());
        }
        if round % 3 == 2 {
            container.attribute_rename(data, "round", "number").unwrap();
        }
        if round % 5 == 0 {
            container.commit(Durability::Full).unwrap();
        }
        round += 1;
        done.store(round, Ordering::Relaxed);
    }
    container.commit(Durability::Full).unwrap();
    round
}

/// Everything that [`load`] made is there once, and nothing else.
pub(crate) fn verify(container: &dyn Container, writer: u32, rounds: u32) {
    let found = |path: String| {
        let op = OpLookup { from: container.info().unwrap().root, path, traversals_max: 16 };
        match container.lookup(&op).unwrap() {
            Lookup::Object(token) => token,
            other => panic!("{other:?}"),
        }
    };
    let own = found(format!("writer{writer}"));
    let all = OpList { count_max: 1 << 20, ..OpList::default() };
    let links = container.link_list(own, &all).unwrap().entries;
    let links: BTreeMap<String, LinkTarget> =
        links.into_iter().map(|link| (link.name, link.target)).collect();
    let mut expected = vec!["map".to_owned()];
    for round in (0..rounds).filter(|round| round % 3 != 1) {
        let (data, second) = (format!("data{round:05}"), if round % 3 == 0 { "moved" } else { "link" });
        let second = format!("{second}{round:05}");
        assert_eq!(links.get(&data), links.get(&second), "{data}");
        let Some(LinkTarget::Hard(object)) = links.get(&data) else { panic!("{data} is missing") };
        let bytes: Vec<u8> = (round..round + 64).flat_map(|n| (n ^ writer << 16).to_le_bytes()).collect();
        assert_eq!(read(container, *object, 256), bytes, "{data}");
        let info = container.object_info(*object).unwrap();
        assert_eq!((info.references, info.attributes), (2, 1), "{data}");
        let attribute = if round % 3 == 0 { "round" } else { "number" };
        assert_eq!(container.attribute_read(*object, &[attribute]).unwrap(), [round.to_le_bytes()]);
        expected.extend([data, second]);
    }
    expected.sort();
    assert_eq!(links.keys().cloned().collect::<Vec<_>>(), expected);
    let Some(LinkTarget::Hard(map)) = links.get("map") else { panic!("no map") };
    let keys: Vec<[u8; 4]> = (0..rounds).map(u32::to_le_bytes).collect();
    let keys: Vec<&[u8]> = keys.iter().map(|key| &key[..]).collect();
    for (round, value) in (0..).zip(container.map_get(*map, &keys).unwrap()) {
        let expected = (round % 3 != 1).then(|| u32::to_le_bytes(round).to_vec());
        assert_eq!(value, expected, "pair {round}");
    }
}

/// Two nodes, of which one after the other ends and comes back under four writers.
fn check_nodes_that_end(nodes: &[Config; 2]) {
    let start = |node: usize| Server::start(&nodes[node]).unwrap();
    let (first, second) = (start(0), start(1));
    let location = location_of(&[&first, &second], "a");
    create(&location).close().unwrap();
    let ended = AtomicBool::new(false);
    let rounds: Vec<u32> = std::thread::scope(|scope| {
        let writers: Vec<_> = (0..4)
            .map(|writer| {
                let (location, ended) = (&location, &ended);
                scope.spawn(move || {
                    let container = clients().open(location, &FileAccess::write()).unwrap();
                    let rounds = load(&*container, writer, ended, &AtomicU32::new(0));
                    container.close().unwrap();
                    rounds
                })
            })
            .collect();
        let mut servers = [Some(first), Some(second)];
        for turn in 0..6 {
            std::thread::sleep(std::time::Duration::from_millis(150));
            let ends = servers[turn % 2].take().unwrap();
            let listen = ends.listen().clone();
            drop(ends);
            std::thread::sleep(std::time::Duration::from_millis(50));
            let again = Config { listen, ..nodes[turn % 2].clone() };
            let server = std::iter::repeat_with(|| Server::start(&again)).find_map(std::result::Result::ok);
            servers[turn % 2] = server;
        }
        ended.store(true, Ordering::Relaxed);
        writers.into_iter().map(|writer| writer.join().unwrap()).collect()
    });
    let server = start(0);
    let container = clients().open(&server.location("a"), &FileAccess::write()).unwrap();
    for (writer, rounds) in (0..).zip(rounds) {
        verify(&*container, writer, rounds);
    }
    assert_eq!(container.storage_check().unwrap(), []);
}

#[test]
fn nodes_that_end_and_connections_that_break_do_nothing_twice() {
    let storage = shared_storage();
    check_nodes_that_end(&[node(&storage), node(&storage)]);
}

#[test]
fn nodes_of_which_one_writes_may_end_and_do_nothing_twice() {
    check_nodes_that_end(&leasing_nodes());
}

/// All clients of a container find the node that writes to it; another one does when that ended.
#[test]
fn clients_go_to_the_node_that_writes() {
    let nodes: [Config; 2] = leasing_nodes();
    let (first, second) = (Server::start(&nodes[0]).unwrap(), Server::start(&nodes[1]).unwrap());
    let at = |name: &str, node: usize| format!("{}?node={node}", location_of(&[&first, &second], name));
    let (a, b) = (create(&at("a", 0)), create(&at("b", 1)));
    let data = bytes_dataset(&*a, "data", 4).unwrap();
    let again = clients().open(&at("a", 1), &FileAccess::write()).unwrap();
    write(&*again, data, b"both");
    assert_eq!(read(&*a, data, 4), b"both");
    // What is not committed is made again at the next node, over what others wrote meanwhile.
    again.commit(Durability::Full).unwrap();
    bytes_dataset(&*b, "data", 4).unwrap();
    let refused = clients().delete(&second.location("a"), &FileAccess::write()).unwrap_err();
    assert_eq!(refused.kind(), Kind::Busy, "{refused}");
    drop(first);
    write(&*a, data, b"next");
    assert_eq!(read(&*again, data, 4), b"next");
    for container in [a, again, b] {
        container.commit(Durability::Full).unwrap();
        assert!(container.storage_check().unwrap().is_empty());
        container.close().unwrap();
    }
}

#[test]
fn broken_connections_to_nodes_do_nothing_twice() {
    let storage = shared_storage();
    let servers: Vec<Server> = (0..2).map(|_| Server::start(&node(&storage)).unwrap()).collect();
    let proxies: Vec<Proxy> = servers
        .iter()
        .map(|server| Proxy::start(server.listen(), Trouble::Cut { bytes: 6_000 }).unwrap())
        .collect();
    let address = |proxy: &Proxy| proxy.location("").replace("h5s://", "").trim_end_matches('/').to_owned();
    let location = format!("h5s://{},{}/a", address(&proxies[0]), address(&proxies[1]));
    let container = create(&location);
    let rounds = load(&*container, 3, &AtomicBool::new(true), &AtomicU32::new(0));
    verify(&*container, 3, rounds);
    container.close().unwrap();
    assert!(proxies.iter().any(|proxy| proxy.broken() > 0));
}
