// Requests that may be sent twice without harm, sent until the site has heard them.
import { Refused } from "../api/client";
import { verdict, waitOf } from "../logic/patience";
import { pause } from "./follow";

/** Tries before a person is told; with the pauses between them about a minute. */
const TRIES = 15;

/** What the request gives; it is made again while the site cannot be reached or is starting. */
export async function persist<T>(request: () => Promise<T>): Promise<T> {
  for (let tries = 0; ; tries += 1) {
    try {
      return await request();
    } catch (error) {
      const cut = error instanceof TypeError || (error instanceof Refused && error.status !== 429 && verdict(error.status) === "again");
      if (!cut || tries >= TRIES) throw error;
    }
    await pause(waitOf(tries));
  }
}
