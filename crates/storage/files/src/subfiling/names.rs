//! Names of subfiles and the configuration file, as libhdf5 has them.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// Subfiles of a file, at most: what a configuration file says is not believed further.
pub(super) const SUBFILES_MAX: u64 = 10_000;
/// Bytes of a configuration file, at most.
const CONFIG_BYTES_MAX: u64 = 8 << 20;

/// How bytes are spread over subfiles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stripes {
    /// Bytes of a stripe.
    pub(super) bytes: u64,
    /// Number of subfiles.
    pub(super) count: u64,
}

impl Stripes {
    pub(super) fn check(self) -> io::Result<Stripes> {
        match self {
            Stripes { bytes: 0, .. } | Stripes { count: 0, .. } => {
                Err(corrupt("stripes need a size and subfiles a number"))
            }
            Stripes { bytes, .. } if bytes > i64::MAX as u64 => Err(corrupt("stripes are too large")),
            Stripes { count, .. } if count > SUBFILES_MAX => {
                Err(corrupt(&format!("{count} subfiles are more than {SUBFILES_MAX}")))
            }
            stripes => Ok(stripes),
        }
    }
}

pub(super) fn corrupt(problem: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("subfiling: {problem}"))
}

/// The folders and the number that names are made of.
#[derive(Clone, Debug)]
pub(super) struct SubfileNames {
    /// The stub.
    pub(super) path: PathBuf,
    /// Where subfiles are.
    pub(super) subfile_folder: PathBuf,
    /// Where the configuration file is.
    pub(super) config_folder: PathBuf,
    /// The number of the stub in its file system. Early versions of libhdf5 had none in names.
    pub(super) number: Option<u64>,
}

impl SubfileNames {
    fn base(&self) -> String {
        let name = self.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        match self.number {
            Some(number) => format!("{name}.subfile_{number}"),
            None => format!("{name}.subfile"),
        }
    }

    pub(super) fn config(&self) -> PathBuf {
        self.config_folder.join(format!("{}.config", self.base()))
    }

    /// Returns the name of each subfile.
    fn subfile_names(&self, count: u64) -> impl Iterator<Item = String> {
        let (base, width) = (self.base(), count.to_string().len());
        (1..=count).map(move |number| format!("{base}_{number:0width$}_of_{count}"))
    }

    /// Returns the path of each subfile. Only their folder is the caller's: what a configuration file says is not followed.
    pub(super) fn subfiles(&self, count: u64) -> impl Iterator<Item = PathBuf> {
        let folder = self.subfile_folder.clone();
        self.subfile_names(count).map(move |name| folder.join(name))
    }

    /// Finds the configuration file: by the number of the stub, or else the only one there is, for files that were moved.
    pub(super) fn find(&mut self) -> io::Result<()> {
        if self.config().is_file() {
            return Ok(());
        }
        let missing = || {
            let problem = format!("there is no configuration file {}", self.config().display());
            io::Error::new(io::ErrorKind::NotFound, problem)
        };
        let name = self.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let (prefix, mut found) = (format!("{name}.subfile"), Vec::new());
        for entry in fs::read_dir(&self.config_folder)? {
            let file_name = entry?.file_name();
            let Some(text) = file_name.to_str() else { continue };
            let between = text.strip_prefix(&prefix).and_then(|rest| rest.strip_suffix(".config"));
            match between.map(|between| (between, between.strip_prefix('_').map(str::parse))) {
                Some(("", _)) => found.push(None),
                Some((_, Some(Ok(number)))) => found.push(Some(number)),
                _ => {}
            }
        }
        match found.as_slice() {
            [number] => {
                self.number = *number;
                Ok(())
            }
            [] => Err(missing()),
            _ => {
                let problem =
                    format!("{} configuration files are there, and none is for this file", found.len());
                Err(io::Error::new(io::ErrorKind::InvalidInput, problem))
            }
        }
    }

    /// Reads the configuration file.
    pub(super) fn read_config(&self) -> io::Result<Stripes> {
        let mut text = String::new();
        let read = fs::File::open(self.config())?.take(CONFIG_BYTES_MAX + 1).read_to_string(&mut text)?;
        if read as u64 > CONFIG_BYTES_MAX {
            return Err(corrupt("the configuration file is too long"));
        }
        let number = |key: &str| {
            let value = text.lines().find_map(|line| line.trim().strip_prefix(key)?.strip_prefix('='));
            let number = value.and_then(|value| value.trim().parse().ok());
            number.ok_or_else(|| corrupt(&format!("the configuration file has no {key}")))
        };
        Stripes { bytes: number("stripe_size")?, count: number("subfile_count")? }.check()
    }

    /// Writes the configuration file.
    pub(super) fn write_config(&self, stripes: Stripes) -> io::Result<()> {
        use std::io::Write;
        let whole = |path: &Path| std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        let mut text =
            format!("stripe_size={}\naggregator_count=1\nsubfile_count={}\n", stripes.bytes, stripes.count);
        text.push_str(&format!("hdf5_file={}\n", whole(&self.path).display()));
        text.push_str(&format!("subfile_dir={}\n", whole(&self.subfile_folder).display()));
        self.subfile_names(stripes.count).for_each(|name| text.push_str(&(name + "\n")));
        let mut file = fs::File::create(self.config())?;
        file.write_all(text.as_bytes())?;
        file.sync_all()
    }
}

/// Returns the folder of a path.
pub(super) fn folder_of(path: &Path) -> PathBuf {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new(".")).to_owned()
}
