//! Places: what people call them, and the time zone they are in.
//!
//! Promises: every name of the IANA time zone database is known, whole or by its last part, in any case, with
//! spaces or underscores and with or without accents; so are the usual abbreviations, distances such as
//! `UTC+2`, and large cities and countries that have no zone of their own. An abbreviation means its fixed
//! distance from UTC, summer and winter.

use jiff::tz::{Offset, TimeZone, TimeZoneDatabase};

use super::ClockError;

/// Most places that are suggested for one that is unknown.
const SUGGESTIONS: usize = 3;

/// Longest name for which similar ones are looked for; the effort grows with it.
const LONGEST_NAME: usize = 40;

/// Parts of the world in the order in which a city is looked for; what is not here are old names such as
/// `US/Eastern`.
const AREAS: [&str; 10] = [
    "Europe",
    "America",
    "Asia",
    "Africa",
    "Australia",
    "Pacific",
    "Atlantic",
    "Indian",
    "Antarctica",
    "Arctic",
];

/// Abbreviations with their distance from UTC in minutes. Where one has several meanings, the one with most
/// people.
const ABBREVIATIONS: [(&str, i32); 44] = [
    ("UTC", 0),
    ("GMT", 0),
    ("Z", 0),
    ("WET", 0),
    ("WEST", 60),
    ("BST", 60),
    ("CET", 60),
    ("WAT", 60),
    ("CEST", 120),
    ("EET", 120),
    ("CAT", 120),
    ("SAST", 120),
    ("EEST", 180),
    ("MSK", 180),
    ("EAT", 180),
    ("TRT", 180),
    ("GST", 240),
    ("PKT", 300),
    ("IST", 330),
    ("NPT", 345),
    ("ICT", 420),
    ("WIB", 420),
    ("SGT", 480),
    ("HKT", 480),
    ("AWST", 480),
    ("PHT", 480),
    ("JST", 540),
    ("KST", 540),
    ("ACST", 570),
    ("AEST", 600),
    ("AEDT", 660),
    ("NZST", 720),
    ("NZDT", 780),
    ("BRT", -180),
    ("ART", -180),
    ("AST", -240),
    ("EDT", -240),
    ("EST", -300),
    ("CDT", -300),
    ("CST", -360),
    ("MDT", -360),
    ("MST", -420),
    ("PDT", -420),
    ("PST", -480),
];

