//! The text of a page from the operators that draw it (ISO 32000, section 9.4).
//!
//! Promises: operators are taken one by one, so that a page costs no more memory than its own bytes. A move
//! down ends a line, a long one a paragraph, a gap is a space. Widths of letters are guessed, not looked up.
//! Text in forms and annotations is not read.

use std::collections::BTreeMap;

use lopdf::content::{Content, Operation};
use lopdf::{Document, Encoding, Object, ObjectId};

/// Width of a letter that is not looked up, as a share of the size of its font.
const LETTER: f32 = 0.5;

/// A step back of this many thousandths of the font's size within a string is a space; kerning is smaller.
const GAP: f32 = -180.0;

/// Shares of the font's size: a move down of more than the first ends a line, of more than the second a
/// paragraph.
const LINE: f32 = 0.4;
const PARAGRAPH: f32 = 1.9;

/// The text of a page.
pub(super) fn text(document: &Document, page: ObjectId, most: usize) -> lopdf::Result<String> {
    let fonts = document.get_page_fonts(page)?;
    let mut pen = TextState::default();
    for (name, font) in fonts {
        if let Ok(encoding) = font.get_font_encoding_with_limit(document, most) {
            pen.encodings.insert(name, encoding);
        }
    }
    let content = document.get_page_content_with_limit(page, most)?;
    for operation in Content::<Vec<Operation>>::decode_iter(&content) {
        // What was drawn before a broken place is read all the same.
        let Ok(operation) = operation else { break };
        pen.draw(&operation);
    }
    Ok(pen.text)
}

/// Where and with what the page draws.
#[derive(Default)]
struct TextState<'a> {
    encodings: BTreeMap<Vec<u8>, Encoding<'a>>,
    font: Vec<u8>,
    size: f32,
    leading: f32,
    /// Where the line begins, and by how much units are stretched.
    at: (f32, f32),
    stretch: (f32, f32),
    /// Where the last string was drawn, and how many letters it had.
    last: Option<((f32, f32), usize)>,
    text: String,
}

impl TextState<'_> {
    fn draw(&mut self, operation: &Operation) {
        let operands = &operation.operands;
        let number =
            |at: usize| operands.get(at).and_then(|operand| operand.as_float().ok()).unwrap_or_default();
        match operation.operator.as_str() {
            "BT" => (self.at, self.stretch) = ((0.0, 0.0), (1.0, 1.0)),
            "Tf" => {
                self.font =
                    operands.first().and_then(|name| name.as_name().ok()).unwrap_or_default().to_vec();
                self.size = number(1).abs();
            }
            "TL" => self.leading = number(0),
            "Td" => self.shift(number(0), number(1)),
            "TD" => {
                self.leading = -number(1);
                self.shift(number(0), number(1));
            }
            "T*" => self.shift(0.0, -self.leading),
            "Tm" => {
                self.stretch = (number(0), number(3));
                self.at = (number(4), number(5));
            }
            "Tj" | "TJ" => operands.iter().for_each(|operand| self.show(operand)),
            "'" | "\"" => {
                self.shift(0.0, -self.leading);
                operands
                    .iter()
                    .filter(|operand| operand.as_str().is_ok())
                    .for_each(|operand| self.show(operand));
            }
            _ => {}
        }
    }

    fn shift(&mut self, across: f32, up: f32) {
        self.at = (self.at.0 + across * self.stretch.0, self.at.1 + up * self.stretch.1);
    }

    fn show(&mut self, operand: &Object) {
        self.part();
        let before = self.text.len();
        match operand {
            Object::String(bytes, _) => self.letters(bytes),
            Object::Array(pieces) => {
                for piece in pieces {
                    match piece {
                        Object::String(bytes, _) => self.letters(bytes),
                        other if other.as_float().is_ok_and(|step| step < GAP) => self.space(),
                        _ => {}
                    }
                }
            }
            _ => return,
        }
        let shown = self.text[before.min(self.text.len())..].chars().count();
        self.last = Some((self.at, shown));
    }

    fn letters(&mut self, bytes: &[u8]) {
        if let Some(Ok(text)) =
            self.encodings.get(&self.font).map(|encoding| Document::decode_text(encoding, bytes))
        {
            self.text.push_str(&text);
        }
    }

    /// Ends the line, the paragraph or the word, if the next string is apart from the last.
    fn part(&mut self) {
        let Some(((x, y), letters)) = self.last else { return };
        let height = (self.size * self.stretch.1.abs()).max(1.0);
        let down = (self.at.1 - y).abs();
        if down > PARAGRAPH * height {
            self.text.push_str("\n\n");
        } else if down > LINE * height {
            self.text.push('\n');
        } else if self.at.0 != x {
            let width = (self.size * self.stretch.0.abs()).max(1.0);
            let gap = (self.at.0 - x).abs() - LETTER * width * letters as f32;
            // Of one or two letters the width is guessed well enough to see whether they are part of a word.
            if letters > 2 || gap > 0.2 * width {
                self.space();
            }
        }
    }

    fn space(&mut self) {
        if !self.text.is_empty() && !self.text.ends_with(char::is_whitespace) {
            self.text.push(' ');
        }
    }
}
