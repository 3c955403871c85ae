//! Cards in plain English that made-up agents can be made from, and questions about them.
//!
//! Promises: [`CARDS`] cards that differ in what is done, to what and for whom, the same at every run; enough
//! different questions. Their words are far more frequent than those of real cards (some hundred words in
//! all), which is the hard case for the lexical half.

/// How many different cards there are.
pub const CARDS: usize = 2 * DEEDS.len() * THINGS.len();

/// A card.
#[must_use]
pub fn card(number: usize) -> String {
    let (deeds, things) = (DEEDS.len(), THINGS.len());
    let (deed, thing) = (DEEDS[number % deeds].0, THINGS[number / deeds % things]);
    let (people, other) = (PEOPLE[number % PEOPLE.len()], THINGS[(number * 7 + 3) % things]);
    format!("{deed} {thing} for {people}. Knows {other} too")
}

/// A question; the same number gives the same, and few numbers give the same as another.
#[must_use]
pub fn question(number: usize) -> String {
    let (deed, thing) = (DEEDS[number % DEEDS.len()].1, THINGS[number / DEEDS.len() % THINGS.len()]);
    let people = PEOPLE[number / 3 % PEOPLE.len()];
    format!("Who can {deed} {thing} for {people} before {} o'clock?", number / 320 % 1000)
}

/// What agents do, and how a caller asks for it.
const DEEDS: [(&str, &str); 16] = [
    ("Translates", "translate"),
    ("Summarises", "sum up"),
    ("Checks the figures of", "check the figures in"),
    ("Books and reschedules", "book"),
    ("Compares the prices of", "compare prices of"),
    ("Writes unit tests and documentation for", "write tests for"),
    ("Draws charts and dashboards from", "draw a chart from"),
    ("Answers questions about", "answer a question about"),
    ("Extracts names, dates and amounts from", "extract the dates from"),
    ("Monitors and sends alerts about", "warn me about"),
    ("Proofreads and corrects", "proofread"),
    ("Recommends", "recommend me"),
    ("Schedules the delivery of", "deliver"),
    ("Finds legal risks in", "find the risks in"),
    ("Converts between formats of", "convert"),
    ("Explains to beginners", "explain"),
];

/// To what.
const THINGS: [&str; 20] = [
    "rental contracts and insurance policies",
    "train and flight tickets",
    "recipes and restaurant menus",
    "Python and Rust source code",
    "medical reports and lab results",
    "weather forecasts and storm warnings",
    "invoices, receipts and tax forms",
    "stock prices and company balance sheets",
    "football results and league tables",
    "photographs and satellite images",
    "scientific papers on chemistry",
    "job applications and interviews",
    "customer complaints by e-mail",
    "electricity meters and solar panels",
    "maps, hiking routes and bicycle paths",
    "songs, concerts and playlists",
    "SQL databases and spreadsheets",
    "school lessons in mathematics",
    "network logs and security incidents",
    "houses and flats for sale",
];

/// The audience.
const PEOPLE: [&str; 10] = [
    "a small law firm",
    "families with children",
    "hospital nurses",
    "students abroad",
    "a city council",
    "freelance designers",
    "factory engineers",
    "elderly travellers",
    "an online shop",
    "volunteer firefighters",
];