/// Large cities and countries that the database does not name, with the zone of the database that applies to
/// them.
const OTHERS: [(&str, &[&str]); 41] = [
    ("Africa/Cairo", &["Alexandria"]),
    ("Africa/Johannesburg", &["Cape Town", "Durban", "Pretoria", "South Africa"]),
    ("Africa/Lagos", &["Abuja", "Nigeria"]),
    ("Africa/Nairobi", &["Kenya"]),
    ("America/Bogota", &["Medellin", "Colombia"]),
    ("America/Chicago", &["Houston", "Dallas", "Austin", "San Antonio", "New Orleans", "Minneapolis"]),
    ("America/Denver", &["Salt Lake City", "Albuquerque"]),
    (
        "America/Los_Angeles",
        &["San Francisco", "Seattle", "San Diego", "Las Vegas", "Portland", "San Jose", "LA", "SF"],
    ),
    ("America/Mexico_City", &["Guadalajara"]),
    ("America/New_York", &["Washington", "Boston", "Miami", "Philadelphia", "Atlanta", "NYC", "Orlando"]),
    ("America/Sao_Paulo", &["Rio de Janeiro", "Brasilia"]),
    ("America/Toronto", &["Ottawa", "Quebec"]),
    ("America/Vancouver", &["Victoria"]),
    ("Asia/Bangkok", &["Thailand", "Phuket"]),
    ("Asia/Dubai", &["Abu Dhabi", "UAE"]),
    ("Asia/Ho_Chi_Minh", &["Hanoi", "Vietnam"]),
    ("Asia/Jerusalem", &["Tel Aviv", "Haifa"]),
    ("Asia/Karachi", &["Islamabad", "Lahore", "Pakistan"]),
    (
        "Asia/Kolkata",
        &["Mumbai", "Delhi", "New Delhi", "Bangalore", "Bengaluru", "Chennai", "Hyderabad", "Pune", "India"],
    ),
    ("Asia/Manila", &["Philippines"]),
    ("Asia/Qatar", &["Doha"]),
    ("Asia/Riyadh", &["Mecca", "Jeddah", "Saudi Arabia"]),
    ("Asia/Seoul", &["Busan", "Korea", "South Korea"]),
    ("Asia/Shanghai", &["Beijing", "Peking", "Shenzhen", "Guangzhou", "Chengdu", "Wuhan", "China"]),
    ("Asia/Tokyo", &["Osaka", "Kyoto", "Yokohama", "Nagoya", "Sapporo"]),
    ("Europe/Amsterdam", &["Rotterdam", "Hague", "Netherlands", "Holland"]),
    ("Europe/Athens", &["Greece", "Thessaloniki"]),
    (
        "Europe/Berlin",
        &[
            "Munich",
            "München",
            "Hamburg",
            "Frankfurt",
            "Cologne",
            "Köln",
            "Stuttgart",
            "Düsseldorf",
            "Leipzig",
            "Germany",
        ],
    ),
    ("Europe/Brussels", &["Antwerp", "Belgium"]),
    ("Europe/Istanbul", &["Ankara", "Izmir"]),
    (
        "Europe/London",
        &["Manchester", "Birmingham", "Edinburgh", "Glasgow", "Liverpool", "UK", "England", "Scotland"],
    ),
    ("Europe/Madrid", &["Barcelona", "Valencia", "Seville", "Spain"]),
    ("Europe/Moscow", &["Saint Petersburg", "St Petersburg"]),
    ("Europe/Paris", &["Lyon", "Marseille", "Toulouse", "Nice", "France"]),
    ("Europe/Rome", &["Milan", "Naples", "Turin", "Florence", "Venice", "Italy"]),
    ("Europe/Stockholm", &["Gothenburg", "Malmö", "Sweden"]),
    ("Europe/Vienna", &["Salzburg", "Graz", "Wien", "Austria"]),
    ("Europe/Warsaw", &["Krakow", "Gdansk"]),
    ("Europe/Zurich", &["Geneva", "Basel", "Bern", "Lausanne", "Switzerland"]),
    ("Pacific/Auckland", &["Wellington", "Christchurch", "New Zealand"]),
    ("Europe/Kyiv", &["Ukraine", "Lviv", "Odesa"]),
];

/// A place with a known time zone.
#[derive(Debug, Clone)]
pub(super) struct Place {
    /// What it is called.
    pub(super) name: String,
    /// Its time zone.
    pub(super) zone: TimeZone,
}

impl Place {
    /// Finds a place by one of its names.
    pub(super) fn find(name: &str) -> Result<Self, ClockError> {
        let wanted = folded(name);
        abbreviation(&wanted)
            .or_else(|| distance(name))
            .or_else(|| in_database(&wanted))
            .or_else(|| other(&wanted))
            .ok_or_else(|| ClockError::UnknownPlace {
                name: name.chars().take(LONGEST_NAME).collect(),
                near: near(&wanted),
            })
    }

    fn of_zone(name: &str, zone: &str) -> Option<Self> {
        let zone = TimeZoneDatabase::bundled().get(zone).ok()?;
        Some(Self { name: name.to_owned(), zone })
    }
}

fn abbreviation(wanted: &str) -> Option<Place> {
    let (name, minutes) = ABBREVIATIONS.iter().find(|(name, _)| name.eq_ignore_ascii_case(wanted))?;
    let zone =
        if *minutes == 0 { TimeZone::UTC } else { Offset::from_seconds(minutes * 60).ok()?.to_time_zone() };
    Some(Place { name: (*name).to_owned(), zone })
}

/// A distance from UTC: `UTC+2`, `GMT-03:30`, `+05:30`.
fn distance(name: &str) -> Option<Place> {
    let upper = name.to_ascii_uppercase().replace(' ', "");
    let rest = upper.strip_prefix("UTC").or_else(|| upper.strip_prefix("GMT")).unwrap_or(&upper);
    let (sign, digits) = rest
        .strip_prefix('+')
        .map(|digits| (1, digits))
        .or_else(|| rest.strip_prefix('-').map(|digits| (-1, digits)))?;
    let (hours, minutes) = digits.split_once(':').unwrap_or((digits, "0"));
    let (hours, minutes): (i32, i32) = (hours.parse().ok()?, minutes.parse().ok()?);
    if !(0..=14).contains(&hours) || !(0..60).contains(&minutes) {
        return None;
    }
    let zone = Offset::from_seconds(sign * (hours * 3600 + minutes * 60)).ok()?.to_time_zone();
    Some(Place { name: format!("UTC{rest}"), zone })
}

