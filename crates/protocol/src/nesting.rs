//! A look at foreign JSON before it is parsed: how deep it nests and how many values it holds.
//!
//! Promises: one pass over the bytes, no allocation, no recursion; refuses what would cost stack or memory
//! later. It does not check that the text is JSON: the parser does that afterwards.

/// Bounds on the shape of foreign JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Nesting {
    /// Deepest nesting of arrays and objects.
    pub depth: usize,
    /// Most values (counted by commas, colons and openings, so slightly generous).
    pub nodes: usize,
}

/// JSON that nests deeper or holds more than is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TooNested {
    /// Nested too deep.
    #[error("the JSON nests deeper than {0} levels; flatten it")]
    Depth(usize),
    /// Too many values.
    #[error("the JSON holds more than {0} values; send less at once")]
    Nodes(usize),
}

impl Nesting {
    /// What a request may hold. Depth 64 leaves half of the parser's own recursion limit to our types; 10,000
    /// values is ten times the largest task seen in the public test kits.
    pub const REQUEST: Self = Self { depth: 64, nodes: 10_000 };

    /// Checks the bytes against these bounds.
    ///
    /// # Errors
    /// [`TooNested`] names the bound that was passed.
    pub fn check(&self, json: &[u8]) -> Result<(), TooNested> {
        if self.surely_admits(json) {
            return Ok(());
        }
        let (mut depth, mut nodes, mut in_string, mut escaped) = (0_usize, 0_usize, false, false);
        for &byte in json {
            if in_string {
                match byte {
                    _ if escaped => escaped = false,
                    b'\\' => escaped = true,
                    b'"' => in_string = false,
                    _ => {}
                }
                continue;
            }
            match byte {
                b'"' => in_string = true,
                b'[' | b'{' => {
                    depth += 1;
                    nodes += 1;
                    if depth > self.depth {
                        return Err(TooNested::Depth(self.depth));
                    }
                }
                b']' | b'}' => depth = depth.saturating_sub(1),
                b',' | b':' => nodes += 1,
                _ => {}
            }
            if nodes > self.nodes {
                return Err(TooNested::Nodes(self.nodes));
            }
        }
        Ok(())
    }

    /// Whether the bytes hold so few openings and separators, inside of strings or not, that they cannot pass
    /// a bound. True of nearly all requests, and several bytes are looked at in one step.
    fn surely_admits(&self, json: &[u8]) -> bool {
        let openings = json.iter().filter(|byte| matches!(byte, b'[' | b'{')).count();
        let separators = json.iter().filter(|byte| matches!(byte, b',' | b':')).count();
        openings <= self.depth && openings + separators <= self.nodes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refuses_a_hundred_thousand_arrays() {
        let bomb = "[".repeat(100_000);
        assert_eq!(Nesting::REQUEST.check(bomb.as_bytes()), Err(TooNested::Depth(64)));
    }

    #[test]
    fn refuses_a_flood_of_values() {
        let flood = format!("[{}1]", "1,".repeat(20_000));
        assert_eq!(Nesting::REQUEST.check(flood.as_bytes()), Err(TooNested::Nodes(10_000)));
    }

    #[test]
    fn brackets_inside_strings_do_not_count() {
        let text = format!("\"{}\\\"[\"", "[".repeat(200));
        assert_eq!(Nesting::REQUEST.check(text.as_bytes()), Ok(()));
    }

    #[test]
    fn the_bounds_themselves_are_admitted_and_one_more_is_not() {
        let bounds = Nesting { depth: 3, nodes: 6 };
        for good in ["[[[]]]", "[[],[],[]]", "[\",,,,,,\",1]", "[1,2,3,4,5,6]"] {
            assert_eq!(bounds.check(good.as_bytes()), Ok(()), "{good}");
        }
        assert_eq!(bounds.check(b"[[[[]]]]"), Err(TooNested::Depth(3)));
        assert_eq!(bounds.check(b"[1,2,3,4,5,6,7]"), Err(TooNested::Nodes(6)));
    }
}
