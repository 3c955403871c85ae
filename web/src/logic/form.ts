// A form from a JSON Schema: one field for each property that has a plain type; everything else is written as JSON.

export interface Schema {
  type?: string | string[];
  title?: string;
  description?: string;
  enum?: unknown[];
  default?: unknown;
  properties?: Record<string, Schema>;
  required?: string[];
}

export interface Field {
  name: string;
  kind: "text" | "number" | "yes-no" | "choice" | "json";
  whole: boolean;
  label: string;
  about: string;
  needed: boolean;
  choices: string[];
  start: string;
}

export function fieldsOf(schema: Schema | undefined): Field[] {
  const needed = schema?.required ?? [];
  // What must be said comes first; the rest stays in the order of the schema.
  const named = Object.entries(schema?.properties ?? {}).sort(([a], [b]) => Number(needed.includes(b)) - Number(needed.includes(a)));
  return named.map(([name, one]) => ({
    name,
    kind: kindOf(one),
    whole: typeOf(one) === "integer",
    label: one.title ?? name,
    about: one.description ?? "",
    needed: needed.includes(name),
    choices: (one.enum ?? []).map(String),
    start: one.default === undefined ? "" : typeof one.default === "object" ? JSON.stringify(one.default) : String(one.default),
  }));
}

function typeOf(schema: Schema): string {
  const type = Array.isArray(schema.type) ? schema.type.find((one) => one !== "null") : schema.type;
  return type ?? "string";
}

function kindOf(schema: Schema): Field["kind"] {
  if (schema.enum) return "choice";
  switch (typeOf(schema)) {
    case "string":
      return "text";
    case "number":
    case "integer":
      return "number";
    case "boolean":
      return "yes-no";
    default:
      return "json";
  }
}

/** The values as the schema wants them; the name of the field that cannot be read otherwise. */
export function valuesOf(fields: Field[], written: Record<string, string>): { values: Record<string, unknown> } | { bad: string } {
  const values: Record<string, unknown> = {};
  for (const field of fields) {
    const text = written[field.name] ?? "";
    if (text === "") {
      if (field.needed && field.kind !== "yes-no") return { bad: field.name };
      if (field.kind === "yes-no" && field.needed) values[field.name] = false;
      continue;
    }
    const read = readOne(field, text);
    if (read === undefined) return { bad: field.name };
    values[field.name] = read;
  }
  return { values };
}

function readOne(field: Field, text: string): unknown {
  if (field.kind === "number") {
    const value = Number(text);
    return Number.isFinite(value) && (!field.whole || Number.isInteger(value)) ? value : undefined;
  }
  if (field.kind === "yes-no") return text === "true";
  if (field.kind === "json") {
    try {
      return JSON.parse(text) as unknown;
    } catch {
      return undefined;
    }
  }
  return text;
}
