//! Listings are charged to the account of their container, and refused beyond it.

use hyperslab::{File, FileAccess, Kind, LibVersion};
use model::Budget;
use model::properties::FileCreate;
use vol::OpList;

use crate::others::Folder;

const COUNT: usize = 3000;

/// A file with many links of long names, and many attributes where a header has space for them.
fn make(path: &str, low: LibVersion) {
    let access = FileAccess { version_low: low, ..FileAccess::write() };
    let file = File::create_with(path, &FileCreate::default(), &access, true).unwrap();
    for n in 0..COUNT {
        file.link_soft("/a target that is some bytes long", &format!("link number {n:060}")).unwrap();
        if low > LibVersion::Earliest {
            file.set_attr(&format!("attribute number {n:060}"), n as i64).unwrap();
        }
    }
    file.close().unwrap();
}

#[test]
fn a_listing_that_the_account_does_not_pay_for_is_an_error() {
    let folder = Folder::new("listings");
    for low in [LibVersion::Earliest, LibVersion::V18, LibVersion::LATEST] {
        let path = folder.at(&format!("{low:?}.h5"));
        make(&path, low);
        for write in [false, true] {
            let access = if write { FileAccess::write() } else { FileAccess::read() };
            let open = |bytes: u64| {
                let budget = Budget::new("container", bytes);
                (File::open_with(&path, &access.clone().with_budget(budget.clone())).unwrap(), budget)
            };
            let (small, budget) = open(200 << 10);
            let (c, root) = (small.container(), small.container().info().unwrap().root);
            assert_eq!(c.link_list(root, &OpList::default()).unwrap_err().kind(), Kind::Limit, "{low:?}");
            if low > LibVersion::Earliest {
                let listed = c.attribute_list(root, &OpList::default());
                assert_eq!(listed.unwrap_err().kind(), Kind::Limit, "{low:?}");
            }
            assert_eq!(budget.used(), 0, "what failed is given back");
            drop(small);
            let (large, budget) = open(64 << 20);
            let c = large.container();
            let all = c.link_list(root, &OpList { count_max: u64::MAX, ..OpList::default() }).unwrap();
            assert_eq!(all.entries.len(), COUNT);
            assert_eq!(budget.used(), 0, "the entries are the caller's");
            let page = c.link_list(root, &OpList { count_max: 10, ..OpList::default() }).unwrap();
            assert_eq!(page.entries.len(), 10);
            // The rest of a listing is kept for the pages that follow, where no one changes the file.
            assert_eq!(budget.used() > 0, !write, "{} bytes", budget.used());
        }
    }
}
