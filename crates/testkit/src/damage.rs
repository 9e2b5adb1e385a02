//! Containers that make no sense: one to spoil, ways to spoil it, and a look at all that is left.

use model::datatype::ReferenceKind;
use model::properties::{CreationOrder, DatasetCreate, FilterSpec, GroupCreate, Layout, ObjectCreate};
use model::{CharacterSet, Dataspace, Datatype, Error, Index, LinkTarget, ObjectKind, Result, Selection};
use vol::{
    Container, LinkLocation, OpAttributeCreate, OpDatasetCreate, OpGroupCreate, OpLinkCreate, OpList,
    OpMapCreate, OpRead,
};

use crate::generate::Generator;
use crate::ints::{dataset, int, write};

fn lost() -> Error {
    Error::not_found("find what was just made")
}

/// One object of every kind.
pub fn sample(c: &dyn Container) -> Result<()> {
    let root = c.info()?.root;
    let object = ObjectCreate { attribute_order: CreationOrder::Tracked, ..ObjectCreate::default() };
    let create = GroupCreate { link_order: CreationOrder::Tracked, object, ..GroupCreate::default() };
    let group = c.group_create(&OpGroupCreate { place: Some(LinkLocation::new(root, "g")), create })?;
    let soft = LinkTarget::Soft("/g".into());
    c.link_create(&OpLinkCreate { place: LinkLocation::new(group, "soft"), target: soft })?;
    let external = LinkTarget::External { file: "f".into(), path: "/x".into() };
    c.link_create(&OpLinkCreate { place: LinkLocation::new(group, "external"), target: external })?;
    for (name, datatype) in [
        ("ints", int()),
        ("texts", Datatype::var_string(CharacterSet::Utf8)),
        ("refs", Datatype::reference(ReferenceKind::Object)),
    ] {
        let space = Dataspace::simple(&[3])?;
        let (name, charset) = (name.to_owned(), CharacterSet::Ascii);
        let op = OpAttributeCreate { object: group, name, charset, datatype, committed: None, space };
        c.attribute_create(&op)?;
        let datatype = &c.attribute_info(group, &op.name)?.ok_or_else(lost)?.datatype;
        c.attribute_write(group, &op.name, &element(c, datatype, group)?.repeat(3))?;
    }
    let data = dataset(c, LinkLocation::new(group, "d"), &[10, 4], &[4, 4])?;
    write(c, data, &(0..40).collect::<Vec<_>>())?;
    let mut create = DatasetCreate { layout: Layout::chunked(&[8]), ..Default::default() };
    let shuffle = FilterSpec { id: 2, name: None, optional: false, values: vec![] };
    create.filters.push(shuffle);
    let space = Dataspace::simple(&[20])?;
    let place = Some(LinkLocation::new(group, "filtered"));
    let op = OpDatasetCreate { place, datatype: int(), committed: None, space, create };
    let filtered = c.dataset_create(&op)?;
    write(c, filtered, &[5; 20])?;
    let place = Some(LinkLocation::new(group, "map"));
    let create = ObjectCreate::default();
    let map = c.map_create(&OpMapCreate { place, key: int(), value: int(), create })?;
    c.map_put(map, &[(&[1; 4], &[2; 4])])?;
    Ok(())
}

/// Returns an element in the file datatype: a text that is stored, a reference to an object, or ones.
fn element(c: &dyn Container, datatype: &Datatype, object: model::Token) -> Result<Vec<u8>> {
    let text = b"a value";
    match datatype {
        Datatype::Reference(_) => {
            let slots = c.reference_put(ReferenceKind::Object, &[model::Reference::object(object)])?;
            slots.into_iter().next().ok_or_else(lost)
        }
        datatype if datatype.has_descriptors() => {
            Ok([&(text.len() as u32).to_le_bytes()[..], &c.blob_put(&[text])?].concat())
        }
        datatype => Ok(vec![1; datatype.size() as usize]),
    }
}

