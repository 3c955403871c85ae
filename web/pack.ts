// The last step of a build: every file as brotli and gzip, none as it was, and the list of them for the binary.
import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import type { Plugin } from "vite";

const MEDIA: Record<string, string> = {
  css: "text/css; charset=utf-8",
  html: "text/html; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  svg: "image/svg+xml",
};

function files(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .map((name) => join(folder, name))
    .filter((path) => statSync(path).isFile())
    .sort();
}

function media(name: string): string {
  const known = MEDIA[name.split(".").pop() ?? ""];
  if (!known) throw new Error(`${name}: say in pack.ts of which type it is`);
  return known;
}

/** Bytes of the first load by gzip: what the document names, before any page is chosen. */
const BUDGET = 120_000;

function weigh(folder: string, sizes: Map<string, number>, document: string) {
  const named = [...document.matchAll(/(?:src|href)="\/(assets\/[^"]+)"/g)].map((one) => one[1] ?? "");
  const total = named.reduce((sum, name) => sum + (sizes.get(name) ?? 0), sizes.get("index.html") ?? 0);
  console.log(`first load: ${(total / 1000).toFixed(1)} kB by gzip, at most ${BUDGET / 1000}`);
  if (total > BUDGET) throw new Error(`${folder}: the first load is ${total} bytes, more than ${BUDGET}; load something on demand`);
}

export function pack(folder: string): Plugin {
  return {
    name: "pack",
    apply: "build",
    enforce: "post",
    closeBundle() {
      const rows: string[] = [];
      const sizes = new Map<string, number>();
      const document = readFileSync(join(folder, "index.html"), "utf8");
      for (const path of files(folder)) {
        const bytes = readFileSync(path);
        const name = relative(folder, path);
        writeFileSync(`${path}.br`, brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 11 } }));
        const gzip = gzipSync(bytes, { level: 9 });
        sizes.set(name, gzip.length);
        writeFileSync(`${path}.gz`, gzip);
        rmSync(path);
        rows.push(`    ("${name}", "${media(name)}", include_bytes!("${name}.br"), include_bytes!("${name}.gz")),`);
      }
      weigh(folder, sizes, document);
      const head = [
        "//! The built pages: name, type, and the bytes by brotli and by gzip. Written by `cargo xtask web`.",
        "//!",
        "//! It decides nothing; `pages/shell.rs` serves what is listed here.",
        "",
        "/// A built file.",
        "pub(crate) type File = (&'static str, &'static str, &'static [u8], &'static [u8]);",
        "",
        "/// Every built file, by name.",
        "#[rustfmt::skip]",
        "pub(crate) const FILES: &[File] = &[",
      ];
      writeFileSync(join(folder, "files.rs"), [...head, ...rows, "];", ""].join("\n"));
    },
  };
}
