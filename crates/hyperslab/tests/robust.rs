//! No input hurts: files behind published CVEs, and mutations of good files, are read to the end.
//!
//! Nothing may panic, abort, overflow the stack, take 10 seconds or 1 GiB. A stack overflow or an abort ends
//! this process, so the file that is being read is named in a file next to the test's temporary output first.
//!
//! `HYPERSLAB_CORPUS` names a corpus; else `../shared/corpus` next to the repository is used if it exists. Files that
//! `tests/golden/make.py` makes, good ones and broken ones, are used in any case.
//! `HYPERSLAB_MUTATIONS` says how many mutations are tried (2,000), `HYPERSLAB_SEED` where they start.

use std::alloc::{GlobalAlloc, Layout, System};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use hyperslab::check::Check;
use hyperslab::vol::FileAccess;
use hyperslab::{File, Limits};
use testkit::oracles::{files_under, golden};

/// Counts what is allocated.
struct Counting;

static USED: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

#[expect(unsafe_code, reason = "an allocator can be counted in no other way")]
// SAFETY: every call goes to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let used = USED.fetch_add(layout.size(), Ordering::Relaxed) + layout.size();
        PEAK.fetch_max(used, Ordering::Relaxed);
        unsafe { System.alloc(layout) }
    }
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        let used = USED.fetch_add(layout.size(), Ordering::Relaxed) + layout.size();
        PEAK.fetch_max(used, Ordering::Relaxed);
        unsafe { System.alloc_zeroed(layout) }
    }
    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        USED.fetch_sub(layout.size(), Ordering::Relaxed);
        unsafe { System.dealloc(ptr, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The folder of the corpus with files behind published CVEs.
const CVE_FILES: &str = "HDFGroup+cve_hdf5";
const TIME_MAX: Duration = Duration::from_secs(10);
const MEMORY_BYTES_MAX: usize = 1 << 30;

fn corpus() -> Option<PathBuf> {
    let named = std::env::var_os("HYPERSLAB_CORPUS").map(PathBuf::from);
    let next_to = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus");
    named.or(Some(next_to)).filter(|p| p.is_dir())
}

/// Small files that programs of others wrote: those of the corpus, where there is one, and golden files.
fn good_images() -> Vec<(String, Vec<u8>)> {
    let mut files = golden().map(|folder| files_under(&folder.join("files"))).unwrap_or_default();
    if let Some(corpus) = corpus() {
        files.extend(files_under(&corpus.join("files")));
        files.extend(files_under(&corpus.join("tools/h5dump")));
        files.retain(|p| !p.to_string_lossy().contains(CVE_FILES));
    }
    let small = |p: &PathBuf| std::fs::read(p).ok().filter(|i| i.len() > 64 && i.len() < 1 << 20);
    files.iter().filter_map(|p| Some((p.display().to_string(), small(p)?))).collect()
}

/// Opens an image and reads all of it, under the limits for input that no one vouches for.
fn read_everything(image: Vec<u8>) {
    let access = FileAccess::read().with_limits(Limits::strict());
    let check = Check { bytes_max: 128 << 20, findings_max: 200 };
    if let Ok(container) = native::open_image(image, &access) {
        check.run(container.as_ref(), &mut |_| {});
        if let Ok(file) = File::from_container(container, "(image)", &access) {
            let _ = file.visit(|stop| {
                let _ = stop.object.map(|object| hyperslab::ObjectHandle::open(object.clone()));
                Ok(std::ops::ControlFlow::Continue(()))
            });
        }
    }
}

/// Reads one image; the error says what went wrong with the reading, not with the image.
fn survive(name: &str, image: Vec<u8>) -> Result<(), String> {
    let before = USED.load(Ordering::Relaxed);
    PEAK.store(before, Ordering::Relaxed);
    let start = Instant::now();
    let result = std::panic::catch_unwind(|| read_everything(image));
    let (took, peak) = (start.elapsed(), PEAK.load(Ordering::Relaxed).saturating_sub(before));
    match result {
        Err(_) => Err(format!("{name}: panicked")),
        Ok(()) if took > TIME_MAX => Err(format!("{name}: took {took:?}")),
        Ok(()) if peak > MEMORY_BYTES_MAX => Err(format!("{name}: took {} MiB", peak >> 20)),
        Ok(()) => Ok(()),
    }
}

fn note(name: &str) {
    let _ = std::fs::write(std::env::temp_dir().join("hyperslab-robust-last.txt"), name);
}

fn survive_all(images: impl Iterator<Item = (String, Vec<u8>)>) {
    let mut failures = Vec::new();
    for (name, image) in images {
        note(&name);
        if let Err(failure) = survive(&name, image) {
            eprintln!("{failure}");
            failures.push(failure);
        }
    }
    assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), failures.join("\n"));
}

