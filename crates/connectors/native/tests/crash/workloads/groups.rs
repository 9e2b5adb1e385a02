//! Groups, links, names and committed datatypes.

use hyperslab::{Datatype, File, LinkTarget, Result};
use model::properties::{CreationOrder, FileCreate, GroupCreate, ObjectCreate};
use vol::{LinkLocation, OpLinkCreate};

use super::Workload;

/// Creates groups `prefix first` to `prefix last`.
pub(super) fn make(f: &File, prefix: &str, numbers: std::ops::Range<u32>) -> Result<()> {
    numbers.into_iter().try_for_each(|n| f.create_group(&format!("{prefix}{n}")).map(drop))
}

fn drop_groups(f: &File, prefix: &str, numbers: std::ops::Range<u32>) -> Result<()> {
    numbers.into_iter().try_for_each(|n| f.unlink(&format!("{prefix}{n}")))
}

/// A root group that keeps the order of its links and attributes.
pub(super) fn ordered_root() -> FileCreate {
    let object = ObjectCreate { attribute_order: CreationOrder::Indexed, ..ObjectCreate::default() };
    let root = GroupCreate { link_order: CreationOrder::Indexed, object, ..GroupCreate::default() };
    FileCreate { root, ..FileCreate::default() }
}

fn user_link(f: &File, name: &str, data: &[u8]) -> Result<()> {
    let target = LinkTarget::User { class: 80, data: data.to_vec() };
    f.container().link_create(&OpLinkCreate { place: LinkLocation::new(f.token(), name), target })
}

fn pair() -> Datatype {
    let members = [("x".to_owned(), Datatype::native_int(4)), ("y".to_owned(), Datatype::native_int(2))];
    Datatype::Compound(model::datatype::Compound::packed(members))
}

pub(super) fn all() -> Vec<Workload> {
    let mut all = links();
    all.extend(lives());
    all.extend(types());
    all
}

fn links() -> Vec<Workload> {
    vec![
        Workload::new(
            "nested groups",
            &[
                |f| f.create_group("a/b/c").map(drop),
                |f| f.create_group("a/b/d/e/f").map(drop),
                |f| make(f, "a/b/c/g", 0..4),
            ],
        ),
        Workload::new(
            "compact to dense links",
            &[|f| make(f, "g", 0..5), |f| make(f, "g", 5..11), |f| make(f, "g", 11..30)],
        ),
        Workload::new(
            "dense to compact links",
            &[
                |f| make(f, "g", 0..24),
                |f| drop_groups(f, "g", 0..20),
                |f| make(f, "h", 0..2),
                |f| drop_groups(f, "g", 20..24),
            ],
        ),
        Workload::new(
            "soft, external and user links",
            &[
                |f| {
                    f.create_group("there")?;
                    f.link_soft("/there", "soft")?;
                    f.link_external("other.h5", "/x", "external")
                },
                |f| {
                    user_link(f, "user", &[7; 40])?;
                    f.unlink("soft")?;
                    f.link_soft("nowhere", "soft")
                },
                |f| (0..12).try_for_each(|n| f.link_soft(&format!("/there/{n}"), &format!("soft {n}"))),
                |f| f.unlink("there"),
            ],
        ),
        Workload::new(
            "second names",
            &[
                |f| make(f, "g", 0..2),
                |f| {
                    f.link_hard("g0", "g1/again")?;
                    f.link_hard("g0", "third")
                },
                |f| f.unlink("g0"),
                |f| f.unlink("g1"),
                |f| f.unlink("third"),
            ],
        ),
        Workload::new(
            "moves",
            &[
                |f| make(f, "from/m", 0..9),
                |f| f.create_group("to").map(drop),
                |f| (0..6).try_for_each(|n| f.relink(&format!("from/m{n}"), &format!("to/n{n}"))),
                |f| f.relink("to", "from/inside"),
                |f| f.relink("from/inside/n3", "out"),
            ],
        ),
    ]
}

fn lives() -> Vec<Workload> {
    vec![
        Workload::new(
            "delete and make again",
            &[
                |f| make(f, "g", 0..6),
                |f| drop_groups(f, "g", 0..6),
                |f| make(f, "g", 0..6),
                |f| drop_groups(f, "g", 2..5),
                |f| make(f, "g", 2..5),
            ],
        ),
        Workload::new(
            "a subtree goes",
            &[
                |f| (0..4).try_for_each(|n| make(f, &format!("tree/{n}/g"), 0..4)),
                |f| f.create_group("beside").map(drop),
                |f| f.unlink("tree"),
                |f| make(f, "tree/", 0..3),
            ],
        ),
        Workload::new(
            "children before their parent in the file",
            &[
                |f| f.create_group("child/grandchild").map(drop),
                |f| {
                    f.create_group("parent")?;
                    f.relink("child", "parent/child")
                },
                |f| f.unlink("parent/child/grandchild"),
                |f| f.unlink("parent/child"),
                |f| f.unlink("parent"),
            ],
        ),
        Workload::new(
            "long names",
            &[
                |f| make(f, &"n".repeat(200), 0..6),
                |f| make(f, &"m".repeat(300), 0..6),
                |f| drop_groups(f, &"n".repeat(200), 0..6),
            ],
        ),
        Workload::new(
            "links in order of creation",
            &[|f| make(f, "z", 0..6), |f| make(f, "a", 0..6), |f| drop_groups(f, "z", 1..5)],
        )
        .in_file(ordered_root()),
        Workload::new(
            "names of the world and comments",
            &[
                |f| f.create_group("größe/数/имя")?.set_comment(Some("a comment")),
                |f| f.group("größe")?.set_comment(Some("another, longer comment of this group")),
                |f| f.group("größe/数/имя")?.set_comment(None),
            ],
        ),
    ]
}

fn types() -> Vec<Workload> {
    vec![
        Workload::new(
            "committed types",
            &[
                |f| f.commit_datatype("pair", pair()).map(drop),
                |f| {
                    let kind = f.named_datatype("pair")?;
                    f.new_dataset::<i32>().committed(&kind)?.shape(7).create("d").map(drop)
                },
                |f| f.named_datatype("pair")?.set_attr("unit", 3i32).map(drop),
                |f| f.unlink("pair"),
                |f| f.unlink("d"),
            ],
        ),
        Workload::new(
            "types that come and go",
            &[
                |f| {
                    (0..9).try_for_each(|n| {
                        f.commit_datatype(&format!("t{n}"), Datatype::array(&[n + 1], pair())).map(drop)
                    })
                },
                |f| (0..7).try_for_each(|n| f.unlink(&format!("t{n}"))),
                |f| f.commit_datatype("t0", Datatype::boolean()).map(drop),
            ],
        ),
    ]
}
