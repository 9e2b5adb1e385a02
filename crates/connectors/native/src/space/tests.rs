//! What is handed out, and when it is handed out again.

use super::*;

impl Space {
    /// A commit that is in the file at once; the ranges that are free then.
    fn commit(&mut self) -> impl Iterator<Item = (u64, u64)> {
        self.seal(1);
        self.free_finished(1);
        let mut all = Pool::default();
        for (start, len) in self.free.iter().flat_map(Pool::iter) {
            all.insert(start, len, 0..u64::MAX);
        }
        all.iter().collect::<Vec<_>>().into_iter()
    }
}

#[test]
fn space_given_up_is_not_used_while_its_commit_is_under_way() {
    let mut space = Space::new(Policy::default(), 96);
    let a = space.allocate(50, DataKind::ObjectHeader);
    assert_eq!(space.commit().count(), 0);
    space.release(a, 50, Use::Metadata);
    space.seal(2);
    let b = space.allocate(40, DataKind::ObjectHeader);
    assert!(b != a && space.is_fresh(b.0, b.0 + 40));
    space.free_finished(1);
    assert_ne!(space.allocate(40, DataKind::ObjectHeader), a);
    space.free_finished(2);
    assert_eq!(space.allocate(40, DataKind::ObjectHeader), a);
    assert!(space.is_fresh(a.0, a.0 + 40) && !space.is_fresh(a.0 + 40, a.0 + 50));
}

#[test]
fn space_given_up_is_used_again_after_a_commit_and_not_before() {
    let mut space = Space::new(Policy::default(), 100);
    let a = space.allocate(50, DataKind::ObjectHeader);
    assert_eq!((a, space.end()), (Address(104), 154));
    assert_eq!(space.commit().count(), 1);
    space.release(a, 50, Use::Metadata);
    assert_eq!(space.allocate(8, DataKind::ObjectHeader), Address(160));
    assert_eq!(space.commit().collect::<Vec<_>>(), [(100, 60)]);
    assert_eq!(space.allocate(20, DataKind::ObjectHeader), Address(104));
    assert_eq!(space.allocate(30, DataKind::ObjectHeader), Address(128));
}

#[test]
fn space_taken_and_given_up_between_two_commits_is_used_again_at_once() {
    let mut space = Space::new(Policy::default(), 100);
    let a = space.allocate(50, DataKind::ObjectHeader);
    space.release(a, 50, Use::Metadata);
    assert_eq!(space.allocate(40, DataKind::ObjectHeader), a);
    assert_eq!(space.end(), 154);
}

#[test]
fn neighbours_of_unaligned_ranges_stay_in_use() {
    let mut space = Space::new(Policy::default(), 1000);
    space.release(Address(101), 21, Use::Metadata);
    assert_eq!(space.commit().collect::<Vec<_>>(), [(101, 21)]);
    assert_eq!(space.allocate(19, DataKind::ObjectHeader), Address(1000));
    assert_eq!(space.allocate(18, DataKind::ObjectHeader), Address(104));
    assert_eq!(space.commit().collect::<Vec<_>>(), [(101, 3)]);
}

#[test]
fn neighbours_join() {
    let mut space = Space::new(Policy::default(), 1000);
    for at in [0, 32, 16, 64] {
        space.release(Address(at), 16, Use::Metadata);
    }
    assert_eq!(space.commit().collect::<Vec<_>>(), [(0, 48), (64, 16)]);
}

fn paged() -> Space {
    Space::of_new_file(Policy::new(SpaceStrategy::Page, 1, 512), 48)
}

#[test]
fn small_things_of_one_use_share_pages_and_never_cross_them() {
    let mut space = paged();
    assert_eq!(space.allocate(400, DataKind::ObjectHeader), Address(48));
    assert_eq!(space.allocate(100, DataKind::ObjectHeader), Address(512));
    assert_eq!(space.allocate(100, DataKind::Raw), Address(1024));
    assert_eq!(space.allocate(64, DataKind::ObjectHeader), Address(448));
    assert_eq!(space.allocate(200, DataKind::Raw), Address(1128));
    assert_eq!(space.end(), 1536);
}

