//! One suite of behaviours, run over every driver and every layer.

use std::io::ErrorKind;
use std::sync::Arc;

use hyperslab_files as files;

use files::{Crash, Fault, File, Handle, Lock, Memory, MemoryOptions, Meter, Sync, View};

#[allow(dead_code, reason = "shared with the unit tests, which use more of it")]
#[path = "../src/scratch.rs"]
mod scratch;

/// A file under test, and the folder it may live in.
struct Subject {
    name: &'static str,
    file: Handle,
    _dir: scratch::Scratch,
}

fn memory() -> Handle {
    Arc::new(Memory::new())
}

#[cfg(unix)]
fn split() -> Handle {
    Arc::new(files::Multi::split(memory(), memory(), 1 << 40).unwrap())
}

fn stack() -> Handle {
    let recorded: Handle = Arc::new(Crash::new(memory()).unwrap());
    Arc::new(Meter::new(Arc::new(Fault::new(recorded))))
}

#[cfg(unix)]
fn on_disk(name: &str, dir: &scratch::Scratch) -> Option<Handle> {
    use files::{Family, Mode, Posix};
    let mode = Mode::CreateNew;
    Some(match name {
        "posix" => Arc::new(Posix::open(dir.path("a"), mode).unwrap()),
        "memory over posix" => Arc::new(Memory::open(dir.path("a"), mode).unwrap()),
        "family of 64" => Arc::new(Family::open_sized(dir.path("a%03d"), mode, 64).unwrap()),
        "family of 4096" => Arc::new(Family::open_sized(dir.path("a%d"), mode, 4096).unwrap()),
        "split" => split(),
        "meter on posix" => Arc::new(Meter::new(Arc::new(Posix::open(dir.path("a"), mode).unwrap()))),
        _ => return None,
    })
}

#[cfg(not(unix))]
fn on_disk(_name: &str, _dir: &scratch::Scratch) -> Option<Handle> {
    None
}

fn in_memory(name: &str) -> Option<Handle> {
    Some(match name {
        "memory" => memory(),
        "memory over memory" => Arc::new(Memory::load(memory(), MemoryOptions::default()).unwrap()),
        "fault" => Arc::new(Fault::new(memory())),
        "crash" => Arc::new(Crash::new(memory()).unwrap()),
        "meter" => Arc::new(Meter::new(memory())),
        "meter, fault, crash" => stack(),
        _ => return None,
    })
}

/// A fresh, empty file of every kind.
fn subjects() -> Vec<Subject> {
    let names = [
        "posix",
        "memory over posix",
        "family of 64",
        "family of 4096",
        "meter on posix",
        "memory",
        "memory over memory",
        "split",
        "fault",
        "crash",
        "meter",
        "meter, fault, crash",
    ];
    let make = |name: &'static str| {
        let dir = scratch::Scratch::new();
        let file = in_memory(name).or_else(|| on_disk(name, &dir))?;
        Some(Subject { name, file, _dir: dir })
    };
    names.into_iter().filter_map(make).collect()
}

fn read(file: &dyn File, offset: u64, len: usize) -> Vec<u8> {
    let mut buf = vec![0xEE; len];
    file.read_at(offset, &mut buf).unwrap();
    buf
}

fn read_error(file: &dyn File, offset: u64, len: usize) -> ErrorKind {
    file.read_at(offset, &mut vec![0; len]).unwrap_err().kind()
}

fn pattern(len: usize) -> Vec<u8> {
    (0..len).map(|index| (index * 7 % 251) as u8 + 1).collect()
}

#[test]
fn new_file_is_empty() {
    for Subject { name, file, .. } in subjects() {
        assert!(file.is_empty().unwrap(), "{name}");
        assert_eq!(read_error(&*file, 0, 1), ErrorKind::UnexpectedEof, "{name}");
    }
}

