//! Facts about the clock, all at one moment: Tuesday, 14 November 2023, 22:13:20 UTC.
//!
//! Winter in the north; a summer moment is used where it matters.

use super::*;
use crate::contract::BEGINNING;

fn told(text: &str) -> String {
    answer(text, BEGINNING).unwrap_or_else(|error| format!("error: {error}"))
}

#[test]
fn the_time_is_told_by_city() {
    assert_eq!(told("time in Tokyo"), "Tokyo: 07:13:20, Wednesday 15 November 2023 (Asia/Tokyo, UTC+09:00)");
    for text in [
        "Tokyo",
        "tokyo time",
        "What time is it in tokyo?",
        "what's the current time in TOKYO right now, please?",
        "asia/tokyo",
    ] {
        assert_eq!(told(text), told("time in Tokyo"), "{text}");
    }
    assert_eq!(
        told("new york"),
        "New York: 17:13:20, Tuesday 14 November 2023 (America/New_York, UTC-05:00)"
    );
    assert_eq!(told("New_York"), told("new york"));
    assert!(told("buenos aires").contains("America/Argentina/Buenos_Aires"));
}

#[test]
fn the_time_is_told_by_zone_name() {
    let berlin = "Berlin: 23:13:20, Tuesday 14 November 2023 (Europe/Berlin, UTC+01:00)";
    assert_eq!(told("what time is it in Europe/Berlin"), berlin);
    assert_eq!(told("EUROPE/BERLIN"), berlin);
}

#[test]
fn without_a_place_it_is_utc() {
    for text in ["", "now", "utc", "What time is it?", "UTC now", "gmt"] {
        assert!(told(text).ends_with(": 22:13:20, Tuesday 14 November 2023 (UTC)"), "{text}: {}", told(text));
    }
}

#[test]
fn abbreviations_and_distances_are_fixed() {
    assert_eq!(told("JST"), "JST: 07:13:20, Wednesday 15 November 2023 (UTC+09:00)");
    assert_eq!(told("time in PST"), "PST: 14:13:20, Tuesday 14 November 2023 (UTC-08:00)");
    assert!(told("UTC+5:30").ends_with("(UTC+05:30)"), "{}", told("UTC+5:30"));
    assert!(told("GMT -3").contains("19:13:20"), "{}", told("GMT -3"));
}

#[test]
fn large_cities_without_a_zone_of_their_own_are_known() {
    for (city, zone) in [
        ("Beijing", "Asia/Shanghai"),
        ("San Francisco", "America/Los_Angeles"),
        ("mumbai", "Asia/Kolkata"),
        ("münchen", "Europe/Berlin"),
        ("The Hague", "Europe/Amsterdam"),
        ("São Paulo", "America/Sao_Paulo"),
        ("St. Petersburg", "Europe/Moscow"),
    ] {
        assert!(told(&format!("time in {city}")).contains(zone), "{city}: {}", told(city));
    }
}

#[test]
fn summer_time_is_known() {
    let summer = Timestamp::parse("2024-07-01T12:00:00Z").unwrap();
    let told = answer("berlin", summer).unwrap();
    assert_eq!(told, "Berlin: 14:00:00, Monday 1 July 2024 (Europe/Berlin, UTC+02:00)");
}

#[test]
fn times_are_converted_between_places() {
    let expected = "15:00 in Berlin is 09:00 in New York, Tuesday 14 November 2023 \
                    (Europe/Berlin, UTC+01:00 to America/New_York, UTC-05:00)";
    for text in [
        "convert 15:00 Berlin to New York",
        "3pm Berlin in New York",
        "3 PM in Berlin to New York time",
        "what time is 15:00 Berlin in new york?",
        "15:00 Berlin → New York",
    ] {
        assert_eq!(told(text), expected, "{text}");
    }
    assert!(
        told("23:30 London in Tokyo").starts_with("23:30 in London is 08:30 in Tokyo, Wednesday 15"),
        "{}",
        told("23:30 London in Tokyo")
    );
    assert!(told("noon utc to tokyo").starts_with("12:00 in UTC is 21:00 in Tokyo"));
    assert!(told("midnight Berlin").starts_with("00:00 in Berlin is 23:00 in UTC"));
    assert!(told("12 am UTC to JST").starts_with("00:00 in UTC is 09:00 in JST"));
}

#[test]
fn today_is_today_in_the_place_the_time_is_of() {
    // In Tokyo the 15th has begun.
    assert!(
        told("9:00 Tokyo to UTC").contains("00:00 in UTC, Wednesday 15 November"),
        "{}",
        told("9:00 Tokyo to UTC")
    );
}

#[test]
fn an_unknown_place_is_answered_with_the_nearest_ones() {
    assert_eq!(told("time in Tokio"), "error: unknown place `Tokio`; did you mean Tokyo?");
    assert!(told("Berlyn").contains("Berlin"), "{}", told("Berlyn"));
    assert!(told("time in San Franzisko").contains("San Francisco"));
    assert_eq!(
        told("qqqqqqqqqq"),
        "error: unknown place `qqqqqqqqqq`; name a city such as Tokyo, or a time zone such as Europe/Berlin"
    );
    assert!(told("25:00 Berlin to UTC").starts_with("error: unknown place"));
}

#[test]
fn a_long_text_is_no_question_about_the_time() {
    assert!(told(&"x".repeat(301)).starts_with("error: that is too long"));
    assert!(told(&"x".repeat(300)).starts_with("error: unknown place"));
}

#[test]
fn a_moment_beyond_all_years_is_an_error() {
    assert_eq!(answer("now", Timestamp::from_millis(i64::MAX)), Err(ClockError::OutOfRange));
}
