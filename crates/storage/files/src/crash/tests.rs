use super::*;
use std::collections::BTreeSet;

fn recorded(base: &[u8], act: impl FnOnce(&Crash)) -> Log {
    let crash = Crash::new(Arc::new(Memory::from_image(base.to_vec()))).unwrap();
    act(&crash);
    crash.log()
}

fn images(log: &Log, states: impl Iterator<Item = CrashState>) -> BTreeSet<Vec<u8>> {
    states.map(|state| log.image(&state).unwrap()).collect()
}

fn set(images: &[&[u8]]) -> BTreeSet<Vec<u8>> {
    images.iter().map(|image| image.to_vec()).collect()
}

/// Two pending writes that overlap, one durable before them.
fn small() -> Log {
    recorded(b"....", |crash| {
        crash.write_at(0, b"A").unwrap();
        crash.sync(Sync::Data).unwrap();
        crash.write_at(1, b"BB").unwrap();
        crash.write_at(2, b"CCC").unwrap();
    })
}

#[test]
fn prefixes_are_the_file_after_each_event() {
    let log = small();
    let found: Vec<Vec<u8>> = log.prefixes().map(|state| log.image(&state).unwrap()).collect();
    assert_eq!(found, [&b"...."[..], b"A...", b"A...", b"ABB.", b"ABCCC"]);
}

#[test]
fn subsets_of_a_small_stream_are_the_known_set() {
    let log = small();
    assert_eq!(
        images(&log, log.subsets(1).unwrap()),
        set(&[b"....", b"A..."]),
        "before the sync it may be lost"
    );
    assert_eq!(images(&log, log.subsets(2).unwrap()), set(&[b"A..."]), "after it may not");
    assert_eq!(images(&log, log.subsets(4).unwrap()), set(&[b"A...", b"ABB.", b"A.CCC", b"ABCCC"]));
}

#[test]
fn orders_of_a_small_stream_are_the_known_set() {
    let log = small();
    assert_eq!(images(&log, log.orders(4).unwrap()), set(&[b"ABCCC", b"ABBCC"]));
}

#[test]
fn lengths_are_reordered_like_writes() {
    let log = recorded(b"ab", |crash| {
        crash.set_len(1).unwrap();
        crash.write_at(3, b"d").unwrap();
    });
    let expected = set(&[b"ab", b"a", b"ab\0d", b"a\0\0d"]);
    assert_eq!(images(&log, log.subsets(2).unwrap()), expected);
    assert_eq!(images(&log, log.orders(2).unwrap()), set(&[b"a\0\0d", b"a"]));
}