#[test]
fn bytes_read_back_as_written_at_any_offset() {
    for Subject { name, file, .. } in subjects() {
        let data = pattern(1000);
        file.write_at(0, &data).unwrap();
        for offset in [0usize, 1, 15, 16, 63, 64, 65, 99, 100, 511] {
            for len in [1usize, 2, 64, 130, 400] {
                assert_eq!(read(&*file, offset as u64, len), data[offset..offset + len], "{name}");
            }
        }
    }
}

#[test]
fn overwrites_change_only_their_bytes() {
    for Subject { name, file, .. } in subjects() {
        let mut expected = pattern(300);
        file.write_at(0, &expected).unwrap();
        for (offset, len) in [(0usize, 1usize), (14, 4), (60, 10), (95, 120), (299, 1)] {
            expected[offset..offset + len].fill(0xAB);
            file.write_at(offset as u64, &vec![0xAB; len]).unwrap();
        }
        assert_eq!(read(&*file, 0, 300), expected, "{name}");
        assert_eq!(file.len().unwrap(), 300, "{name}");
    }
}

#[test]
fn write_past_the_end_leaves_a_hole_of_zeros() {
    for Subject { name, file, .. } in subjects() {
        file.write_at(0, b"abc").unwrap();
        file.write_at(2000, b"xyz").unwrap();
        assert_eq!(file.len().unwrap(), 2003, "{name}");
        let expected = [b"abc".as_slice(), &[0; 1997], b"xyz"].concat();
        assert_eq!(read(&*file, 0, 2003), expected, "{name}");
        assert_eq!(read(&*file, 50, 100), [0; 100], "{name}");
    }
}

#[test]
fn read_past_the_end_is_unexpected_eof() {
    for Subject { name, file, .. } in subjects() {
        file.write_at(0, &pattern(130)).unwrap();
        for (offset, len) in [(130, 1), (129, 2), (0, 131), (1 << 20, 1), (1 << 40, 9), (100, 4096)] {
            assert_eq!(read_error(&*file, offset, len), ErrorKind::UnexpectedEof, "{name} {offset} {len}");
        }
        assert_eq!(read(&*file, 0, 130), pattern(130), "{name}");
    }
}

#[test]
fn cut_then_grown_file_reads_zeros() {
    for Subject { name, file, .. } in subjects() {
        for cut in [0usize, 1, 16, 64, 100, 150, 199] {
            file.write_at(0, &pattern(200)).unwrap();
            file.set_len(cut as u64).unwrap();
            assert_eq!(file.len().unwrap(), cut as u64, "{name}");
            assert_eq!(read_error(&*file, cut as u64, 1), ErrorKind::UnexpectedEof, "{name}");
            file.set_len(200).unwrap();
            let mut expected = pattern(200);
            expected[cut..].fill(0);
            assert_eq!(read(&*file, 0, 200), expected, "{name} cut to {cut}");
        }
    }
}

#[test]
fn cut_then_written_past_reads_zeros_between() {
    for Subject { name, file, .. } in subjects() {
        file.write_at(0, &pattern(300)).unwrap();
        file.set_len(10).unwrap();
        file.write_at(250, b"x").unwrap();
        let expected = [&pattern(10)[..], &[0; 240], b"x"].concat();
        assert_eq!(read(&*file, 0, 251), expected, "{name}");
    }
}

#[test]
fn empty_reads_and_writes_do_nothing_anywhere() {
    for Subject { name, file, .. } in subjects() {
        for offset in [0, 5, 1 << 40, u64::MAX] {
            file.write_at(offset, &[]).unwrap();
            file.read_at(offset, &mut []).unwrap();
        }
        file.read_many_at(&mut []).unwrap();
        assert_eq!(file.len().unwrap(), 0, "{name}");
    }
}

#[test]
fn huge_offsets_are_errors_and_change_nothing() {
    for Subject { name, file, .. } in subjects() {
        file.write_at(0, b"abc").unwrap();
        for offset in [u64::MAX - 10, u64::MAX - 2, u64::MAX] {
            assert!(file.write_at(offset, b"wxyz").is_err(), "{name} {offset:x}");
            assert_eq!(read_error(&*file, offset, 4), ErrorKind::UnexpectedEof, "{name} {offset:x}");
        }
        assert!(file.set_len(u64::MAX).is_err(), "{name}");
        assert_eq!((file.len().unwrap(), read(&*file, 0, 3)), (3, b"abc".to_vec()), "{name}");
    }
}

