// What an account may store, by the rules of the store (crates/store/src/storage.rs).
import type { Status } from "../api/client";

type Limits = Status["storage"]["limits"];

/** Bytes that an account may store; 0 means no limit. */
export function limitOf(account: string, limits: Limits): number {
  if (account.startsWith("anon:")) return limits.address;
  if (account === "admin" || account === "local") return limits.admin;
  if (account === "" || account === "site" || account === "journal") return 0;
  return limits.key;
}
