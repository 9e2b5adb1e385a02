//! All handles of a dataset in an open file know one extent.

use std::path::PathBuf;

use hyperslab::{File, FileAccess, UNLIMITED_DIM};
use model::properties::FileCreate;

struct Scratch(PathBuf);

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn handles_of_one_dataset_share_its_extent() {
    let scratch = Scratch(std::env::temp_dir().join(format!("hyperslab-extents-{}", std::process::id())));
    std::fs::create_dir_all(&scratch.0).unwrap();
    for connector in ["native", "log", "raw", "json", "object", "iod", "memory"] {
        let location = format!("{connector}:{}", scratch.0.join(connector).display());
        let file = File::create_with(&location, &FileCreate::default(), &FileAccess::write(), false).unwrap();
        let made = file.new_dataset::<i32>().shape(4).max_shape(UNLIMITED_DIM).chunk(2).create("d");
        let a = made.unwrap();
        a.write_raw(&[1, 2, 3, 4]).unwrap();
        let (b, c) = (file.dataset("d").unwrap(), a.clone());
        a.resize(8).unwrap();
        for (name, dataset) in [("another handle", &b), ("a clone", &c)] {
            assert_eq!(dataset.shape(), [8], "{connector}, {name}");
            let read = dataset.read_raw::<i32>().unwrap();
            assert_eq!(read, [1, 2, 3, 4, 0, 0, 0, 0], "{connector}, {name}");
        }
        b.append(0, &ndarray::arr1(&[9])).unwrap();
        assert_eq!(a.read_raw::<i32>().unwrap(), [1, 2, 3, 4, 0, 0, 0, 0, 9], "{connector}");
        b.resize(2).unwrap();
        a.write_raw(&[7, 8]).unwrap();
        assert_eq!(c.read_raw::<i32>().unwrap(), [7, 8], "{connector}");
    }
}
