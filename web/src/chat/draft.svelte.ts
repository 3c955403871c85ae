// What a person is about to send: words and files.
import { filePart } from "../api/a2a";
import type { Part } from "../logic/turn";

export class Draft {
  words = $state("");
  files = $state.raw<File[]>([]);
  readonly empty = $derived(this.words.trim() === "" && this.files.length === 0);

  attach(list: Iterable<File> | null | undefined) {
    this.files = [...this.files, ...(list ?? [])];
  }

  detach(at: number) {
    this.files = this.files.filter((_, index) => index !== at);
  }

  /** The files as parts of a message. */
  parts(): Promise<Part[]> {
    return Promise.all(this.files.map(filePart));
  }

  /** What was there, in case it cannot be sent. */
  take(): { words: string; files: File[] } {
    const taken = { words: this.words, files: this.files };
    this.words = "";
    this.files = [];
    return taken;
  }

  restore(taken: { words: string; files: File[] }) {
    if (this.empty) Object.assign(this, taken);
  }
}
