// Markdown to HTML that cannot run anything: read by marked, which shows HTML as the text that it is, and cleaned by DOMPurify all the same. Links open
// apart; pictures from elsewhere are not loaded. Blocks come one by one, so that of an answer that grows only its end is made anew.
import DOMPurify from "dompurify";
import { marked } from "marked";

const LETTERS: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (letter) => LETTERS[letter] ?? letter);
}

/** What the button above code says; only our own renderer writes buttons. */
let copyWord = "Copy";

// Settings belong here: what is given with a call would stand instead of all of them.
marked.use({
  gfm: true,
  breaks: true,
  renderer: {
    html: ({ text }) => escaped(text),
    // Levels of foreign text would tear the outline of the page; the depth is only a look.
    heading({ tokens, depth }) {
      return `<h2 data-depth="${depth}">${this.parser.parseInline(tokens)}</h2>`;
    },
    code({ text, lang }) {
      const name = /^[\w+#.-]{1,24}/.exec(lang ?? "")?.[0] ?? "";
      return `<figure><figcaption><span>${escaped(name)}</span><button type="button">${escaped(copyWord)}</button></figcaption><pre><code>${escaped(text)}</code></pre></figure>`;
    },
  },
});

const TAGS = [
  "a", "b", "blockquote", "br", "button", "code", "del", "em", "figcaption", "figure", "h2", "hr", "i", "img", "input", "li", "ol", "p", "pre", "s", "span", "strong",
  "sub", "sup", "table", "tbody", "td", "th", "thead", "tr", "ul",
];
const ATTRIBUTES = ["href", "title", "alt", "src", "start", "checked", "disabled", "type", "align", "data-depth"];

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
  if (node.tagName === "PRE" || node.tagName === "TABLE") node.setAttribute("tabindex", "0");
});

function cleaned(html: string): string {
  return DOMPurify.sanitize(html, { ALLOWED_TAGS: TAGS, ALLOWED_ATTR: ATTRIBUTES, ALLOW_DATA_ATTR: false, ALLOWED_URI_REGEXP: /^(?:https?:|mailto:|data:image\/|\/|#)/i });
}

/** Reads a text again and again as it grows: blocks that are the same as before are not made anew. */
export class Reader {
  #known = new Map<string, string>();

  blocks(text: string, copy: string): string[] {
    copyWord = copy;
    const tokens = marked.lexer(text);
    const links = Object.keys(tokens.links).length;
    const known = new Map<string, string>();
    const out: string[] = [];
    for (const token of tokens) {
      if (token.type === "space" || token.type === "def") continue;
      const key = `${copy}|${links}|${token.raw}`;
      const html = this.#known.get(key) ?? known.get(key) ?? cleaned(marked.parser([token]));
      known.set(key, html);
      out.push(html);
    }
    this.#known = known;
    return out;
  }
}