/// A step of the model: offset and bytes, or `None` for bytes that were lost while the length was kept.
type Step = (usize, usize, Option<&'static [u8]>);

const THREE: [(usize, &[u8]); 3] = [(0, b"11"), (1, b"22"), (3, b"3")];

fn model_step(index: usize) -> Step {
    let (offset, data) = THREE[index];
    (offset, offset + data.len(), Some(data))
}

fn model_image(steps: &[Step]) -> Vec<u8> {
    let mut image = b"--".to_vec();
    for (start, end, data) in steps {
        image.resize(image.len().max(*end), 0);
        data.iter().for_each(|data| image[*start..*end].copy_from_slice(data));
    }
    image
}

/// Written out by hand: for each crash point the subsets, the orders, and one write reduced to its length.
fn model_images() -> BTreeSet<Vec<u8>> {
    let kept: [&[usize]; 12] = [
        &[],
        &[0],
        &[1],
        &[2],
        &[0, 1],
        &[0, 2],
        &[1, 2],
        &[0, 1, 2],
        &[1, 0],
        &[1, 0, 2],
        &[2, 1, 0],
        &[2, 0, 1],
    ];
    let whole = kept.iter().map(|kept| kept.iter().map(|&index| model_step(index)).collect::<Vec<_>>());
    let reduced = [(1, 0), (2, 0), (2, 1), (3, 0), (3, 1), (3, 2)].map(|(count, lost)| {
        let mut steps: Vec<Step> = (0..count).map(model_step).collect();
        steps[lost].2 = None;
        steps
    });
    whole.chain(reduced).map(|steps| model_image(&steps)).collect()
}

#[test]
fn every_state_of_three_events_equals_the_model() {
    let log = recorded(b"--", |crash| {
        THREE.iter().for_each(|(offset, data)| crash.write_at(*offset as u64, data).unwrap());
    });
    assert_eq!(images(&log, log.states(StatesMax::default())), model_images());
}

#[test]
fn writes_tear_only_at_sector_boundaries() {
    let log = recorded(&[0; 1536], |crash| crash.write_at(500, &[1; 600]).unwrap());
    assert_eq!(log.events()[0].sectors(), [0..12, 12..524, 524..600]);
    let found = images(&log, log.tears(1));
    let torn = |kept: std::ops::Range<usize>| {
        let mut image = vec![0; 1536];
        image[kept].fill(1);
        image
    };
    let expected: BTreeSet<_> = [
        torn(500..512),
        torn(500..1024),
        torn(512..1100),
        torn(1024..1100),
        torn(0..0), // the length alone, which did not change
    ]
    .into();
    assert_eq!(found, expected);
}

#[test]
fn torn_growth_leaves_zeros_or_a_shorter_file() {
    let log = recorded(b"", |crash| crash.write_at(0, &[1; 1000]).unwrap());
    let found = images(&log, log.tears(1));
    let last_only = [vec![0; 512], vec![1; 488]].concat();
    assert_eq!(found, BTreeSet::from([vec![1; 512], last_only, vec![0; 1000]]));
}

#[test]
fn durable_events_survive_every_draw() {
    let log = recorded(b"", |crash| {
        crash.write_at(0, b"kept").unwrap();
        crash.sync(Sync::All).unwrap();
        (0..40u64).for_each(|i| crash.write_at(4 + i * 300, &[7; 700]).unwrap());
    });
    let mut distinct = BTreeSet::new();
    for state in log.sample(11).take(300) {
        let image = log.image(&state).unwrap();
        assert!(state.at < 2 || image.starts_with(b"kept"), "{state}");
        distinct.insert(image);
    }
    assert!(distinct.len() > 150, "draws differ: {}", distinct.len());
}

#[test]
fn a_draw_can_be_made_again_from_what_it_prints() {
    let log = small();
    let state = log.sample(42).nth(17).unwrap();
    assert!(state.to_string().ends_with("(seed 42, draw 17)"), "{state}");
    assert_eq!(log.draw(42, 17), state);
    assert_ne!(
        log.sample(1).take(20).map(|s| s.kept).collect::<Vec<_>>(),
        log.sample(2).take(20).map(|s| s.kept).collect::<Vec<_>>()
    );
}

#[test]
fn draws_reach_every_state_of_a_small_stream() {
    let log = small();
    let systematic = images(&log, log.states(StatesMax::default()));
    let drawn = images(&log, log.sample(3).take(2000));
    assert!(systematic.is_subset(&drawn));
}

#[test]
fn failed_calls_leave_no_event() {
    let log = recorded(b"", |crash| {
        crash.write_at(u64::MAX, b"xx").unwrap_err();
        crash.set_len(u64::MAX).unwrap_err();
        crash.write_at(9, b"").unwrap();
    });
    assert_eq!(log.events(), []);
}

#[test]
fn long_streams_are_not_enumerated() {
    let log = recorded(b"", |crash| (0..30).for_each(|i| crash.write_at(i, b"x").unwrap()));
    assert!(log.subsets(30).is_none() && log.orders(30).is_none());
    assert!(log.subsets(24).is_some() && log.orders(8).is_some());
    assert_eq!(log.pending(99), 0..30, "past the end is the end");
}

#[test]
fn impossible_states_are_errors() {
    let log = recorded(b"", |crash| crash.set_len(4).unwrap());
    for kept in [
        SurvivingEvent { event: 7, part: SurvivingPart::Whole },
        SurvivingEvent { event: 0, part: SurvivingPart::Length },
    ] {
        let state = CrashState { at: 1, kept: vec![kept], drawn: None };
        assert_eq!(log.image(&state).unwrap_err().kind(), io::ErrorKind::InvalidInput);
    }
}

#[test]
fn a_single_fault_spares_the_other_pending_events() {
    let log = recorded(&[0; 1024], |crash| {
        crash.write_at(0, &[1; 8]).unwrap();
        crash.write_at(508, &[2; 8]).unwrap();
        crash.sync(Sync::Data).unwrap();
        crash.write_at(0, &[3; 8]).unwrap();
    });
    let found = images(&log, log.faults(1));
    assert!(found.iter().all(|image| image[0] < 2), "the last write comes later");
    let (dropped, alone) = (|i: &Vec<u8>| i[0] == 1 && i[508] == 0, |i: &Vec<u8>| i[0] == 0 && i[508] == 2);
    assert!(found.iter().any(dropped) && found.iter().any(alone));
    let torn =
        |i: &&Vec<u8>| (i[508] == 2) != (i[512] == 2) && i[512..516].iter().all(|b| [0, 2].contains(b));
    let noisy = |i: &&Vec<u8>| i[508..516].iter().any(|b| ![0, 2].contains(b));
    assert!(found.iter().any(|i| torn(&i)) && found.iter().any(|i| noisy(&i)));
}
