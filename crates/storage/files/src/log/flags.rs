//! The flags of a log, with the numbers of libhdf5 (`H5FD_LOG_…`).

use std::io;

/// What is logged: a set of flags.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogFlags(pub u64);

macro_rules! flags {
    ($($(#[$doc:meta])* $name:ident = $value:expr, $text:literal;)+) => {
        impl LogFlags {
            $($(#[$doc])* pub const $name: LogFlags = LogFlags($value);)+
            /// Flags by name.
            const NAMED: &'static [(&'static str, LogFlags)] = &[$(($text, LogFlags::$name)),+];
        }
    };
}

flags! {
    /// Changes of the length, and syncs.
    TRUNCATE = 0x1, "truncate";
    /// Where is read.
    LOC_READ = 0x2, "loc_read";
    /// Where is written.
    LOC_WRITE = 0x4, "loc_write";
    /// Where is read and written. libhdf5 has seeks too; here are none.
    LOC_IO = 0xe, "loc_io";
    /// How often each byte is read.
    FILE_READ = 0x10, "file_read";
    /// How often each byte is written.
    FILE_WRITE = 0x20, "file_write";
    /// How often each byte is read and written.
    FILE_IO = 0x30, "file_io";
    /// The kind of data of each byte.
    FLAVOR = 0x40, "flavor";
    /// The number of reads.
    NUM_READ = 0x80, "num_read";
    /// The number of writes.
    NUM_WRITE = 0x100, "num_write";
    /// The number of seeks, which is 0.
    NUM_SEEK = 0x200, "num_seek";
    /// The number of changes of the length.
    NUM_TRUNCATE = 0x400, "num_truncate";
    /// All numbers.
    NUM_IO = 0x780, "num_io";
    /// The time that opening the file took.
    TIME_OPEN = 0x800, "time_open";
    /// The time of reads.
    TIME_READ = 0x2000, "time_read";
    /// The time of writes.
    TIME_WRITE = 0x4000, "time_write";
    /// The time of changes of the length.
    TIME_TRUNCATE = 0x1_0000, "time_truncate";
    /// All times.
    TIME_IO = 0x3_f800, "time_io";
    /// Space that is allocated.
    ALLOC = 0x4_0000, "alloc";
    /// Space that is free again.
    FREE = 0x8_0000, "free";
    /// All of it.
    ALL = 0xf_ffff, "all";
}

impl LogFlags {
    /// Returns whether all of `flags` are set.
    pub fn has(self, flags: LogFlags) -> bool {
        self.0 & flags.0 == flags.0
    }

    /// Reads a number, also a hexadecimal one, or names with `+` between them: `loc_io+num_io`.
    ///
    /// # Errors
    /// Returns `InvalidInput` for other texts.
    pub fn parse(text: &str) -> io::Result<LogFlags> {
        let number = match text.strip_prefix("0x") {
            Some(digits) => u64::from_str_radix(digits, 16).ok(),
            None => text.parse().ok(),
        };
        if let Some(number) = number {
            return Ok(LogFlags(number));
        }
        text.split('+')
            .try_fold(LogFlags(0), |flags, name| Ok(LogFlags(flags.0 | Self::named(name.trim())?.0)))
    }

    fn named(name: &str) -> io::Result<LogFlags> {
        let known = Self::NAMED.iter().find(|(known, _)| *known == name).map(|(_, flags)| *flags);
        known.ok_or_else(|| {
            let names: Vec<_> = Self::NAMED.iter().map(|(name, _)| *name).collect();
            let problem = format!("a log has no flag {name}; it has {}", names.join(", "));
            io::Error::new(io::ErrorKind::InvalidInput, problem)
        })
    }
}
