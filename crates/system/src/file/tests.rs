use super::*;

fn scratch(name: &str) -> (std::path::PathBuf, File) {
    let path = std::env::temp_dir().join(format!("hyperslab-system-{}-{name}", std::process::id()));
    let file = File::options().read(true).write(true).create(true).truncate(true).open(&path).unwrap();
    (path, file)
}

#[test]
fn positioned_access_fills_and_says_where_the_file_ends() {
    let (path, file) = scratch("at");
    write_all_at(&file, b"data", 3).unwrap();
    let mut bytes = [1; 7];
    read_exact_at(&file, &mut bytes, 0).unwrap();
    assert_eq!(&bytes, b"\0\0\0data");
    assert_eq!(read_at(&file, &mut bytes, 5).unwrap(), 2);
    assert_eq!(read_at(&file, &mut bytes, 50).unwrap(), 0);
    assert_eq!(read_exact_at(&file, &mut bytes, 1).unwrap_err().kind(), ErrorKind::UnexpectedEof);
    std::fs::remove_file(path).unwrap();
}

#[test]
fn a_file_is_known_by_its_handle_and_by_its_path() {
    let ((path, file), (other_path, other)) = (scratch("one"), scratch("two"));
    assert_eq!(identity(&file).unwrap(), identity_at(&path).unwrap());
    assert_ne!(identity(&file).unwrap(), identity(&other).unwrap());
    std::fs::remove_file(path).unwrap();
    std::fs::remove_file(other_path).unwrap();
}

#[test]
fn stored_bytes_are_found_and_reserved_bytes_are_zeros() {
    let (path, file) = scratch("data");
    assert_eq!(next_data(&file, 0).unwrap(), None);
    reserve(&file, 70_000).unwrap();
    assert_eq!(file.metadata().unwrap().len(), 70_000);
    let mut bytes = vec![1; 70_000];
    read_exact_at(&file, &mut bytes, 0).unwrap();
    assert!(bytes.iter().all(|byte| *byte == 0));
    write_all_at(&file, b"x", 69_999).unwrap();
    assert_eq!(next_data(&file, 69_999).unwrap(), Some(69_999..70_000));
    assert_eq!(next_data(&file, 70_000).unwrap(), None);
    std::fs::remove_file(path).unwrap();
}
