// A file of JSON lines, cut into pieces that a site takes in one request. Pure.

/** Lines of one piece: what the site takes at most, half of it so that the person sees it move. */
const MOST_LINES = 500;

/** Bytes of one piece: below the 1 MiB that a request may have, also for letters that take four bytes. */
const MOST_BYTES = 900_000;

export interface Piece {
  text: string;
  /** Number of its first line, from 1. */
  first: number;
  lines: number;
}

export function piecesOf(text: string): Piece[] {
  const measure = new TextEncoder();
  const pieces: Piece[] = [];
  let kept: string[] = [];
  let bytes = 0;
  let first = 1;
  const close = (next: number) => {
    if (kept.some((line) => line.trim() !== "")) pieces.push({ text: `${kept.join("\n")}\n`, first, lines: kept.length });
    [kept, bytes, first] = [[], 0, next];
  };
  text.split(/\r?\n/).forEach((line, index) => {
    const size = measure.encode(line).length + 1;
    if (kept.length > 0 && (kept.length >= MOST_LINES || bytes + size > MOST_BYTES)) close(index + 1);
    kept.push(line);
    bytes += size;
  });
  close(0);
  return pieces;
}
