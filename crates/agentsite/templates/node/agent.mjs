// The message comes on stdin. Every line that is printed reaches the caller at once.
// An exit code other than 0 makes the task fail with the last lines of stderr.

process.stdin.setEncoding("utf8");
let text = "";
for await (const chunk of process.stdin) text += chunk;
console.log([...text.trimEnd()].reverse().join(""));
