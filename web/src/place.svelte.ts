// Where the browser is: links within the site change the page without loading it anew.
import { tick } from "svelte";
import { pageOf, type Page } from "./logic/route";

class Place {
  path = $state(location.pathname);
  query = $state(new URLSearchParams(location.search));
  readonly page: Page = $derived(pageOf(this.path, this.query));

  read() {
    this.path = location.pathname;
    this.query = new URLSearchParams(location.search);
  }

  async go(to: string, options: { replace?: boolean; keepFocus?: boolean } = {}) {
    if (options.replace) history.replaceState(null, "", to);
    else history.pushState(null, "", to);
    const before = this.path;
    this.read();
    await tick();
    if (before !== this.path && !options.keepFocus) {
      scrollTo(0, 0);
      document.getElementById("main")?.focus({ preventScroll: true });
    }
  }
}

export const place = new Place();

/** Takes over clicks on links that stay on the pages. */
export function listen() {
  addEventListener("popstate", () => place.read());
  addEventListener("click", (event) => {
    if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    const link = (event.target as Element | null)?.closest?.("a");
    if (!link || link.target || link.hasAttribute("download") || link.origin !== location.origin) return;
    if (pageOf(link.pathname, new URLSearchParams(link.search)).name === "missing" || link.pathname.endsWith(".md")) return;
    event.preventDefault();
    void place.go(link.pathname + link.search);
  });
}
