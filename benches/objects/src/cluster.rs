//! The engine on a Ceph cluster: bulk in arrays of one size, to compare with `rados bench` on the same cluster.

use std::path::Path;

use objects::{Change, ContainerId, Fetch, Mode, ObjectId, Phase, Update, rados};

use crate::{Outcome, dkey, seconds};

const OBJECT: ObjectId = ObjectId { high: 1, low: 2 };
/// Arrays of one call.
const AT_ONCE: usize = 16;
const DATASETS: u64 = 1000;

/// Writes and reads `count` arrays of `bytes` bytes.
pub(crate) fn bulk(pool: &str, conf: &Path, bytes: usize, count: u64) -> Outcome<()> {
    let pool = rados::pool(pool, Some(conf))?;
    let id = ContainerId::from_name(&format!("bench of {}", std::process::id()));
    let store = pool.create(id)?;
    let content = vec![7; bytes];
    let written = seconds(|| {
        for chunk in 0..count {
            let changes = [Change::Records { akey: b"\0", record_size: 4, start: 0, bytes: &content }];
            let dkey = dkey(chunk);
            let (conditions, phase) = (&[], Phase::Content);
            store.update(&Update { object: OBJECT, dkey: &dkey, changes: &changes, conditions, phase })?;
        }
        Ok(store.flush()?)
    })?;
    let store = pool.open(id, Mode::Read)?;
    let mut capacities = vec![vec![0; bytes]; AT_ONCE];
    let read = seconds(|| {
        for first in (0..count).step_by(AT_ONCE) {
            let dkeys: Vec<[u8; 9]> = (first..count).take(AT_ONCE).map(dkey).collect();
            let fetch =
                |(dkey, into)| Fetch { object: OBJECT, dkey, akey: b"\0", record_size: 4, start: 0, into };
            let pairs =
                dkeys.iter().map(<[u8; 9]>::as_slice).zip(capacities.iter_mut().map(Vec::as_mut_slice));
            store.fetch(&mut pairs.map(fetch).collect::<Vec<_>>())?;
        }
        Ok(())
    })?;
    let rate = |seconds: f64| count as f64 * bytes as f64 / seconds / 1e6;
    println!("{count} arrays of {bytes} bytes: write {:.0} MB/s, read {:.0} MB/s", rate(written), rate(read));
    creations(&*pool.open(id, Mode::ReadWrite)?)?;
    Ok(pool.destroy(id)?)
}

/// What a thousand new datasets cost, one acknowledged write after the other and with one flush.
fn creations(store: &dyn objects::Store) -> Outcome<()> {
    let create = |low: u64, now: bool| {
        let object = ObjectId { high: 1, low };
        let akeys: [&[u8]; 3] = [b"Datatype", b"Dataspace", b"Creation Property List"];
        let changes = akeys.map(|akey| Change::Single(akey, &[0; 60]));
        let (dkey, conditions, phase) = (b"/Internal Metadata", &[], Phase::Description);
        let update = Update { object, dkey, changes: &changes, conditions, phase };
        let name = format!("dataset {low}");
        let link = [Change::Single(b"Link", &[1; 17])];
        let (dkey, phase) = (name.as_bytes(), Phase::Link);
        let link = Update { object: OBJECT, dkey, changes: &link, conditions: &[], phase };
        if now {
            store.update_now(&update).and_then(|()| store.update_now(&link))
        } else {
            store.update_many(&[update, link])
        }
    };
    let one_by_one = seconds(|| Ok(store.allocate(DATASETS / 10)?.try_for_each(|low| create(low, true))?))?;
    let together = seconds(|| {
        store.allocate(DATASETS)?.try_for_each(|low| create(low, false))?;
        Ok(store.flush()?)
    })?;
    let ratio = one_by_one * 10.0 / together;
    println!(
        "{DATASETS} datasets: {together:.2} s with one flush, {ratio:.1} times as fast as one after the other"
    );
    Ok(())
}
