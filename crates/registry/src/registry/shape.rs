//! Names as people see them: which two can be taken for each other.
//!
//! Promises: pure; letters of Latin, Cyrillic and Greek that look alike have one shape, and so have capitals,
//! separators and accents. It warns and never forbids: two honest agents may have like names.

/// Longest shape that is compared, in letters; more than any name is read.
const MAX_SHAPE: usize = 64;

/// Shortest shape for which a slip of one letter counts: shorter words differ by one letter all the time.
const LEAST_FOR_SLIPS: usize = 5;

/// Letters that look like a Latin one, in small form.
const LOOKS_LIKE: &[(&str, char)] = &[
    ("аàáâãäåāăąαɑ", 'a'),
    ("вЬьßβ", 'b'),
    ("сçćĉċčϲ", 'c'),
    ("ԁďđ", 'd'),
    ("еёèéêëēĕėęěεҽ", 'e'),
    ("ғ", 'f'),
    ("ɡĝğġģ", 'g'),
    ("һнĥħη", 'h'),
    ("јĵ", 'j'),
    ("кκķ", 'k'),
    ("1iіїìíîïĩīĭįıιӏĺļľŀł|!", 'l'),
    ("мμ", 'm'),
    ("пñńņňŉиν", 'n'),
    ("0оòóôõöøōŏőοσө", 'o'),
    ("рρþ", 'p'),
    ("ԛ", 'q'),
    ("гŕŗř", 'r'),
    ("5ѕśŝşš", 's'),
    ("тτţťŧ", 't'),
    ("υùúûüũūŭůűų", 'u'),
    ("ѵ", 'v'),
    ("ѡωŵш", 'w'),
    ("хχ", 'x'),
    ("уýÿŷγ", 'y'),
    ("ʐźżžζ", 'z'),
];

/// The name as it looks: what looks alike has the same shape.
#[must_use]
pub fn shape(name: &str) -> String {
    let letters = name.chars().flat_map(char::to_lowercase).filter_map(letter).take(MAX_SHAPE);
    let shape: String = letters.collect();
    shape.replace("rn", "m").replace("vv", "w")
}

fn letter(letter: char) -> Option<char> {
    let letter = match letter {
        // The wide forms of ASCII.
        '\u{ff01}'..='\u{ff5e}' => {
            char::from_u32(u32::from(letter) - 0xfee0).unwrap_or(letter).to_ascii_lowercase()
        }
        other => other,
    };
    let like = LOOKS_LIKE.iter().find(|(letters, _)| letters.contains(letter));
    let letter = like.map_or(letter, |(_, latin)| *latin);
    letter.is_alphanumeric().then_some(letter)
}

/// Shapes that can be taken for this one: itself, and those that are one slip away (a letter more, less or
/// other, or two swapped).
pub(super) fn alike(shape: &str) -> Vec<String> {
    const ALPHABET: &str = "abcdefghjklmnopqrstuvwxyz2346789";
    let letters: Vec<char> = shape.chars().collect();
    let mut found = vec![shape.to_owned()];
    if letters.len() < LEAST_FOR_SLIPS {
        return found;
    }
    for place in 0..=letters.len() {
        let (before, behind) = letters.split_at(place);
        let joined =
            |middle: &[char], rest: &[char]| before.iter().chain(middle).chain(rest).collect::<String>();
        found.extend(ALPHABET.chars().map(|more| joined(&[more], behind)));
        let Some((first, rest)) = behind.split_first() else { continue };
        found.push(joined(&[], rest));
        found.extend(ALPHABET.chars().filter(|other| other != first).map(|other| joined(&[other], rest)));
        if let Some((second, rest)) = rest.split_first() {
            found.push(joined(&[*second, *first], rest));
        }
    }
    found.sort_unstable();
    found.dedup();
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn names_that_look_alike_have_one_shape() {
        for (one, two) in [
            ("PayPal", "paypaI"),
            ("paypal", "pаypаl"),
            ("Google", "g00gle"),
            ("weather-bot", "Weather Bot"),
            ("modern", "modem"),
            ("ＡＢＣ", "abc"),
            ("café", "cafe"),
        ] {
            assert_eq!(shape(one), shape(two), "{one} / {two}");
        }
        assert_ne!(shape("calc"), shape("echo"));
        assert_eq!(shape("天气"), "天气");
        assert_eq!(shape(" -_. "), "");
    }

    #[test]
    fn one_slip_is_alike_and_two_are_not() {
        let of = alike(&shape("weather"));
        for slip in ["weaher", "weatther", "wezther", "waether", "weather"] {
            assert!(of.contains(&shape(slip)), "{slip}");
        }
        assert!(!of.contains(&shape("whether2x")));
        assert_eq!(alike("calc"), ["calc"], "short names differ by a letter all the time");
    }

    proptest! {
        #[test]
        fn any_name_has_a_bounded_shape(name: String) {
            let shape = shape(&name);
            prop_assert!(shape.chars().count() <= MAX_SHAPE);
            prop_assert!(alike(&shape).len() <= 66 * (MAX_SHAPE + 1));
        }
    }
}