/// Looks at everything; errors are answers.
pub fn look(c: &dyn Container) -> Result<()> {
    let mut queue = vec![c.info()?.root];
    for _ in 0..100 {
        let Some(token) = queue.pop() else { break };
        let Ok(info) = c.object_info(token) else { continue };
        let all = OpList { count_max: 1000, ..OpList::default() };
        if let Ok(page) = c.attribute_list(token, &all) {
            page.entries.iter().for_each(|info| drop(c.attribute_read(token, &[&info.name])));
        }
        match info.kind {
            ObjectKind::Group => {
                let _ =
                    (c.group_info(token), c.link_list(token, &OpList { index: Index::CreationOrder, ..all }));
                let links = c.link_list(token, &all).map_or_else(|_| Vec::new(), |page| page.entries);
                queue.extend(links.iter().filter_map(|link| match link.target {
                    LinkTarget::Hard(token) => Some(token),
                    _ => None,
                }));
            }
            ObjectKind::Dataset => {
                let Ok(info) = c.dataset_info(token) else { continue };
                let _ = (c.dataset_storage(token), c.chunk_list(token, 0, 100));
                let bytes = info
                    .space
                    .element_count()
                    .unwrap_or(u64::MAX)
                    .saturating_mul(info.datatype.size().into());
                if bytes < 1 << 20 {
                    let mut into = vec![0; bytes as usize];
                    let _ = c.dataset_read(&mut [OpRead {
                        dataset: token,
                        selection: &Selection::All,
                        into: &mut into,
                    }]);
                }
            }
            ObjectKind::Datatype => drop(c.datatype_get(token)),
            ObjectKind::Map => {
                let keys = c.map_keys(token, None, 10).map_or_else(|_| Vec::new(), |page| page.entries);
                keys.iter().for_each(|key| drop(c.map_get(token, &[key])));
                let _ = c.map_info(token);
            }
        }
    }
    let _ = (c.storage_check(), c.storage_show());
    Ok(())
}

/// Returns a value that is another one: cut, longer, empty, or with some other bytes.
pub fn mutated(value: &[u8], generator: &mut Generator) -> Vec<u8> {
    let mut value = value.to_vec();
    match generator.below(6) {
        0 => value.truncate(generator.below(value.len() as u64 + 1) as usize),
        1 => value.extend([0xff; 5]),
        2 => value.clear(),
        _ => {
            for _ in 0..=generator.below(3) {
                if !value.is_empty() {
                    let at = generator.below(value.len() as u64) as usize;
                    let choices = [0, 1, 0x7f, 0x80, 0xff, generator.below(256) as u8];
                    value[at] = choices[generator.below(6) as usize];
                }
            }
        }
    }
    value
}

/// Returns a text that is another one: a number, a word or a bracket of it is replaced, doubled or removed, or it nests deeply.
pub fn mutated_text(text: &str, generator: &mut Generator) -> Vec<u8> {
    const NUMBERS: [&str; 6] =
        ["0", "-1", "18446744073709551615", "1e999", "4294967296", "99999999999999999999"];
    let mut starts: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
    starts.push(text.len());
    let from = starts[generator.below(starts.len() as u64) as usize];
    let is_same = |c: char| {
        text[from..].starts_with(|first: char| first.is_ascii_alphanumeric() == c.is_ascii_alphanumeric())
    };
    let to = text[from..].find(|c: char| !is_same(c)).map_or(text.len(), |len| from + len);
    let (head, word, tail) = (&text[..from], &text[from..to], &text[to..]);
    let instead = match generator.below(6) {
        0 | 1 => NUMBERS[generator.below(6) as usize].to_owned(),
        2 => String::new(),
        3 => word.repeat(2),
        4 => ["[", "{\"a\":"][generator.below(2) as usize].repeat(50_000),
        _ => ["null", "\"\\ud800\"", "[]", "{}", "/../../x"][generator.below(5) as usize].to_owned(),
    };
    [head, &instead, tail].concat().into_bytes()
}

/// Mutates files of a container in a folder, one at a time, and uses it in every way each time. Errors are answers; what
/// `HYPERSLAB_MUTATIONS` says is how many there are, and `HYPERSLAB_SEED` which.
///
/// # Panics
/// If anything panics or takes longer than ten seconds, or the process took more than a gibibyte of memory.
pub fn assert_mutated_files_end_well(
    registry: &vol::Registry,
    connector: &str,
    folder: &std::path::Path,
    count: u64,
) {
    assert_mutations_end_well(registry, &format!("{connector}:{}", folder.display()), folder, count);
}

