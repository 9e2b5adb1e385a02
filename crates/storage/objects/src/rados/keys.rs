//! Pairs of dkey and akey as one key without a 0 byte, in the same order: `esc(dkey) 01 esc(akey)`, where `esc`
//! makes 00, 01 and 02 into 02 01, 02 02 and 02 03.

const SEPARATOR: u8 = 1;
const ESCAPE: u8 = 2;

/// Appends a key's escaped bytes.
pub(super) fn escape(key: &[u8], out: &mut Vec<u8>) {
    for &byte in key {
        if byte <= ESCAPE {
            out.push(ESCAPE);
            out.push(byte + 1);
        } else {
            out.push(byte);
        }
    }
}

/// Returns the bytes before an escape; `None` for what is no escape of anything.
pub(super) fn unescape(escaped: &[u8]) -> Option<Vec<u8>> {
    let mut key = Vec::with_capacity(escaped.len());
    let mut bytes = escaped.iter();
    while let Some(&byte) = bytes.next() {
        key.push(match byte {
            ESCAPE => bytes.next().filter(|code| (1..=3).contains(*code))? - 1,
            0 | SEPARATOR => return None,
            other => other,
        });
    }
    Some(key)
}

/// Appends what all keys of a dkey begin with.
pub(super) fn dkey_prefix(dkey: &[u8], out: &mut Vec<u8>) {
    escape(dkey, out);
    out.push(SEPARATOR);
}

/// Appends a whole key.
pub(super) fn pair(dkey: &[u8], akey: &[u8], out: &mut Vec<u8>) {
    dkey_prefix(dkey, out);
    escape(akey, out);
}

/// Returns the escaped dkey and akey of a key.
pub(super) fn split(key: &[u8]) -> Option<(&[u8], &[u8])> {
    let mut at = 0;
    loop {
        match *key.get(at)? {
            SEPARATOR => return Some((key.get(..at)?, key.get(at + 1..)?)),
            // What follows an escape may look like a separator.
            ESCAPE => at += 2,
            _ => at += 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_keep_the_order_and_come_back() {
        let mut all = vec![vec![]];
        for byte in [0u8, 1, 2, 3, 0xff] {
            for other in [None, Some(0u8), Some(1), Some(2), Some(3), Some(0xff)] {
                all.push([byte].into_iter().chain(other).collect());
            }
        }
        let mut pairs: Vec<(Vec<u8>, Vec<u8>)> = Vec::new();
        for dkey in &all {
            pairs.extend(all.iter().map(|akey| (dkey.clone(), akey.clone())));
        }
        pairs.sort();
        let mut last = Vec::new();
        for (dkey, akey) in &pairs {
            let mut key = Vec::new();
            pair(dkey, akey, &mut key);
            assert!(last < key && !key.contains(&0));
            let (left, right) = split(&key).unwrap();
            assert_eq!((unescape(left).unwrap(), unescape(right).unwrap()), (dkey.clone(), akey.clone()));
            last = key;
        }
    }
}
