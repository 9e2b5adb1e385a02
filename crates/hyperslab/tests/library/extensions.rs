//! Extensions of a program through the public crate: filters on every connector that applies them, filters of plugins, and
//! classes of links.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use hyperslab::extend::{
    Codecs, Done, Filter, FilterError, FilterId, LinkClass, LinkDestination, LinkTraversal, Output, Params,
    Registry,
};
use hyperslab::vol::{LinkLocation, OpLinkCreate, path};
use hyperslab::{File, FileAccess, Kind, LinkTarget, registry, s};
use ndarray::aview1;

use testkit::Folder;

/// Every byte is stored inverted.
struct Inverted;

const INVERTED: FilterId = 300;

impl Filter for Inverted {
    fn id(&self) -> FilterId {
        INVERTED
    }

    fn name(&self) -> &'static str {
        "inverted"
    }

    fn encode_into(
        &self,
        _: &Params<'_>,
        input: &[u8],
        out: &mut Output<'_>,
        _: &mut Codecs,
    ) -> Result<Done, FilterError> {
        out.put(input.iter().map(|byte| !byte).collect())
    }

    fn decode_into(
        &self,
        params: &Params<'_>,
        input: &[u8],
        out: &mut Output<'_>,
        codecs: &mut Codecs,
    ) -> Result<Done, FilterError> {
        self.encode_into(params, input, out, codecs)
    }
}

/// One location for each connector that applies filters.
fn locations(folder: &Folder) -> [String; 5] {
    [
        folder.at("native.h5"),
        format!("object:{}", folder.at("object")),
        format!("iod:{}", folder.at("iod")),
        format!("log:{}", folder.at("log.h5")),
        format!("log+v2:{}", folder.at("log2.h5")),
    ]
}

fn numbers() -> Vec<i32> {
    (0..1000).collect()
}

/// Creates a dataset whose chunks go through a filter, changes parts of it, and reads it with the same registry.
fn write_and_read(ours: &Registry, location: &str, filter: FilterId) -> hyperslab::Result<()> {
    let file = File::create_in(ours, location, &Default::default(), &FileAccess::write(), true)?;
    let data = file.new_dataset::<i32>().shape(1000..).chunk(100).filter(filter, &[]).create("data")?;
    data.write_raw(&vec![7; 1000])?;
    file.flush()?;
    // Chunks that change in part are decoded and encoded again.
    data.write_slice(aview1(&numbers()[..950]), s![..950])?;
    data.write_slice(aview1(&numbers()[950..]), s![950..])?;
    file.close()?;
    let file = File::open_in(ours, location, &FileAccess::write())?;
    let data = file.dataset("data")?;
    assert_eq!(data.read_raw::<i32>()?, numbers(), "{location}");
    data.resize(950)?;
    assert_eq!(data.read_raw::<i32>()?, numbers()[..950], "{location}");
    data.resize(1000)?;
    data.write_slice(aview1(&numbers()[950..]), s![950..])?;
    file.close()
}

#[test]
fn filters_of_the_caller_work_on_every_connector_that_applies_filters() {
    let folder = Folder::new("extensions-filters");
    let mut ours = registry();
    ours.register_filter(Arc::new(Inverted)).unwrap();
    for location in locations(&folder) {
        write_and_read(&ours, &location, INVERTED).unwrap_or_else(|e| panic!("{location}: {e}"));
        // A program without the filter can list the dataset, and learns which filter it lacks.
        let file = File::open_with(&location, &FileAccess::read()).unwrap();
        let data = file.dataset("data").unwrap();
        let error = data.read_raw::<i32>().unwrap_err().to_string();
        assert!(error.contains("300"), "{location}: {error}");
        drop((data, file));
        let file = File::create_with(&location, &Default::default(), &FileAccess::write(), true).unwrap();
        let builder = file.new_dataset::<i32>().shape(10).chunk(10);
        let refused = builder.named_filter("UD=300,0,0").create("data").unwrap_err();
        assert_eq!(refused.root_cause().kind(), Kind::Unsupported, "{location}: {refused}");
    }
}

#[test]
fn chunks_are_stored_as_the_filter_of_the_caller_makes_them() {
    let folder = Folder::new("extensions-stored");
    let mut ours = registry();
    ours.register_filter(Arc::new(Inverted)).unwrap();
    for location in &locations(&folder)[..3] {
        write_and_read(&ours, location, INVERTED).unwrap_or_else(|e| panic!("{location}: {e}"));
        let file = File::open_with(location, &FileAccess::read()).unwrap();
        let (_, chunk) = file.container().chunk_read(file.dataset("data").unwrap().token(), &[0]).unwrap();
        assert_eq!(chunk[..8], [255, 255, 255, 255, 254, 255, 255, 255], "{location}");
    }
}

