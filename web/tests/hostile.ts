// Texts that ran somewhere, sometime. Each calls `pwned` when it does.
export const HOSTILE = [
  "<script>pwned()</script>",
  "<img src=x onerror=pwned()>",
  "<svg/onload=pwned()>",
  "[x](javascript:pwned())",
  "<a href='javascript:pwned()'>x</a>",
  "<iframe srcdoc='<script>parent.pwned()</script>'></iframe>",
  "![x](x\" onerror=\"pwned())",
  "<math><mtext><table><mglyph><style><!--</style><img title=\"--&gt;&lt;img src=1 onerror=pwned()&gt;\">",
  "<form><button formaction=javascript:pwned()>x</button></form>",
  "<details open ontoggle=pwned()>",
  "{@html '<img src=x onerror=pwned()>'} ${pwned()} {{pwned()}}",
  "<style>@import 'javascript:pwned()';</style><p style=\"background:url(javascript:pwned())\">x</p>",
  "</textarea></script><script>pwned()</script>",
  "data:text/html,<script>pwned()</script>",
];
