// Server-sent events, read from the pieces in which they arrive.

export interface Frame {
  id: string;
  event: string;
  data: string;
}

/** Bytes of one event that are kept while its end has not come; the site sends none that is larger. */
const LARGEST = 32 * 1024 * 1024;

export class Frames {
  #rest = "";

  /** The events that are complete with this piece. */
  feed(piece: string): Frame[] {
    this.#rest += piece;
    if (this.#rest.length > LARGEST) throw new Error("an event of the stream is too large");
    const blocks = this.#rest.split(/\r?\n\r?\n/);
    this.#rest = blocks.pop() ?? "";
    return blocks.map(frame).filter((one) => one.data !== "" || one.event !== "");
  }
}

function frame(block: string): Frame {
  const read: Frame = { id: "", event: "", data: "" };
  const data: string[] = [];
  for (const line of block.split(/\r?\n/)) {
    const at = line.indexOf(":");
    if (at === 0) continue;
    const name = at < 0 ? line : line.slice(0, at);
    const value = at < 0 ? "" : line.slice(at + 1).replace(/^ /, "");
    if (name === "data") data.push(value);
    else if (name === "id") read.id = value;
    else if (name === "event") read.event = value;
  }
  read.data = data.join("\n");
  return read;
}
