// Svelte with runes everywhere, and styles in files of their own, because the content policy lets no inline style in. Styles are told apart by what they say, not
// by where their file lies, so that every folder gives the same bytes.
export default { compilerOptions: { runes: true, css: "external", cssHash: ({ hash, css }) => `svelte-${hash(css)}` } };
