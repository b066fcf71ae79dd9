//! A profile counts all work and changes none.

mod common;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use common::{cube, plan};
use tamarack_numeric::{
    Activity, Call, Control, Event, FactorOptions, NumericFactor, Phase, Span, Team,
};

/// Events of a lane nest, outer ones first.
fn nest(events: &[Event]) -> bool {
    let mut open: Vec<u64> = Vec::new();
    events.iter().all(|event| {
        let end = event.start_ns + event.duration_ns;
        while open.last().is_some_and(|&outer| outer <= event.start_ns) {
            open.pop();
        }
        let inside = open.last().is_none_or(|&outer| end <= outer);
        open.push(end);
        inside
    })
}

#[test]
fn a_profile_counts_every_front_and_second_and_changes_no_bit() {
    let (a, order) = cube(24);
    for threads in [1, 2, 4] {
        let plan = plan(&a, &order, threads, 64);
        let (options, control) = (FactorOptions::default(), Control::default());
        let make = |team: Arc<Team>| {
            NumericFactor::factorize(plan.clone(), team, &a, &options, &control).unwrap()
        };
        let plain = Arc::new(Team::new(threads));
        let f = make(plain.clone());
        assert!(plain.profiler().is_none());
        let team = Arc::new(Team::profiled(threads));
        let mut g = make(team.clone());
        let symbolic = plan.symbolic();
        assert!((0..symbolic.supernodes()).all(|s| f.panel(s) == g.panel(s)));

        let profile = team.profiler().unwrap().take();
        for class in &profile.classes {
            let inside = |s: &usize| {
                let order = symbolic.npiv(*s) + symbolic.nupd(*s);
                order >= class.smallest && class.largest.is_none_or(|largest| order <= largest)
            };
            let fronts = (0..symbolic.supernodes()).filter(inside).count();
            assert_eq!(class.fronts, fronts as u64, "{class:?}");
            assert_eq!(class.flops > 0, fronts > 0);
        }
        let flops: u128 = profile.classes.iter().map(|c| c.flops).sum();
        assert_eq!(flops, plan.flops_done());

        // Every lane of every phase adds up to the phase, and the phases to what a caller waits for. The first
        // factorization also waits for memory and threads.
        let began = Instant::now();
        g.refactorize(&a, &control).unwrap();
        let secs = began.elapsed().as_secs_f64();
        let profile = team.profiler().unwrap().take();
        for phase in &profile.phases {
            for lane in &phase.lanes {
                let sum = lane.busy_secs() + lane.idle_secs;
                let slack = 0.02 * phase.wall_secs + 2e-5;
                assert!((sum - phase.wall_secs).abs() < slack, "{phase:?}");
            }
        }
        let factorize = profile.factorize_secs();
        assert!(
            factorize < secs && factorize > 0.3 * secs,
            "{factorize} {secs}"
        );
        assert!(profile.events.len() == threads && profile.events.iter().all(|e| nest(e)));
        let single = |e: &&Event| e.activity == Activity::Front;
        let single = profile.events.iter().flatten().filter(single).count();
        assert!(single > 0 && single < symbolic.supernodes());
        assert_eq!(team.profiler().unwrap().take().factorize_secs(), 0.0);
    }
}

#[test]
fn what_members_share_outside_all_phases_is_the_rest_of_the_call() {
    let team = Team::profiled(2);
    for (call, rest) in [
        (Call::Solve, Phase::Refine),
        (Call::Factorize, Phase::Setup),
    ] {
        // Each waits for the other, so that both have a share.
        let (here, began) = (AtomicUsize::new(0), Instant::now());
        let meet = |_, _| {
            here.fetch_add(1, Ordering::Relaxed);
            while here.load(Ordering::Relaxed) < 2 && began.elapsed() < Duration::from_secs(10) {
                std::thread::yield_now();
            }
        };
        team.calling(call, || {
            team.for_each_as(Span::new(Activity::Share), 2, meet);
        });
        for phase in &team.profiler().unwrap().take().phases {
            let is_rest = phase.phase == rest;
            assert_eq!(phase.lanes[1].busy_secs() > 0.0, is_rest, "{phase:?}");
        }
    }
}
