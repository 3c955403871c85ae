import { expect, it } from "vitest";
import { limitOf } from "./storage";

it("every kind of account has the limit of the store", () => {
  const limits = { address: 1, anonymous: 2, key: 3, admin: 4, total: 5 };
  const expected = { "anon:192.0.2.1": 1, "key:abc": 3, "user:jane.1f": 3, "agent:calc": 3, admin: 4, local: 4, site: 0, journal: 0, "": 0 };
  for (const [account, limit] of Object.entries(expected)) expect(limitOf(account, limits), account).toBe(limit);
});
