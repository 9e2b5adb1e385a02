//! One container behind a server that several processes write together; threads stand for them.

use std::sync::Arc;

use crate::common::{Folder, bytes_dataset, clients, storage};
use comm::Comm;
use hyperslab_server::{Auth, Config, Server};
use model::properties::FileCreate;
use model::{Kind, Selection};
use vol::{Durability, FileAccess, Lookup, OpLookup, OpRead, OpWrite, Registry, Result};

const RANKS: usize = 3;

/// What one process knows.
fn registry(comm: &Arc<dyn Comm>) -> Registry {
    clients().with_connectors(|connector| parallel::shared_connector(connector, comm.clone()))
}

pub(crate) fn on_ranks<T: Send>(program: impl Fn(Arc<dyn Comm>) -> T + Sync) -> Vec<T> {
    std::thread::scope(|scope| {
        let program = &program;
        let ranks = comm::threads(RANKS).into_iter().map(|comm| scope.spawn(move || program(Arc::new(comm))));
        let ranks: Vec<_> = ranks.collect();
        ranks.into_iter().map(|rank| rank.join().expect("a rank panicked")).collect()
    })
}

pub(crate) fn write(comm: &Arc<dyn Comm>, location: &str) -> Result<()> {
    let rank = comm.rank() as u64;
    let access = FileAccess::write();
    let container = registry(comm).create(location, &FileCreate::default(), &access, true)?;
    // Rank 0 creates it, and all know it.
    let data = bytes_dataset(&*container, "data", 10 * RANKS as u64)?;
    let own = Selection::block(&[10 * rank], &[10])?;
    let values = [rank as u8 + 1; 10];
    let together = container.collective().expect("several processes have it open");
    together.write_all(&[OpWrite { dataset: data, selection: &own, from: &values }])?;
    if protocol::has_several_nodes(location.trim_start_matches("h5s://")) {
        // Each rank may have another server: a commit shows what was written to the others.
        container.commit(Durability::Full)?;
    }
    let mut all = [0; 10 * RANKS];
    together.read_all(&mut [OpRead { dataset: data, selection: &Selection::All, into: &mut all }])?;
    assert_eq!(all.map(usize::from), std::array::from_fn(|n| n / 10 + 1));
    // Alone, without a word.
    container.dataset_write(&[OpWrite { dataset: data, selection: &own, from: &[rank as u8 + 7; 10] }])?;
    container.commit(Durability::Full)?;
    container.close()
}

pub(crate) fn check(location: &str) -> Result<()> {
    let container = clients().open(location, &FileAccess::read())?;
    let found = container.lookup(&OpLookup {
        from: container.info()?.root,
        path: "data".into(),
        traversals_max: 16,
    })?;
    let Lookup::Object(token) = found else { panic!("{found:?}") };
    let mut all = [0; 10 * RANKS];
    container.dataset_read(&mut [OpRead { dataset: token, selection: &Selection::All, into: &mut all }])?;
    assert_eq!(all.map(usize::from), std::array::from_fn(|n| n / 10 + 7));
    container.close()
}

#[test]
fn ranks_write_one_container_behind_a_server() {
    for stack in [None, Some("object:"), Some("iod:")] {
        let folder = Folder::new("server");
        let stack = stack.map(str::to_owned);
        let config = Config { auth: Auth::Off, stack, ..Config::local(storage(), folder.path()) };
        let server = Server::start(&config).unwrap();
        let location = server.location("shared");
        on_ranks(|comm| write(&comm, &location)).into_iter().for_each(|done| done.unwrap());
        check(&location).unwrap();
    }
}

#[test]
fn ranks_write_one_container_through_several_nodes() {
    let storage = crate::common::shared_storage();
    let servers: Vec<Server> =
        (0..2).map(|_| Server::start(&crate::common::node(&storage)).unwrap()).collect();
    let location = crate::common::location_of(&[&servers[0], &servers[1]], "shared");
    on_ranks(|comm| write(&comm, &location)).into_iter().for_each(|done| done.unwrap());
    check(&location).unwrap();
}

#[test]
fn what_one_rank_alone_would_see_is_refused() {
    let (server, _folder) = crate::common::in_folder().unwrap();
    let location = format!("{}?pipeline=yes", server.location("a.h5"));
    let create = |comm| {
        registry(&comm).create(&location, &FileCreate::default(), &FileAccess::write(), true).map(drop)
    };
    for done in on_ranks(create) {
        assert_eq!(done.unwrap_err().kind(), Kind::Unsupported);
    }
}
