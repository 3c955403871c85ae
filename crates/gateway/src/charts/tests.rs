//! What is promised about the charts, told as facts.
//!
//! Readings are made up; nothing waits and no counter is read.

use super::*;

/// A reading so many steps after the start, with as many requests to A2A as `requests` says.
fn reading(step: i64, requests: u64) -> Reading {
    let mut sums = Sums::default();
    sums.requests[Face::A2a as usize] = requests;
    sums.took[3] = requests;
    let site = TaskFigures { started: requests, tokens_out: requests * 7, ..TaskFigures::default() };
    let at = Timestamp::from_millis(step * 10_000);
    Reading { at, requests: sums, site, cpu: step as f64 * 5.0, memory: 1_000 + step as u64 }
}

fn rings(steps: i64) -> Rings {
    let mut rings = Rings::default();
    (0..=steps).for_each(|step| rings.take(reading(step, step as u64 * 20)));
    rings
}

fn drawn(rings: &Rings, range: Range, now: &Reading) -> Drawn {
    Drawn::of(range, &rings.points(range, now))
}

#[test]
fn a_point_tells_what_happened_since_the_one_before() {
    let rings = rings(2);
    let now = Reading { at: Timestamp::from_millis(25_000), ..reading(2, 45) };
    let drawn = drawn(&rings, Range::Quarter, &now);
    assert_eq!(drawn.at, [10, 20, 25]);
    assert_eq!(drawn.requests["a2a"], [2.0, 2.0, 1.0], "the last one is not over yet");
    assert_eq!(drawn.requests["mcp"], [0.0; 3]);
    assert_eq!(drawn.tasks_started, [20, 20, 5]);
    assert_eq!(drawn.tokens_out, [140, 140, 35]);
    assert_eq!(drawn.memory, [1_001, 1_002, 1_002]);
    assert_eq!(drawn.cpu, [0.5, 0.5, 0.0]);
}

#[test]
fn no_range_holds_more_than_its_points() {
    let steps = (COARSE * JOINED) as i64 + 50;
    let rings = rings(steps);
    let now = reading(steps, steps as u64 * 20);
    assert_eq!(drawn(&rings, Range::Quarter, &now).at.len(), FINE / 4 + 1);
    assert_eq!(drawn(&rings, Range::Hour, &now).at.len(), FINE + 1);
    let day = drawn(&rings, Range::Day, &now);
    assert_eq!((day.at.len(), day.step), (COARSE + 1, 120));
    assert_eq!(day.tasks_started[0], 240, "a coarse point is the sum of its fine ones");
    assert!((day.requests["a2a"][0] - 2.0).abs() < f64::EPSILON, "and its rate their average");
    assert_eq!(*day.tasks_started.last().unwrap(), 2 * 20, "what is not joined yet is shown as well");
}

#[test]
fn quantiles_lie_within_their_bucket_and_nothing_is_told_of_no_requests() {
    let mut point = Point::default();
    assert_eq!(point.quantile(0.5), None);
    // Ninety below a quarter of a millisecond, ten between one and two and a half.
    (point.requests.took[1], point.requests.took[4]) = (90, 10);
    let (p50, p99) = (point.quantile(0.5).unwrap(), point.quantile(0.99).unwrap());
    assert!(p50 > 0.1 && p50 < 0.25, "{p50}");
    assert!(p99 > 1.0 && p99 < 2.5, "{p99}");
    point.requests.took = Default::default();
    point.requests.took[LATENCY.len()] = 1;
    assert_eq!(point.quantile(0.5), Some(120_000.0), "beyond the last end only that it was longer is known");
}

#[test]
fn a_counter_that_began_anew_is_no_negative_rate() {
    let point = Point::between(&reading(2, 40), &reading(3, 1));
    assert_eq!(point.requests.requests[Face::A2a as usize], 0);
}
