// Who sits before the page, as the site knows them.
import { api, Refused, type Session } from "./api/client";
import { t } from "./taste.svelte";

class Who {
  session = $state<Session>();
  /** The site lets nobody in without a key. */
  shut = $state(false);
  readonly known = $derived(this.session !== undefined && this.session.role !== "guest");
  readonly admin = $derived(this.session?.role === "admin");
  readonly siteName = $derived(this.session?.site.name ?? "agentsite");
  /** As whom a browser is signed in: what its key is called, or the role that a link gave it. */
  readonly name = $derived(this.session?.presence?.key ?? (this.session ? t(`role.${this.session.role}`) : t("role.guest")));

  async ask() {
    try {
      this.session = await api.get("/api/session");
      this.shut = false;
    } catch (error) {
      this.session = undefined;
      this.shut = error instanceof Refused && error.status === 401;
      if (!this.shut) throw error;
    }
  }

  async signIn(key: string) {
    this.session = await api.post("/api/session", { body: { key } });
    this.shut = false;
  }

  async signOut() {
    await api.delete("/api/session");
    await this.ask();
  }
}

export const who = new Who();
