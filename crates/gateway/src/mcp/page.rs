//! Page: a long list in pieces, with a cursor that the client carries from one to the next.
//!
//! Promises: the order is that of the list; a cursor names the last thing that was shown, so that a list that
//! changed meanwhile neither repeats nor skips what is still there. A cursor that was not written here, or
//! whose thing is gone, is refused. It grants nothing.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::params::wrong;
use crate::failure::Failure;

/// Things on one page. Models are shown a hundred tools at most, and so is a client that reads one page only.
pub(super) const PAGE: usize = 100;

/// A piece of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Page<'a, T> {
    pub(super) items: &'a [T],
    /// Where the next one begins.
    pub(super) next: Option<String>,
}

/// Cuts the page that the cursor asks for; `key` names a thing of this list.
pub(super) fn cut<'a, T>(
    list: &'a [T],
    cursor: Option<&str>,
    key: impl Fn(&T) -> &str,
) -> Result<Page<'a, T>, Failure> {
    let begin = match cursor {
        None => 0,
        Some(written) => {
            let bad =
                || wrong("`cursor` is none of this list, or the list has changed; list again from the start");
            let bytes = URL_SAFE_NO_PAD.decode(written).map_err(|_| bad())?;
            let after = list.iter().position(|item| key(item).as_bytes() == bytes);
            after.ok_or_else(bad)? + 1
        }
    };
    let end = list.len().min(begin + PAGE);
    let more = end < list.len();
    let next = list[..end].last().filter(|_| more).map(|last| URL_SAFE_NO_PAD.encode(key(last)));
    Ok(Page { items: &list[begin..end], next })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_hold_every_thing_once_and_in_order() {
        let list: Vec<String> = (0..250).map(|number| format!("tool-{number}")).collect();
        let (mut seen, mut cursor) = (Vec::new(), None::<String>);
        loop {
            let page = cut(&list, cursor.as_deref(), String::as_str).unwrap();
            seen.extend_from_slice(page.items);
            let Some(next) = page.next else { break };
            cursor = Some(next);
        }
        assert_eq!(seen, list);
    }

    #[test]
    fn a_foreign_cursor_is_refused() {
        let list = ["a".to_owned()];
        for bad in ["x", "%%", "", "eA"] {
            assert!(cut(&list, Some(bad), String::as_str).is_err(), "{bad}");
        }
        let empty: [String; 0] = [];
        assert_eq!(cut(&empty, None, String::as_str).unwrap(), Page { items: &[], next: None });
    }
}
