//! Roster: the sites of a demo planet and what their agents do.
//!
//! Promises: pure; every agent answers without a key or a model. Two sites have the agent that counts words,
//! so that one of them can be lost.

/// A file of a site, by its path in the site's folder.
pub(super) type File = (&'static str, &'static str);

/// One site of a planet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Member {
    /// What people call it.
    pub(super) name: String,
    /// Its agents, for people.
    pub(super) agents: &'static str,
    /// The files that make them.
    pub(super) files: &'static [File],
}

/// What is asked: an agent of two sites fits it.
pub(super) const QUESTION: &str = "how many words does my text have?";

/// What that agent is then given.
pub(super) const TEXT: &str = "many small sites make one large web of agents";

/// What it answers.
pub(super) const ANSWER: &str = "9";

const CALC: File = (
    "agents/calc/agent.toml",
    r#"name = "calc"
description = "Works out arithmetic: powers, roots, percentages, exact large whole numbers"
visibility = "public"

[[skills]]
id = "calculate"
name = "Calculate"
description = "Works out an expression and answers with the number"
tags = ["math", "arithmetic", "calculator"]
examples = ["what is 2 + 2?", "15% of 80"]

[runtime]
kind = "builtin"
builtin = "calc"
"#,
);

const WORDS: File = (
    "agents/words/agent.toml",
    r#"name = "words"
description = "Counts the words of a text"
visibility = "public"

[[skills]]
id = "count-words"
name = "Count words"
description = "Takes a text and answers with the number of its words"
tags = ["text", "words", "count", "length"]
examples = ["how many words does this sentence have?"]

[runtime]
kind = "exec"
command = ["wc", "-w"]
"#,
);

const CLOCK: File = (
    "agents/clock/agent.toml",
    r#"name = "clock"
description = "Tells the time anywhere in the world and converts times between time zones"
visibility = "public"

[[skills]]
id = "time"
name = "Time in a place"
description = "Tells the present time and date in a city or a time zone"
tags = ["time", "date", "city"]
examples = ["time in Tokyo", "convert 15:00 Berlin to New York"]

[runtime]
kind = "builtin"
builtin = "clock"
"#,
);

const ALMANAC: File = (
    "agents/almanac/agent.toml",
    r#"name = "almanac"
description = "Knows the planets of the solar system: their size, moons, days and years"
visibility = "public"

[runtime]
kind = "builtin"
builtin = "library"
path = "docs"
talk = false
"#,
);

const ALMANAC_INNER: File = (
    "agents/almanac/docs/inner-planets.md",
    "# Inner planets\n\n## Mercury\nMercury is the smallest planet. A year on Mercury lasts 88 days. It has no moon.\n\n\
     ## Venus\nVenus is the hottest planet, about 465 degrees Celsius. A day on Venus is longer than its year.\n\n\
     ## Earth\nEarth has one moon. A year lasts 365.25 days.\n\n\
     ## Mars\nMars has two moons, Phobos and Deimos. A day on Mars lasts 24 hours and 37 minutes.\n",
);

const ALMANAC_OUTER: File = (
    "agents/almanac/docs/outer-planets.md",
    "# Outer planets\n\n## Jupiter\nJupiter is the largest planet. Its four large moons are Io, Europa, Ganymede and Callisto.\n\n\
     ## Saturn\nSaturn is known for its rings. Its largest moon is Titan.\n\n\
     ## Uranus\nUranus rotates on its side. A year on Uranus lasts 84 years of Earth.\n\n\
     ## Neptune\nNeptune has the strongest winds. Its largest moon is Triton.\n",
);

const SORTER: File = (
    "agents/sorter/agent.toml",
    r#"name = "sorter"
description = "Sorts the lines of a text by the alphabet"
visibility = "public"

[[skills]]
id = "sort-lines"
name = "Sort lines"
description = "Takes a list with one item on each line and gives it back in alphabetical order"
tags = ["text", "list", "sort", "alphabet"]
examples = ["put these names into alphabetical order"]

[runtime]
kind = "exec"
command = ["sort"]
"#,
);

const UPPER: File = (
    "agents/upper/agent.toml",
    r#"name = "upper"
description = "Writes a text in capital letters"
visibility = "public"

[[skills]]
id = "upper-case"
name = "Upper case"
description = "Changes every letter of a text into a capital letter"
tags = ["text", "capital", "uppercase"]
examples = ["write this in capitals"]

[runtime]
kind = "exec"
command = ["tr", "a-z", "A-Z"]
"#,
);

/// The sites in the order in which they join; after the last one the list begins again after Home.
const KINDS: [(&str, &str, &[File]); 7] = [
    ("Home", "calc", &[CALC]),
    ("Press", "words", &[WORDS]),
    ("Mirror", "words, upper", &[WORDS, UPPER]),
    ("Observatory", "clock", &[CLOCK]),
    ("Archive", "almanac", &[ALMANAC, ALMANAC_INNER, ALMANAC_OUTER]),
    ("Workshop", "sorter", &[SORTER]),
    ("School", "calc, upper", &[CALC, UPPER]),
];

/// The first so many sites of a planet.
pub(super) fn members(count: usize) -> Vec<Member> {
    let again = KINDS.len() - 1;
    let member = |number: usize| {
        let round = number.saturating_sub(1) / again;
        let (name, agents, files) = if number == 0 { KINDS[0] } else { KINDS[1 + (number - 1) % again] };
        let name = if round == 0 { name.to_owned() } else { format!("{name} {}", round + 1) };
        Member { name, agents, files }
    };
    (0..count).map(member).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use agentsite_host::Manifest;

    use super::*;

    #[test]
    fn every_agent_is_one_that_a_site_takes_and_others_learn_of() {
        let files = KINDS.iter().flat_map(|(_, _, files)| files.iter());
        for (path, text) in files.filter(|(path, _)| path.ends_with(".toml")) {
            let manifest = Manifest::read(text).unwrap_or_else(|error| panic!("{path}: {error}"));
            assert!(path.contains(&format!("/{}/", manifest.name)), "{path}");
            assert_eq!(manifest.visibility, agentsite_protocol::Visibility::Public, "{path}");
        }
        assert_eq!(TEXT.split_whitespace().count().to_string(), ANSWER);
    }

    #[test]
    fn every_site_has_a_name_of_its_own_and_from_three_on_a_site_can_be_lost() {
        let members = members(20);
        let names: BTreeSet<&str> = members.iter().map(|member| member.name.as_str()).collect();
        assert_eq!(
            (names.len(), members[0].name.as_str(), members[7].name.as_str()),
            (20, "Home", "Press 2")
        );
        let count = |sites: usize| members[..sites].iter().filter(|one| one.files.contains(&WORDS)).count();
        assert_eq!((count(2), count(3)), (1, 2));
    }
}
