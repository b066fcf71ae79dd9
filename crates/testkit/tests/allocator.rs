//! The counting allocator, in a binary of its own with a single test.

use tamarack_testkit::CountingAllocator;

#[global_allocator]
static HEAP: CountingAllocator = CountingAllocator::new();

#[test]
fn counts_calls_live_bytes_and_the_peak_and_refuses() {
    const SIZE: usize = 1 << 20;
    HEAP.reset_peak();
    let before = HEAP.counts();
    let mut block = vec![1u8; SIZE];
    assert_eq!(HEAP.counts().allocations, before.allocations + 1);
    assert_eq!(HEAP.counts().live_bytes, before.live_bytes + SIZE);
    block.reserve_exact(SIZE);
    assert_eq!(HEAP.counts().allocations, before.allocations + 2);
    assert_eq!(HEAP.counts().live_bytes, before.live_bytes + 2 * SIZE);
    drop(block);
    assert_eq!(HEAP.counts().live_bytes, before.live_bytes);
    assert!(HEAP.counts().peak_bytes >= before.live_bytes + 2 * SIZE);
    HEAP.reset_peak();
    assert_eq!(HEAP.counts().peak_bytes, before.live_bytes);

    HEAP.refuse_above(SIZE);
    let refused = Vec::<u8>::new().try_reserve_exact(SIZE + 1).is_err();
    let allowed = Vec::<u8>::new().try_reserve_exact(SIZE).is_ok();
    HEAP.refuse_above(usize::MAX);
    assert!(refused && allowed);
}
