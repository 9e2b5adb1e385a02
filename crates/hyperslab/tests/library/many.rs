//! Many selections in one call.

use hyperslab::vol::model::text::from_path;
use hyperslab::{File, Kind, Result, Selection};

fn blocks(starts: &[u64], len: u64) -> Vec<Selection> {
    starts.iter().map(|start| Selection::block(&[*start], &[len]).unwrap()).collect()
}

fn in_every_storage(test: &str, check: impl Fn(&File) -> Result<()>) -> Result<()> {
    let folder = testkit::Folder::new(test);
    for (prefix, name) in [("", "file.h5"), ("log:", "log.h5"), ("memory:", "many"), ("object:", "store/")] {
        let path = from_path(&std::path::PathBuf::from(folder.at(name)));
        let file = File::create(format!("{prefix}{path}"))?;
        check(&file)?;
        file.close()?;
    }
    Ok(())
}

#[test]
fn values_go_to_many_selections_and_later_ones_count() -> Result<()> {
    in_every_storage("many-values", |file| {
        let data = file.new_dataset::<f32>().shape([20]).create("data")?;
        // Converted from f64.
        data.write_n(&blocks(&[0, 10, 2], 4), &(0..12).map(f64::from).collect::<Vec<_>>())?;
        let mut wanted = [0.0; 20];
        wanted[..6].copy_from_slice(&[0.0, 1.0, 8.0, 9.0, 10.0, 11.0]);
        wanted[10..14].copy_from_slice(&[4.0, 5.0, 6.0, 7.0]);
        assert_eq!(data.read_raw::<f64>()?, wanted);
        assert_eq!(data.read_n::<i64>(&blocks(&[12, 0], 2))?, [6, 7, 0, 1]);
        Ok(())
    })
}

#[test]
fn strings_are_written_and_read_in_many_selections() -> Result<()> {
    in_every_storage("many-strings", |file| {
        let data = file.new_dataset::<String>().shape([10]).create("text")?;
        let words = ["a", "bb", "ccc", ""].map(str::to_owned);
        data.write_n(&blocks(&[8, 3], 2), &words)?;
        assert_eq!(data.read_n::<String>(&blocks(&[3, 8], 2))?, ["ccc", "", "a", "bb"]);
        Ok(())
    })
}

#[test]
fn wrong_numbers_of_values_and_selections_outside_are_refused() -> Result<()> {
    in_every_storage("many-wrong", |file| {
        let data = file.new_dataset::<i32>().shape([10]).create("data")?;
        let refused = data.write_n(&blocks(&[0, 5], 2), &[1, 2, 3]).unwrap_err();
        assert_eq!(refused.kind(), Kind::Invalid);
        assert!(data.write_n(&blocks(&[0, 9], 2), &[1, 2, 3, 4]).is_err());
        assert!(data.read_n::<i32>(&blocks(&[9], 2)).is_err());
        data.write_n::<i32>(&[], &[])?;
        assert!(data.read_n::<i32>(&[])?.is_empty());
        assert_eq!(data.read_raw::<i32>()?, [0; 10]);
        Ok(())
    })
}
