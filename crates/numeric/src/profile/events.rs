//! A list of events of fixed length that keeps the long ones.

use super::data::Event;

/// Events of one member. When it is full, the shorter half is dropped, and from then on whatever
/// is shorter than what was kept; so it never grows, and outer events outlive those inside them.
#[derive(Debug)]
pub(crate) struct Events {
    list: Vec<Event>,
    capacity: usize,
    /// Events below this duration are dropped.
    shortest_ns: u64,
    dropped: u64,
}

impl Events {
    pub fn with_capacity(capacity: usize) -> Self {
        let capacity = capacity.max(2);
        Self {
            list: Vec::with_capacity(capacity),
            capacity,
            shortest_ns: 0,
            dropped: 0,
        }
    }

    pub fn push(&mut self, event: Event) {
        if event.duration_ns < self.shortest_ns {
            self.dropped += 1;
            return;
        }
        if self.list.len() == self.capacity {
            let half = self.capacity / 2;
            self.list
                .select_nth_unstable_by_key(half, |e| e.duration_ns);
            self.shortest_ns = self.list[half].duration_ns;
            self.list.drain(..half);
            self.dropped += half as u64;
        }
        self.list.push(event);
    }

    /// The events in the order in which they began, outer ones first, and how many were dropped;
    /// begins anew.
    pub fn take(&mut self) -> (Vec<Event>, u64) {
        let mut list = self.list.clone();
        list.sort_unstable_by_key(|e| (e.start_ns, std::cmp::Reverse(e.duration_ns)));
        self.list.clear();
        self.shortest_ns = 0;
        (list, std::mem::take(&mut self.dropped))
    }
}

#[cfg(test)]
mod tests {
    use super::super::data::Activity;
    use super::*;

    fn event(start_ns: u64, duration_ns: u64) -> Event {
        Event {
            activity: Activity::Front,
            start_ns,
            duration_ns,
            front: None,
            fronts: 0,
        }
    }

    #[test]
    fn the_longest_events_stay() {
        let mut events = Events::with_capacity(64);
        let room = events.list.capacity();
        for i in 0..1000u64 {
            events.push(event(i, (i * 617) % 1000));
        }
        assert_eq!(events.list.capacity(), room);
        let (kept, dropped) = events.take();
        assert_eq!(kept.len() as u64 + dropped, 1000);
        assert!(kept.len() >= 32 && kept.is_sorted_by_key(|e| e.start_ns));
        // The 32 longest of 1000 different durations last 968 ns and more.
        assert_eq!(kept.iter().filter(|e| e.duration_ns >= 968).count(), 32);
    }

    #[test]
    fn equal_durations_do_not_overflow_it() {
        let mut events = Events::with_capacity(8);
        (0..100).for_each(|i| events.push(event(i, 5)));
        let (kept, dropped) = events.take();
        assert!(kept.len() <= 8);
        assert_eq!(kept.len() as u64 + dropped, 100);
        assert_eq!(events.take(), (Vec::new(), 0));
    }
}
