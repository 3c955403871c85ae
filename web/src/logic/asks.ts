// What an agent asks back, as a form: the fields of a tool's question, the options of a permission, a schema that came as data; else plain words. Pure.
import { fieldsOf, type Field, type Schema } from "./form";
import type { Message, Part } from "./turn";

export type Asked =
  | { kind: "words" }
  | { kind: "form"; about: string; fields: Field[]; answer: (values: Record<string, unknown>) => Part[]; refuse?: () => Part[] }
  | { kind: "choice"; options: { id: string; name: string }[]; answer: (id: string) => Part[] };

/** Where a tool's questions stand beside the words. */
const TOOL = "urn:agentsite:a2a:mcp:v1";
/** Fields and options that are shown; a form with more is answered in words. */
const MOST = 50;

interface Request {
  method?: string;
  params?: { message?: string; requestedSchema?: Schema; mode?: string };
}

/** The form for a question. */
export function askedOf(message: Message): Asked {
  return ofTool(message) ?? ofData(message.parts) ?? { kind: "words" };
}

function ofTool(message: Message): Asked | undefined {
  const beside = message.metadata?.[TOOL] as { requests?: Record<string, Request> } | undefined;
  const requests = Object.entries(beside?.requests ?? {});
  const [key, request] = requests[0] ?? [];
  if (!key || requests.length !== 1 || request?.method !== "elicitation/create") return undefined;
  const fields = fieldsOf(request.params?.requestedSchema);
  if (fields.length === 0 || fields.length > MOST) return undefined;
  const data = (answer: unknown): Part[] => [{ data: { answers: { [key]: answer } } }];
  return {
    kind: "form",
    about: String(request.params?.message ?? ""),
    fields,
    answer: (content) => data({ action: "accept", content }),
    refuse: () => data({ action: "decline" }),
  };
}

function ofData(parts: readonly Part[]): Asked | undefined {
  for (const part of parts) {
    if (typeof part.data !== "object" || part.data === null) continue;
    const data = part.data as Record<string, unknown>;
    const options = optionsOf((data["permission"] as { options?: unknown } | undefined)?.options);
    if (options) return { kind: "choice", options, answer: (optionId) => [{ data: { optionId } }] };
    const schema = schemaOf(data);
    const fields = fieldsOf(schema);
    if (fields.length > 0 && fields.length <= MOST) return { kind: "form", about: schema?.description ?? "", fields, answer: (values) => [{ data: values }] };
  }
  return undefined;
}

function optionsOf(given: unknown): { id: string; name: string }[] | undefined {
  if (!Array.isArray(given) || given.length === 0 || given.length > MOST) return undefined;
  const options = given.map((one: { optionId?: unknown; name?: unknown }) => ({ id: String(one?.optionId ?? ""), name: String(one?.name ?? one?.optionId ?? "") }));
  return options.every((one) => one.id && one.name) ? options : undefined;
}

/** A schema of an object: the data itself, or its member `schema`, `requestedSchema` or `inputSchema`. */
function schemaOf(data: Record<string, unknown>): Schema | undefined {
  const places = [data, data["schema"], data["requestedSchema"], data["inputSchema"]];
  const isOne = (one: unknown): one is Schema => typeof one === "object" && one !== null && typeof (one as Schema).properties === "object" && (one as Schema).properties !== null;
  return places.find(isOne);
}