fn in_database(wanted: &str) -> Option<Place> {
    let names = TimeZoneDatabase::bundled();
    let fits = |name: &str| folded(name) == wanted || folded(city(name)) == wanted;
    let name =
        names.available().filter(|name| fits(name.as_str())).min_by_key(|name| area_rank(name.as_str()))?;
    Place::of_zone(&city(name.as_str()).replace('_', " "), name.as_str())
}

fn other(wanted: &str) -> Option<Place> {
    let (zone, name) = others().find(|(_, name)| folded(name) == wanted)?;
    Place::of_zone(name, zone)
}

fn others() -> impl Iterator<Item = (&'static str, &'static str)> {
    OTHERS.iter().flat_map(|(zone, names)| names.iter().map(move |name| (*zone, *name)))
}

/// The last part of a name of the database.
fn city(name: &str) -> &str {
    name.rsplit('/').next().unwrap_or(name)
}

fn area_rank(name: &str) -> usize {
    let area = name.split('/').next().unwrap_or(name);
    AREAS.iter().position(|known| *known == area).unwrap_or(AREAS.len())
}

/// The name in the form in which names are compared.
fn folded(name: &str) -> String {
    let plain = |letter: char| match letter {
        '_' | '-' => ' ',
        'à' | 'á' | 'â' | 'ã' | 'ä' | 'å' => 'a',
        'è' | 'é' | 'ê' | 'ë' => 'e',
        'ì' | 'í' | 'î' | 'ï' => 'i',
        'ò' | 'ó' | 'ô' | 'õ' | 'ö' | 'ø' => 'o',
        'ù' | 'ú' | 'û' | 'ü' => 'u',
        'ç' => 'c',
        'ñ' => 'n',
        other => other,
    };
    name.trim().to_lowercase().chars().filter(|letter| !matches!(letter, '.' | '\'')).map(plain).collect()
}

/// Names that are most like the one that is unknown.
fn near(wanted: &str) -> Vec<String> {
    let length = wanted.chars().count();
    if length > LONGEST_NAME {
        return Vec::new();
    }
    let bearable = (length / 3).max(1);
    let database = TimeZoneDatabase::bundled();
    let cities = database.available().filter(|name| area_rank(name.as_str()) < AREAS.len());
    let cities = cities.map(|name| city(name.as_str()).replace('_', " "));
    let all = cities.chain(others().map(|(_, name)| name.to_owned()));
    let scored = all.map(|name| (edits(wanted, &folded(&name)), name));
    let mut near: Vec<(usize, String)> = scored.filter(|(edits, _)| *edits <= bearable).collect();
    near.sort();
    near.dedup();
    near.into_iter().take(SUGGESTIONS).map(|(_, name)| name).collect()
}

/// How many letters must be put in, left out or changed to make one word of the other (Levenshtein distance).
fn edits(one: &str, two: &str) -> usize {
    let two: Vec<char> = two.chars().collect();
    let mut row: Vec<usize> = (0..=two.len()).collect();
    for (at, letter) in one.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], at + 1);
        for (column, other) in two.iter().enumerate() {
            let changed = diagonal + usize::from(letter != *other);
            diagonal = row[column + 1];
            row[column + 1] = changed.min(diagonal + 1).min(row[column] + 1);
        }
    }
    row[two.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_of_the_database_is_found_whole_and_by_its_city() {
        for name in TimeZoneDatabase::bundled().available() {
            assert!(Place::find(name.as_str()).is_ok(), "{name}");
            assert!(Place::find(&city(name.as_str()).replace('_', " ").to_uppercase()).is_ok(), "{name}");
        }
    }

    #[test]
    fn every_other_place_names_a_zone_that_exists() {
        for (zone, name) in others() {
            assert_eq!(Place::find(name).unwrap().name, name);
            assert!(TimeZoneDatabase::bundled().get(zone).is_ok(), "{zone}");
        }
    }

    #[test]
    fn edits_are_counted_both_ways() {
        assert_eq!(edits("kitten", "sitting"), 3);
        assert_eq!(edits("", "abc"), 3);
        assert_eq!(edits("tokyo", "tokyo"), 0);
    }
}
