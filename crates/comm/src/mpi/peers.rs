//! Detection of processes of this machine that have ended.

use std::fs;

/// A process of this machine.
struct Peer {
    id: u32,
    /// When it began: its number may be another's one day.
    began: u64,
}

/// Returns the machine since its last start, and the space in which its processes are numbered.
fn machine() -> Option<String> {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    let space = fs::read_link("/proc/self/ns/pid").ok()?;
    Some(format!("{} {}", boot.trim(), space.display()))
}

/// Returns the state and the start time of a process, if there is one.
fn look(id: u32) -> Option<(String, u64)> {
    let text = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    // The second field is a name in parentheses, with anything in it.
    let mut fields = text.get(text.rfind(')')? + 1..)?.split_whitespace();
    let state = fields.next()?.to_owned();
    Some((state, fields.nth(18)?.parse().ok()?))
}

/// Returns what this process tells others of itself; nothing where the system does not say.
pub(super) fn own() -> Vec<u8> {
    let id = std::process::id();
    let own = || Some(format!("{id} {} {}", look(id)?.1, machine()?));
    own().unwrap_or_default().into_bytes()
}

/// Returns the process that sent these bytes, if it runs on this machine.
fn of(bytes: &[u8]) -> Option<Peer> {
    let mut words = std::str::from_utf8(bytes).ok()?.splitn(3, ' ');
    let (id, began) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
    (words.next()? == machine()?).then_some(Peer { id, began })
}

/// The members of a group, as far as they run on this machine.
#[derive(Default)]
pub(super) struct Peers {
    /// By rank.
    here: Vec<Option<Peer>>,
    have_processors: bool,
}

impl Peers {
    /// Returns the members that sent these bytes.
    pub(super) fn of(all: &[Vec<u8>]) -> Self {
        let here: Vec<_> = all.iter().map(|bytes| of(bytes)).collect();
        let count = here.iter().flatten().count();
        Peers { have_processors: 0 < count && count <= processors(), here }
    }

    /// Returns whether the machine has a processor for each of them.
    pub(super) fn have_processors(&self) -> bool {
        self.have_processors
    }

    /// Returns the first rank that ended.
    pub(super) fn gone(&self) -> Option<usize> {
        self.here.iter().position(|peer| peer.as_ref().is_some_and(Peer::is_gone))
    }
}

/// Returns the processors of this machine: all of them, because each rank may be bound to one. 0 where the system does
/// not say.
fn processors() -> usize {
    let text = fs::read_to_string("/sys/devices/system/cpu/online").unwrap_or_default();
    text.trim().split(',').map(|range| count_of(range).unwrap_or(0)).sum()
}

/// Returns how many numbers a range has: `4` or `0-3`.
fn count_of(range: &str) -> Option<usize> {
    let (first, last) = range.split_once('-').unwrap_or((range, range));
    let (first, last): (usize, usize) = (first.parse().ok()?, last.parse().ok()?);
    Some((last + 1).saturating_sub(first))
}

impl Peer {
    /// Returns whether the process ended, whether or not its parent has taken note of that.
    fn is_gone(&self) -> bool {
        let is_running = |(state, began): (String, u64)| began == self.began && state != "Z" && state != "X";
        !look(self.id).is_some_and(is_running)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn a_process_is_there_until_it_ends() {
        let own = of(&own()).expect("this machine says what runs");
        assert!(!own.is_gone());
        assert!(Peer { began: own.began + 1, ..own }.is_gone());
        let mut child = Command::new("cat").stdin(std::process::Stdio::piped()).spawn().unwrap();
        let peer = Peer { id: child.id(), began: look(child.id()).unwrap().1 };
        assert!(!peer.is_gone());
        child.kill().unwrap();
        // Dead, though no one has asked for its status, or gone.
        while !peer.is_gone() {
            system::thread::yield_now();
        }
        child.wait().unwrap();
        assert!(peer.is_gone());
    }

    #[test]
    fn processors_are_counted_in_ranges() {
        assert_eq!(
            [count_of("0"), count_of("0-3"), count_of("8-8"), count_of("")],
            [Some(1), Some(4), Some(1), None]
        );
        assert!(processors() > 0, "this machine says how many it has");
    }

    #[test]
    fn members_of_more_ranks_than_processors_yield() {
        assert!(Peers::of(&[own()]).have_processors());
        assert!(!Peers::of(&vec![own(); processors() + 1]).have_processors());
        assert!(!Peers::of(&[Vec::new()]).have_processors(), "no one knows where it runs");
    }

    #[test]
    fn processes_elsewhere_are_not_looked_for() {
        assert!(of(b"1 2 another machine").is_none());
        assert!(of(b"").is_none());
    }
}
