// Ids that a browser makes. `crypto.randomUUID` is kept from pages without TLS.

/** A fresh id: 128 random bits. */
export function freshId(): string {
  return [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}