/// Asserts that mutations end well, as [`assert_mutated_files_end_well`] does, for a container at a location whose
/// files are all in one folder, with no others.
///
/// # Panics
/// Like [`assert_mutated_files_end_well`].
pub fn assert_mutations_end_well(
    registry: &vol::Registry,
    location: &str,
    folder: &std::path::Path,
    count: u64,
) {
    let setting = |name: &str| std::env::var(name).ok().and_then(|n| n.parse::<u64>().ok());
    let (count, seed) =
        (setting("HYPERSLAB_MUTATIONS").unwrap_or(count), setting("HYPERSLAB_SEED").unwrap_or(16));
    println!("{count} mutations of {location} from seed {seed}");
    count_panics();
    let c = registry.create(location, &Default::default(), &vol::FileAccess::write(), true).expect("create");
    match sample(&*c) {
        // What the connector cannot hold is left out, with what comes after it.
        Err(error) if error.kind() == model::Kind::Unsupported => {}
        made => made.expect("fill container"),
    }
    c.close().expect("close container");
    drop(c);
    let files = Files::of(folder);
    let mut generator = Generator::new(seed);
    for n in 0..count {
        let path = files.mutate_one(&mut generator);
        let begun = std::time::Instant::now();
        use_damaged(registry, location);
        assert!(begun.elapsed().as_secs() < 10, "mutation {n} of seed {seed} in {} hangs", path.display());
        assert_eq!(panics(), 0, "mutation {n} of seed {seed} in {} panics", path.display());
        files.restore();
    }
    let c = registry.open(location, &vol::FileAccess::write()).expect("the container is whole again");
    look(&*c).and_then(|()| c.close()).expect("and can be read");
    assert!(peak_bytes() < 1 << 30, "it took {} bytes of memory", peak_bytes());
}

static PANICS: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);

/// Counts panics from the first call on. Engines that contain panics of a library set a hook of their own later, above this
/// one: a second hook here would be above theirs and count what they contain.
fn count_panics() {
    static HOOK: std::sync::Once = std::sync::Once::new();
    HOOK.call_once(|| {
        let next = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            PANICS.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            next(panic);
        }));
    });
}

fn panics() -> u32 {
    PANICS.load(std::sync::atomic::Ordering::Relaxed)
}

/// The files of a container, as they were when it was whole.
struct Files {
    folder: std::path::PathBuf,
    all: Vec<(std::path::PathBuf, Vec<u8>)>,
}

impl Files {
    fn of(folder: &std::path::Path) -> Files {
        let all = paths_in(folder).into_iter();
        let all = all.map(|path| (path.clone(), std::fs::read(&path).expect("read file"))).collect();
        Files { folder: folder.to_owned(), all }
    }

    /// Files with something in them: others are places that no one wrote to yet.
    fn filled(&self) -> Vec<&(std::path::PathBuf, Vec<u8>)> {
        self.all.iter().filter(|(_, bytes)| bytes.iter().any(|byte| *byte != 0)).collect()
    }

    /// Spoils one file, and says which.
    fn mutate_one(&self, generator: &mut Generator) -> &std::path::Path {
        let filled = self.filled();
        let (path, good) = filled[generator.below(filled.len() as u64) as usize];
        let bytes = match std::str::from_utf8(good) {
            Ok(text) if generator.below(2) == 0 => mutated_text(text, generator),
            _ => mutated(good, generator),
        };
        std::fs::write(path, bytes).expect("write file");
        path
    }

    /// Restores everything, and removes what was added.
    fn restore(&self) {
        for path in paths_in(&self.folder) {
            if !self.all.iter().any(|(known, _)| *known == path) {
                std::fs::remove_file(&path).expect("remove file");
            }
        }
        for (path, good) in self.filled() {
            std::fs::create_dir_all(path.parent().unwrap_or(&self.folder)).expect("create folder");
            std::fs::write(path, good).expect("write file");
        }
    }
}

/// Files in a folder and below.
fn paths_in(folder: &std::path::Path) -> Vec<std::path::PathBuf> {
    let (mut files, mut pending) = (Vec::new(), vec![folder.to_owned()]);
    while let Some(folder) = pending.pop() {
        for entry in std::fs::read_dir(&folder).expect("list folder") {
            let path = entry.expect("entry").path();
            match path.is_dir() {
                true => pending.push(path),
                false => files.push(path),
            }
        }
    }
    files.sort();
    files
}

/// Reads all there is, verifies it, and changes it.
fn use_damaged(registry: &vol::Registry, location: &str) {
    for access in [vol::FileAccess::read(), vol::FileAccess::write()] {
        let is_writing = access.access == vol::Access::Write;
        let Ok(c) = registry.open(location, &access.with_limits(model::Limits::strict())) else { continue };
        let _ = look(&*c);
        let _ = c.storage_check();
        if let Some(root) = c.info().ok().map(|info| info.root).filter(|_| is_writing) {
            let _ = dataset(&*c, LinkLocation::new(root, "more"), &[9], &[9])
                .and_then(|made| write(&*c, made, &[3; 9]));
            let _ = c.link_delete(root, "g");
        }
        let _ = c.close();
    }
}

/// Returns the most memory that the process had, where the system tells.
fn peak_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or_default();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap_or(0) << 10
}
