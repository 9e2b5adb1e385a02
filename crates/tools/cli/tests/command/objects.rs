//! `hyperslab objects`: what containers keep in storage.

use super::common::hyperslab;

#[test]
fn key_value_stores_arrays_and_blobs_are_shown() {
    let folder = std::env::temp_dir().join(format!("hyperslab-objects-{}", std::process::id()));
    let location = format!("iod:{}/c/", folder.display());
    {
        let file = hyperslab::File::create(&location).unwrap();
        let group = file.create_group("G1").unwrap();
        group.set_attr("unit", String::from("metre")).unwrap();
        group.new_dataset::<i32>().shape([2, 2]).create("D1").unwrap().write_raw(&[1, 2, 3, 4]).unwrap();
        file.close().unwrap();
    }
    let output = hyperslab(&["objects", &location]);
    let _ = std::fs::remove_dir_all(&folder);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    for line in [
        "KV 0 scratch pad [KV 1, KV 2, UNDEFINED, UNDEFINED]",
        "  \"object_type\" = H5I_GROUP",
        "  \"D1\" = array",
        "  [2, 2] cells of 4 bytes",
        "blob",
    ] {
        assert!(text.contains(line), "{line:?} is not in\n{text}");
    }
}

/// Flips a bit of the files of a container, in bytes that are there once.
fn damage(folder: &std::path::Path, wanted: &[u8]) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            damage(&path, wanted);
            continue;
        }
        let mut bytes = std::fs::read(&path).unwrap();
        if let Some(at) = bytes.windows(wanted.len()).position(|window| window == wanted) {
            bytes[at + 5] ^= 4;
            std::fs::write(&path, bytes).unwrap();
        }
    }
}

#[test]
fn a_flipped_bit_of_elements_is_found_by_check_and_by_whoever_reads_them() {
    for connector in ["object", "iod"] {
        for (what, count) in [("few elements, in the index", 100u32), ("many", 200_000)] {
            let folder = format!("hyperslab-damage-{connector}-{count}-{}", std::process::id());
            let folder = std::env::temp_dir().join(folder);
            let location = format!("{connector}:{}/c/", folder.display());
            let elements: Vec<u32> = (0..count).map(|n| n.wrapping_mul(2_654_435_761)).collect();
            {
                let file = hyperslab::File::create(&location).unwrap();
                let dataset = file.new_dataset::<u32>().shape([count as usize]).create("d").unwrap();
                dataset.write_raw(&elements).unwrap();
                file.close().unwrap();
            }
            assert!(hyperslab(&["check", &location]).status.success(), "{connector} {what}");
            let some: Vec<u8> = elements[60..70].iter().flat_map(|n| n.to_le_bytes()).collect();
            damage(&folder, &some);
            let output = hyperslab(&["check", &location]);
            let text = String::from_utf8_lossy(&output.stdout).into_owned();
            assert_eq!(output.status.code(), Some(1), "{connector} {what}: {text}");
            assert!(text.contains("/d") && text.contains("checksum"), "{connector} {what}: {text}");
            let file = hyperslab::File::open(&location).unwrap();
            let error = file.dataset("d").unwrap().read_raw::<u32>().unwrap_err();
            assert!(error.to_string().contains("checksum"), "{connector} {what}: {error}");
            std::fs::remove_dir_all(&folder).unwrap();
        }
    }
}

#[test]
fn folders_are_recognised_by_the_mark_of_their_storage() {
    for connector in ["object", "iod", "raw"] {
        let folder = std::env::temp_dir().join(format!("hyperslab-mark-{connector}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join("c").display().to_string();
        let file = hyperslab::File::create(format!("{connector}:{path}")).unwrap();
        file.create_group("inside").unwrap();
        file.close().unwrap();
        let file = hyperslab::File::open(&path).unwrap();
        assert_eq!(file.container_info().unwrap().connector, connector);
        assert!(file.group("inside").is_ok());
        drop(file);
        let output = hyperslab(&["ls", &path]);
        assert!(output.status.success(), "{connector}: {}", String::from_utf8_lossy(&output.stderr));
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