#[test]
fn large_things_begin_with_a_page_and_the_end_is_one() {
    let mut space = paged();
    assert_eq!(space.allocate(600, DataKind::Raw), Address(512));
    assert_eq!(space.allocate(512, DataKind::ObjectHeader), Address(1536));
    assert_eq!(space.end(), 2048);
    space.release(Address(512), 600, Use::Raw);
    assert_eq!(space.allocate(1000, DataKind::ObjectHeader), Address(512));
}

#[test]
fn a_page_that_is_free_is_used_for_anything() {
    let mut space = paged();
    let a = space.allocate(500, DataKind::Raw);
    assert_eq!(space.commit().collect::<Vec<_>>(), [(48, 464), (1012, 12)]);
    // What a page holds is known, whatever the caller says.
    space.release(a, 500, Use::Metadata);
    assert_eq!(space.commit().collect::<Vec<_>>(), [(48, 976)]);
    assert_eq!(space.free().collect::<Vec<_>>(), [(Class::Metadata, 48, 464), (Class::Large, 512, 512)]);
    assert_eq!(space.allocate(500, DataKind::ObjectHeader), a);
}

#[test]
fn without_managers_only_what_no_commit_has_is_used_again() {
    let mut space = Space::new(Policy::new(SpaceStrategy::None, 1, 4096), 96);
    let a = space.allocate(100, DataKind::ObjectHeader);
    space.release(a, 100, Use::Metadata);
    assert_eq!(space.allocate(100, DataKind::Raw), a);
    let b = space.allocate(50, DataKind::Raw);
    space.release(b, 50, Use::Raw);
    space.cut_end(space.used_end(&[], true));
    assert_eq!((space.commit().count(), space.end()), (0, 200 - 4));
    space.release(a, 100, Use::Metadata);
    assert_eq!(space.commit().count(), 0);
    assert_eq!(space.allocate(8, DataKind::ObjectHeader), b);
}

#[test]
fn what_is_below_the_threshold_is_not_kept() {
    let mut space = Space::new(Policy::new(SpaceStrategy::FsmAggregate, 50, 4096), 96);
    let (a, b) = (space.allocate(48, DataKind::ObjectHeader), space.allocate(56, DataKind::ObjectHeader));
    space.release(a, 48, Use::Metadata);
    space.release(b, 56, Use::Metadata);
    assert_eq!(space.commit().collect::<Vec<_>>(), [(144, 56)]);
}

#[test]
fn large_things_start_at_a_multiple_of_the_alignment() {
    let placement = FilePlacement { alignment_threshold: 1000, alignment: 4096, ..FilePlacement::default() };
    let mut space = Space::new(Policy::default().with_placement(placement), 100);
    assert_eq!(space.allocate(1000, DataKind::Raw), Address(4096));
    // What lies before is free for small things.
    assert_eq!(space.allocate(999, DataKind::Raw), Address(104));
    assert_eq!(space.allocate(1001, DataKind::Raw), Address(8192));
}

#[test]
fn metadata_has_a_block_of_its_own_until_it_is_given_back() {
    let placement = FilePlacement { metadata_block_bytes: 4096, ..FilePlacement::default() };
    let mut space = Space::new(Policy::default().with_placement(placement), 200);
    assert_eq!(space.allocate(16, DataKind::Raw), Address(200 + 4096));
    assert_eq!(space.allocate(100, DataKind::ObjectHeader), Address(200));
    assert_eq!(space.allocate(100, DataKind::ObjectHeader), Address(304));
    assert!(space.allocate(100, DataKind::Raw).0 > 4296);
    space.release_metadata_block();
    assert_eq!(space.allocate(100, DataKind::Raw), Address(408));
}
