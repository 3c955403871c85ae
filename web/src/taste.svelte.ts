// What a person chose: language and theme. Kept in this browser only.
import en from "./words/en";
import zh from "./words/zh";

export type Language = "en" | "zh";
export type Theme = "system" | "light" | "dark";
export type Word = keyof typeof en;

const dictionaries: Record<Language, Record<Word, string>> = { en, zh };
const darkSystem = matchMedia("(prefers-color-scheme: dark)");

function kept<T extends string>(name: string, allowed: readonly T[], otherwise: T): T {
  const value = localStorage.getItem(name) as T | null;
  return value && allowed.includes(value) ? value : otherwise;
}

class Taste {
  language = $state<Language>(kept("language", ["en", "zh"], navigator.language.toLowerCase().startsWith("zh") ? "zh" : "en"));
  theme = $state<Theme>(kept("theme", ["system", "light", "dark"], "system"));

  speak(language: Language) {
    this.language = language;
    localStorage.setItem("language", language);
    this.show();
  }

  paint(theme: Theme) {
    this.theme = theme;
    localStorage.setItem("theme", theme);
    this.show();
  }

  /** Tells the document. */
  show() {
    const dark = this.theme === "dark" || (this.theme === "system" && darkSystem.matches);
    document.documentElement.dataset.theme = dark ? "dark" : "light";
    document.documentElement.lang = this.language === "zh" ? "zh-Hans" : "en";
  }
}

export const taste = new Taste();
darkSystem.addEventListener("change", () => taste.show());

/** A sentence in the chosen language; `{name}` is replaced. */
export function t(word: Word, values: Record<string, string | number> = {}): string {
  return dictionaries[taste.language][word].replace(/\{(\w+)\}/g, (whole, name: string) => String(values[name] ?? whole));
}

const MINUTE = 60_000;

/** How long ago, in words. */
export function ago(at: string | undefined, now: number = Date.now()): string {
  if (!at) return "";
  const past = new Date(at).getTime() - now;
  const format = new Intl.RelativeTimeFormat(taste.language, { numeric: "auto", style: "narrow" });
  const size = Math.abs(past);
  if (size < MINUTE) return format.format(Math.round(past / 1000), "second");
  if (size < 60 * MINUTE) return format.format(Math.round(past / MINUTE), "minute");
  if (size < 24 * 60 * MINUTE) return format.format(Math.round(past / (60 * MINUTE)), "hour");
  return format.format(Math.round(past / (24 * 60 * MINUTE)), "day");
}

export function moment(at: string | undefined): string {
  if (!at) return "";
  return new Intl.DateTimeFormat(taste.language, { dateStyle: "medium", timeStyle: "medium" }).format(new Date(at));
}
