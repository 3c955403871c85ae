// How the pages are built: into the gateway's folder, compressed beforehand, the same bytes each time.
import { svelte } from "@sveltejs/vite-plugin-svelte";
import tailwindcss from "@tailwindcss/vite";
import { defineConfig } from "vite";
import { pack } from "./pack.ts";

const built = process.env.AGENTSITE_WEB_OUT ?? new URL("../crates/gateway/web", import.meta.url).pathname;
const site = process.env.AGENTSITE_URL ?? "http://127.0.0.1:4711";
const faces = ["/api", "/a2a", "/mcp", "/search", "/agents", "/llms.txt", "/.well-known", "/docs", "/openapi.json"];
const proxy = Object.fromEntries(faces.map((path) => [path, { target: site }]));

export default defineConfig({
  root: new URL(".", import.meta.url).pathname,
  plugins: [tailwindcss(), svelte(), pack(built)],
  build: {
    outDir: built,
    emptyOutDir: true,
    target: "es2022",
    // A polyfill would be a script of its own; every browser that runs these pages preloads modules by itself.
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
    reportCompressedSize: false,
  },
  server: { proxy },
  preview: { proxy },
});
