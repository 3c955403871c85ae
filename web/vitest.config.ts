// The tests of the logic; the pages themselves are tried in a browser (`tests/`).
import { defineConfig } from "vitest/config";

export default defineConfig({ test: { include: ["src/**/*.test.ts"], environment: "node" } });