#[test]
fn many_ranges_are_read_in_one_call() {
    for Subject { name, file, .. } in subjects() {
        let data = pattern(500);
        file.write_at(0, &data).unwrap();
        let (mut a, mut b, mut c) = ([0; 100], [0; 1], [0; 300]);
        file.read_many_at(&mut [(400, &mut a), (7, &mut b), (50, &mut c)]).unwrap();
        assert_eq!((&a[..], &b[..], &c[..]), (&data[400..], &data[7..8], &data[50..350]), "{name}");
        assert!(file.read_many_at(&mut [(0, &mut a), (500, &mut b)]).is_err(), "{name}");
    }
}

#[test]
fn overlapping_reads_run_from_many_threads() {
    for Subject { name, file, .. } in subjects() {
        let data = pattern(3000);
        file.write_at(0, &data).unwrap();
        std::thread::scope(|scope| {
            for thread in 0..4usize {
                let (file, data) = (&file, &data);
                scope.spawn(move || {
                    for round in 0..100usize {
                        let offset = (thread * 37 + round * 61) % 2000;
                        assert_eq!(read(&**file, offset as u64, 1000), data[offset..offset + 1000], "{name}");
                    }
                });
            }
        });
    }
}

#[test]
fn disjoint_writes_from_many_threads_all_land() {
    for Subject { name, file, .. } in subjects() {
        std::thread::scope(|scope| {
            for thread in 0..4u8 {
                let file = &file;
                scope.spawn(move || {
                    for block in (u64::from(thread)..80).step_by(4) {
                        file.write_at(block * 25, &[thread + 1; 25]).unwrap();
                    }
                });
            }
        });
        let expected: Vec<u8> = (0..2000).map(|at| (at / 25 % 4) as u8 + 1).collect();
        assert_eq!(read(&*file, 0, 2000), expected, "{name}");
    }
}

#[test]
fn sync_and_locks_succeed_on_a_file_of_ones_own() {
    for Subject { name, file, .. } in subjects() {
        file.lock(Lock::Unlock).unwrap();
        file.lock(Lock::Exclusive).unwrap();
        file.write_at(0, &pattern(200)).unwrap();
        file.sync(Sync::Data).unwrap();
        file.sync(Sync::All).unwrap();
        file.lock(Lock::Unlock).unwrap();
        file.lock(Lock::Shared).unwrap();
        assert_eq!(read(&*file, 0, 200), pattern(200), "{name}");
    }
}

#[test]
fn random_operations_agree_with_a_plain_vector() {
    for Subject { name, file, .. } in subjects() {
        let mut model: Vec<u8> = Vec::new();
        let mut seed = 0x5EED_u64;
        let mut next = |bound: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) % bound
        };
        for step in 0..300u64 {
            let (offset, len) = (next(1500) as usize, next(300) as usize);
            if next(8) == 0 {
                file.set_len(offset as u64).unwrap();
                model.resize(offset, 0);
            } else if len > 0 {
                file.write_at(offset as u64, &vec![step as u8; len]).unwrap();
                model.resize(model.len().max(offset + len), 0);
                model[offset..offset + len].fill(step as u8);
            }
            assert_eq!(file.len().unwrap(), model.len() as u64, "{name} step {step}");
            assert_eq!(read(&*file, 0, model.len()), model, "{name} step {step}");
        }
    }
}

#[test]
fn views_of_every_file_read_what_lies_behind_their_start() {
    for Subject { name, file, .. } in subjects() {
        file.write_at(0, &pattern(200)).unwrap();
        let view = View::new(file, 50..);
        assert_eq!(view.len().unwrap(), 150, "{name}");
        assert_eq!(read(&view, 0, 150), pattern(200)[50..], "{name}");
        assert_eq!(read_error(&view, 0, 151), ErrorKind::UnexpectedEof, "{name}");
    }
}
