// Svelte with runes everywhere, and styles in files of their own, because the content policy lets no inline style in.
export default { compilerOptions: { runes: true, css: "external" } };
