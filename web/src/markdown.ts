// Markdown to HTML that cannot run anything: read by marked, which shows HTML as the text that it is, and cleaned by DOMPurify all the same. Links open
// apart; pictures from elsewhere are not loaded.
import DOMPurify from "dompurify";
import { marked } from "marked";

const LETTERS: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };

marked.use({
  renderer: { html: ({ text }) => text.replace(/[&<>"']/g, (letter) => LETTERS[letter] ?? letter) },
});

const TAGS = [
  "a", "b", "blockquote", "br", "code", "del", "em", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "i", "img", "input", "li", "ol", "p", "pre", "s", "strong",
  "sub", "sup", "table", "tbody", "td", "th", "thead", "tr", "ul",
];
const ATTRIBUTES = ["href", "title", "alt", "src", "start", "checked", "disabled", "type", "align"];

DOMPurify.addHook("afterSanitizeAttributes", (node) => {
  if (node.tagName === "A") {
    node.setAttribute("rel", "noopener noreferrer nofollow");
    node.setAttribute("target", "_blank");
  }
  // A picture from elsewhere would tell its host who reads; the address stays as a link.
  if (node.tagName === "IMG" && !/^data:image\/(png|jpeg|gif|webp);base64,/.test(node.getAttribute("src") ?? "")) {
    const words = document.createElement("span");
    words.textContent = node.getAttribute("alt") ?? "";
    node.replaceWith(words);
  }
  if (node.tagName === "INPUT") {
    node.setAttribute("disabled", "");
    if (node.getAttribute("type") !== "checkbox") node.remove();
  }
  if (node.tagName === "PRE") node.setAttribute("tabindex", "0");
});

export function rendered(text: string): string {
  const html = marked.parse(text, { async: false, gfm: true, breaks: true });
  return DOMPurify.sanitize(html, { ALLOWED_TAGS: TAGS, ALLOWED_ATTR: ATTRIBUTES, ALLOWED_URI_REGEXP: /^(?:https?:|mailto:|data:image\/|\/|#)/i });
}
