// How a file is shown: by its kind, from the bytes in the message. Nothing of it runs: what is not surely a picture, sound or text is handed over to be kept.
import type { Part } from "./turn";

export type Look = "picture" | "sound" | "film" | "markdown" | "json" | "html" | "text" | "file";

const PICTURES = new Set(["image/png", "image/jpeg", "image/gif", "image/webp", "image/avif"]);
const TEXTS = /^(?:text\/|application\/(?:xml|x-yaml|yaml|toml|javascript|x-sh|sql|x-ndjson))/;
const ENDINGS: Record<string, Look> = { md: "markdown", markdown: "markdown", json: "json", html: "html", htm: "html", txt: "text", csv: "text", log: "text", toml: "text", yaml: "text", yml: "text", xml: "text" };

export function lookOf(mediaType: string | undefined, filename: string | undefined): Look {
  const type = (mediaType ?? "").toLowerCase().split(";")[0]?.trim() ?? "";
  if (PICTURES.has(type)) return "picture";
  if (/^audio\/[\w.+-]+$/.test(type)) return "sound";
  if (/^video\/[\w.+-]+$/.test(type)) return "film";
  if (type === "text/markdown") return "markdown";
  if (type === "application/json" || type.endsWith("+json")) return "json";
  if (type === "text/html" || type === "application/xhtml+xml") return "html";
  const ending = ENDINGS[(filename ?? "").split(".").at(-1)?.toLowerCase() ?? ""];
  if (ending && (type === "" || type === "text/plain" || type === "application/octet-stream")) return ending;
  return TEXTS.test(type) ? "text" : "file";
}

/** Files are handed over as bytes of a type that is well-formed. */
export function hrefOf(part: Part): string {
  return `data:${/^[\w.+-]+\/[\w.+-]+$/.test(part.mediaType ?? "") ? part.mediaType : "application/octet-stream"};base64,${part.raw}`;
}

/** Letters of a text that are shown; the whole can be kept. */
const SHOWN = 200_000;

/** The text of a part; empty when it is none. */
export function textOf(part: Part): string {
  if (part.text !== undefined) return part.text.slice(0, SHOWN);
  try {
    const bytes = Uint8Array.from(atob(part.raw ?? ""), (letter) => letter.charCodeAt(0));
    return new TextDecoder().decode(bytes).slice(0, SHOWN);
  } catch {
    return "";
  }
}

/** JSON with one member on each line; as it came when it is none. */
export function neat(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

export function sizeOf(bytes: number): string {
  return bytes < 1024 ? `${bytes} B` : bytes < 1024 * 1024 ? `${(bytes / 1024).toFixed(1)} kB` : `${(bytes / 1048576).toFixed(1)} MB`;
}

/** Bytes of a part that is a file. */
export function bytesOf(part: Part & { bytes?: number }): number {
  return part.raw === undefined ? (part.bytes ?? 0) : Math.floor((part.raw.length * 3) / 4);
}