/// The example of a filter in a shared library, compiled into a folder.
fn run_length(folder: &Folder) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let library = folder.path().join(format!("librun_length{}", std::env::consts::DLL_SUFFIX));
    let mut cc = Command::new(std::env::var_os("CC").unwrap_or_else(|| "cc".into()));
    cc.args(["-shared", "-fPIC", "-O1", "-Wall", "-Wextra", "-Werror", "-I"]);
    cc.arg(root.join("crates/plugin/include")).arg("-o").arg(&library);
    let compiled = cc.arg(root.join("examples/plugins/run-length/run_length.c")).status().unwrap();
    assert!(compiled.success());
    library
}

#[test]
fn filters_of_plugins_work_on_every_connector_that_applies_filters() {
    let folder = Folder::new("extensions-plugin");
    let library = run_length(&folder);
    let mut ours = registry();
    plugin::load(&library).unwrap().register(&mut ours).unwrap();
    for location in locations(&folder) {
        write_and_read(&ours, &location, 310).unwrap_or_else(|e| panic!("{location}: {e}"));
    }
    let file = File::open_in(&ours, &folder.at("native.h5"), &FileAccess::write()).unwrap();
    let equal = file.new_dataset::<u8>().shape(10_000).chunk(1000).filter(310, &[]).create("equal").unwrap();
    equal.write_raw(&[9u8; 10_000]).unwrap();
    file.flush().unwrap();
    let stored = file.container().dataset_storage(equal.token()).unwrap().bytes;
    assert_eq!(stored, 10 * 2 * 4, "a thousand equal bytes are four runs");
}

/// A link whose value is a path behind a colon.
struct Alias;

impl LinkClass for Alias {
    fn class(&self) -> u8 {
        70
    }

    fn name(&self) -> &str {
        "alias"
    }

    fn traverse(&self, link: &LinkTraversal<'_>) -> hyperslab::Result<LinkDestination> {
        assert_eq!(link.container.info()?.root, path::token(link.container, link.group, "/", 1)?);
        Ok(LinkDestination::Path(String::from_utf8_lossy(&link.data[1..]).into_owned()))
    }
}

fn user_link(file: &File, name: &str, value: &str) {
    let place = LinkLocation::new(file.token(), name);
    let target = LinkTarget::User { class: 70, data: value.as_bytes().to_vec() };
    file.container().link_create(&OpLinkCreate { place, target }).unwrap();
}

#[test]
fn user_defined_links_are_followed_by_paths_of_the_contract() {
    let folder = Folder::new("extensions-links");
    let mut ours = registry();
    ours.register_link_class(Arc::new(Alias)).unwrap();
    for location in [folder.at("l.h5"), format!("object:{}", folder.at("o")), "memory:links".to_owned()] {
        let file =
            File::create_in(&ours, &location, &Default::default(), &FileAccess::write(), true).unwrap();
        let numbers = file.new_dataset_builder().with_data(&[1, 2]).create("deep/down/numbers").unwrap();
        user_link(&file, "alias", ":deep");
        user_link(&file, "twice", ":alias/down");
        user_link(&file, "loop", ":loop");
        let (container, root) = (file.container(), file.token());
        let token = |text: &str, most: u32| path::token(&**container, root, text, most);
        assert_eq!(token("alias/down/numbers", 4).unwrap(), numbers.token(), "{location}");
        assert_eq!(token("/twice/numbers", 4).unwrap(), numbers.token(), "{location}");
        assert_eq!(token("twice/numbers", 1).unwrap_err().kind(), Kind::Limit, "{location}");
        assert_eq!(token("loop", 16).unwrap_err().kind(), Kind::Limit, "{location}");
        // New objects go where the link leads.
        file.new_dataset_builder().with_data(&[3]).create("alias/more").unwrap();
        assert!(file.exists("deep/more").unwrap(), "{location}");
        file.flush().unwrap();
        let without = File::open_with(&location, &FileAccess::read());
        let Ok(without) = without else { continue };
        let missing = path::token(&**without.container(), without.token(), "alias", 4).unwrap_err();
        assert_eq!(missing.kind(), Kind::Unsupported, "{location}: {missing}");
    }
}
