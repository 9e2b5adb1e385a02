//! What is handed out, and when it is handed out again.

use super::*;

/// What is free after a commit.
fn free_after_commit(space: &mut Space) -> Vec<(u64, u64)> {
    space.commit();
    space.free().map(|(_, start, len)| (start, len)).collect()
}

#[test]
fn space_given_up_is_used_again_after_a_commit_and_not_before() {
    let mut space = Space::new(Policy::default(), 100);
    let a = space.allocate(50, Use::Metadata);
    assert_eq!((a, space.end()), (Address(104), 154));
    assert_eq!(free_after_commit(&mut space).len(), 1);
    space.release(a, 50, Use::Metadata);
    assert_eq!(space.allocate(8, Use::Metadata), Address(160));
    assert_eq!(free_after_commit(&mut space), [(100, 60)]);
    assert_eq!(space.allocate(20, Use::Metadata), Address(104));
    assert_eq!(space.allocate(30, Use::Metadata), Address(128));
}

#[test]
fn space_taken_and_given_up_between_two_commits_is_used_again_at_once() {
    let mut space = Space::new(Policy::default(), 100);
    let a = space.allocate(50, Use::Metadata);
    space.release(a, 50, Use::Metadata);
    assert_eq!(space.allocate(40, Use::Metadata), a);
    assert_eq!(space.end(), 154);
}

#[test]
fn neighbours_of_unaligned_ranges_stay_in_use() {
    let mut space = Space::new(Policy::default(), 1000);
    space.release(Address(101), 21, Use::Metadata);
    assert_eq!(free_after_commit(&mut space), [(101, 21)]);
    assert_eq!(space.allocate(19, Use::Metadata), Address(1000));
    assert_eq!(space.allocate(18, Use::Metadata), Address(104));
    assert_eq!(free_after_commit(&mut space), [(101, 3)]);
}

#[test]
fn neighbours_join() {
    let mut space = Space::new(Policy::default(), 1000);
    for at in [0, 32, 16, 64] {
        space.release(Address(at), 16, Use::Metadata);
    }
    assert_eq!(free_after_commit(&mut space), [(0, 48), (64, 16)]);
}

fn paged() -> Space {
    Space::of_new_file(Policy::new(SpaceStrategy::Page, 1, 512), 48)
}

#[test]
fn small_things_of_one_use_share_pages_and_never_cross_them() {
    let mut space = paged();
    assert_eq!(space.allocate(400, Use::Metadata), Address(48));
    assert_eq!(space.allocate(100, Use::Metadata), Address(512));
    assert_eq!(space.allocate(100, Use::Raw), Address(1024));
    assert_eq!(space.allocate(64, Use::Metadata), Address(448));
    assert_eq!(space.allocate(200, Use::Raw), Address(1128));
    assert_eq!(space.end(), 1536);
}

#[test]
fn large_things_begin_with_a_page_and_the_end_is_one() {
    let mut space = paged();
    assert_eq!(space.allocate(600, Use::Raw), Address(512));
    assert_eq!(space.allocate(512, Use::Metadata), Address(1536));
    assert_eq!(space.end(), 2048);
    space.release(Address(512), 600, Use::Raw);
    assert_eq!(space.allocate(1000, Use::Metadata), Address(512));
}

#[test]
fn a_page_that_is_free_is_used_for_anything() {
    let mut space = paged();
    let a = space.allocate(500, Use::Raw);
    assert_eq!(free_after_commit(&mut space), [(48, 464), (1012, 12)]);
    // What a page holds is known, whatever the caller says.
    space.release(a, 500, Use::Metadata);
    assert_eq!(free_after_commit(&mut space), [(48, 464), (512, 512)]);
    assert_eq!(space.free().collect::<Vec<_>>(), [(Class::Metadata, 48, 464), (Class::Large, 512, 512)]);
    assert_eq!(space.allocate(500, Use::Metadata), a);
}

#[test]
fn without_managers_only_what_no_commit_has_is_used_again() {
    let mut space = Space::new(Policy::new(SpaceStrategy::None, 1, 4096), 96);
    let a = space.allocate(100, Use::Metadata);
    space.release(a, 100, Use::Metadata);
    assert_eq!(space.allocate(100, Use::Raw), a);
    let b = space.allocate(50, Use::Raw);
    space.release(b, 50, Use::Raw);
    space.cut_end();
    assert_eq!((free_after_commit(&mut space).len(), space.end()), (0, 200 - 4));
    space.release(a, 100, Use::Metadata);
    assert!(free_after_commit(&mut space).is_empty());
    assert_eq!(space.allocate(8, Use::Metadata), b);
}

#[test]
fn what_is_below_the_threshold_is_not_kept() {
    let mut space = Space::new(Policy::new(SpaceStrategy::FsmAggregate, 50, 4096), 96);
    let (a, b) = (space.allocate(48, Use::Metadata), space.allocate(56, Use::Metadata));
    space.release(a, 48, Use::Metadata);
    space.release(b, 56, Use::Metadata);
    assert_eq!(free_after_commit(&mut space), [(144, 56)]);
}

#[test]
fn a_commit_tells_what_it_took_and_gave_up_and_nothing_else() {
    let mut space = Space::new(Policy::default(), 1000);
    for at in [0, 100, 200, 300] {
        space.release(Address(at), 50, Use::Metadata);
    }
    space.commit();
    let taken =
        [space.allocate(32, Use::Metadata), space.allocate(16, Use::Metadata), space.allocate(80, Use::Raw)];
    assert_eq!(taken, [Address(0), Address(32), Address(1000)]);
    space.release(taken[1], 16, Use::Metadata);
    space.release(Address(400), 24, Use::Metadata);
    assert!(space.is_fresh(0, 50) && space.is_fresh(100, 150) && space.is_fresh(990 + 10, 1080));
    assert!(!space.is_fresh(400, 424) && !space.is_fresh(40, 60));
    let change = space.commit();
    assert_eq!(change.lost, [(0, 48), (1000, 80)]);
    assert_eq!(change.gained, [(400, 24), (32, 16)]);
    assert!(space.is_fresh(32, 50) && !space.is_fresh(0, 32) && !space.is_fresh(1000, 1080));
}
