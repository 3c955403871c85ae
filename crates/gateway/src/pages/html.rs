//! A writer of HTML that cannot forget to escape.
//!
//! Promises: tags come from our own code as literals; every other text goes through `escape`. It knows only
//! the few elements that the pages need.

/// A page being written.
#[derive(Debug)]
pub(crate) struct Html(String);

impl Html {
    /// Begins a page.
    pub(crate) fn page(title: &str) -> Self {
        let mut html = Self(String::with_capacity(4096));
        html.0.push_str("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
        html.0.push_str("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
        html.0.push_str("<meta name=\"color-scheme\" content=\"light dark\">\n");
        html.element("title", title);
        html.0.push_str("<link rel=\"stylesheet\" href=\"/style.css\">\n");
        for relation in ["ard", "ai-catalog"] {
            html.0.push_str(&format!("<link rel=\"{relation}\" href=\"/.well-known/{relation}.json\">\n"));
        }
        html.0.push_str("</head>\n<body>\n");
        html
    }

    /// Opens an element.
    pub(crate) fn open(&mut self, tag: &'static str) -> &mut Self {
        self.0.push('<');
        self.0.push_str(tag);
        self.0.push('>');
        self
    }

    /// Opens an element of a class.
    pub(crate) fn open_class(&mut self, tag: &'static str, class: &'static str) -> &mut Self {
        self.0.push_str(&format!("<{tag} class=\"{class}\">"));
        self
    }

    /// Closes an element.
    pub(crate) fn close(&mut self, tag: &'static str) -> &mut Self {
        self.0.push_str(&format!("</{tag}>\n"));
        self
    }

    /// Writes foreign text.
    pub(crate) fn text(&mut self, text: &str) -> &mut Self {
        for letter in text.chars() {
            match letter {
                '&' => self.0.push_str("&amp;"),
                '<' => self.0.push_str("&lt;"),
                '>' => self.0.push_str("&gt;"),
                '"' => self.0.push_str("&quot;"),
                '\'' => self.0.push_str("&#39;"),
                // Control characters mean nothing here and some reverse the order of what follows.
                other if is_invisible(other) => self.0.push('\u{fffd}'),
                other => self.0.push(other),
            }
        }
        self
    }

    /// Writes an element with a text.
    pub(crate) fn element(&mut self, tag: &'static str, text: &str) -> &mut Self {
        self.open(tag).text(text).close(tag)
    }

    /// Writes a link to a path of this site; anything else becomes a link to nowhere.
    pub(crate) fn link(&mut self, path: &str, text: &str) -> &mut Self {
        let inside = path.starts_with('/') && !path.starts_with("//");
        self.0.push_str("<a href=\"");
        self.text(if inside { path } else { "#" });
        self.0.push_str("\">");
        self.text(text).close("a")
    }

    /// Ends the page.
    pub(crate) fn into_string(mut self) -> String {
        self.0.push_str("</body>\n</html>\n");
        self.0
    }
}

/// Whether a character shows nothing, or changes how its neighbours show.
fn is_invisible(letter: char) -> bool {
    (letter.is_control() && letter != '\n')
        || matches!(letter, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn foreign_text_cannot_leave_its_place() {
        let mut html = Html(String::new());
        html.element("p", "<script>alert('x')</script> & \"more\"\u{202e}");
        let written =
            "<p>&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt; &amp; &quot;more&quot;\u{fffd}</p>\n";
        assert_eq!(html.0, written);
    }

    #[test]
    fn links_stay_on_the_site() {
        for hostile in ["javascript:alert(1)", "//evil.example", "https://evil.example"] {
            let mut html = Html(String::new());
            html.link(hostile, "x");
            assert_eq!(html.0, "<a href=\"#\">x</a>\n", "{hostile}");
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_a_tag(text in ".{0,80}") {
            let mut html = Html(String::new());
            html.text(&text);
            prop_assert!(!html.0.contains(['<', '>', '"', '\'']));
        }
    }
}