/// Reads every file under a folder; how many there are.
fn survive_folder(folder: &Path) -> usize {
    let files = files_under(folder);
    eprintln!("{} files in {}", files.len(), folder.display());
    survive_all(files.iter().filter_map(|p| Some((p.display().to_string(), std::fs::read(p).ok()?))));
    files.len()
}

#[test]
fn files_behind_cves_end_in_an_error_or_a_correct_read() {
    let Some(golden) = golden() else { return };
    assert!(survive_folder(&golden.join("broken")) >= 50);
    if let Some(corpus) = corpus() {
        assert!(survive_folder(&corpus.join("files").join(CVE_FILES)) > 0);
    }
}

/// Returns whether reading everything of a file meets a failure.
fn is_refused(image: Vec<u8>) -> bool {
    let access = FileAccess::read().with_limits(Limits::strict());
    let check = Check { bytes_max: 128 << 20, findings_max: 200 };
    let Ok(container) = native::open_image(image, &access) else { return true };
    let mut findings = 0;
    check.run(container.as_ref(), &mut |_| findings += 1);
    findings > 0
}

#[test]
fn one_wrong_field_is_noticed() {
    let Some(golden) = golden() else { return };
    let mut accepted: Vec<_> = files_under(&golden.join("broken"));
    accepted.retain(|path| !is_refused(std::fs::read(path).unwrap()));
    let names: Vec<_> = accepted.iter().filter_map(|path| path.file_stem()?.to_str()).collect();
    assert!(names.is_empty(), "read without a failure: {names:?}");
}

/// Signatures of structures without a checksum, whose fields anyone can forge.
const FORGEABLE: [&[u8; 4]; 4] = [b"TREE", b"SNOD", b"HEAP", b"GCOL"];

/// Each of the first fields of each structure, made to point to the structure itself, to nothing, or past the end.
fn forged(name: &str, image: &[u8]) -> Vec<(String, Vec<u8>)> {
    let starts = image.windows(4).enumerate().filter(|(_, w)| FORGEABLE.iter().any(|s| s[..] == **w));
    let mut forged = Vec::new();
    for (at, _) in starts.take(6) {
        let values = [at as u64, 0, 1, u64::MAX - 1, image.len() as u64 - 1, 1 << 40];
        for (field, value) in (4..48).step_by(4).flat_map(|field| values.map(|value| (at + field, value))) {
            let mut copy = image.to_vec();
            if let Some(bytes) = copy.get_mut(field..field + 8) {
                bytes.copy_from_slice(&value.to_le_bytes());
                forged.push((format!("{name} ({value:#x} at {field:#x})"), copy));
            }
        }
    }
    forged
}

#[test]
fn forged_structures_end_in_an_error_or_a_read() {
    let Some(golden) = golden() else { return };
    let mut files = files_under(&golden.join("files"));
    files.retain(|p| p.metadata().is_ok_and(|m| m.len() < 1 << 16));
    let mut seen = 0;
    for path in &files {
        let images = forged(&path.display().to_string(), &std::fs::read(path).unwrap());
        seen += images.len();
        survive_all(images.into_iter());
    }
    eprintln!("{seen} forged images of {} files", files.len());
    assert!(seen > 1000, "{seen} forged images");
}

/// A small generator of random numbers (xorshift64*), so that a seed repeats a run.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() % n.max(1) as u64) as usize
    }
}

/// Byte flips, truncation, and fields set to 0, 1, all ones and around the end of the file.
fn mutate(image: &mut Vec<u8>, random: &mut Random) {
    let end = image.len() as u64;
    for _ in 0..1 + random.below(4) {
        let at = random.below(image.len());
        let width = [1, 2, 4, 8][random.below(4)].min(image.len() - at);
        let value = match random.below(9) {
            0 => 0,
            1 => 1,
            2 => u64::MAX,
            3 => end,
            4 => end - 1,
            5 => end + 1,
            6 => u64::MAX >> 1,
            7 => random.next(),
            _ => u64::from(image[at] ^ 1 << random.below(8)),
        };
        image[at..at + width].copy_from_slice(&value.to_le_bytes()[..width]);
    }
    if random.below(10) == 0 {
        image.truncate(random.below(image.len()).max(1));
    }
}

#[test]
fn mutations_of_good_files_end_in_an_error_or_a_read() {
    let number =
        |name: &str, default: u64| std::env::var(name).ok().and_then(|v| v.parse().ok()).unwrap_or(default);
    let (count, seed) = (number("HYPERSLAB_MUTATIONS", 2000), number("HYPERSLAB_SEED", 20261115));
    let images = good_images();
    eprintln!("{count} mutations of {} files from seed {seed}", images.len());
    assert!(images.len() >= 50, "{} files", images.len());
    survive_all((0..count).map(|n| {
        let mut random = Random(seed.wrapping_add(n).wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
        let (name, image) = &images[random.below(images.len())];
        let mut image = image.clone();
        mutate(&mut image, &mut random);
        (format!("{name} (mutation {n} of seed {seed})"), image)
    }));
}
