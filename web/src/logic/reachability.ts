// What is known of whether an agent from elsewhere answers. Pure.

export type Reachability = "answers" | "no-answer" | "not-checked";

/** What the site found when it last checked the agent; it claims nothing about one that it never contacted. */
export function reachability(live: boolean, checkedAt: string | undefined): Reachability {
  if (checkedAt === undefined) return "not-checked";
  return live ? "answers" : "no-answer";
}
