// Which turns show what happened on the way. A turn that is drawn anew, because it ended or came back into sight, stays as the reader left it.
import { SvelteSet } from "svelte/reactivity";

export const unfolded = new SvelteSet<string>();
