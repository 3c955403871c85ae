"""Answers one message: reads it as JSON from stdin, prints the answer.

Every line that is printed reaches the caller at once. An exception makes the task fail with its text.
"""

import json
import sys


def answer(text: str) -> str:
    words = text.split()
    if not words:
        return "There is no word in that."
    longest = max(words, key=len)
    return f"The longest of {len(words)} words is {longest!r}."


def main() -> None:
    job = json.load(sys.stdin)
    parts = job["message"]["parts"]
    text = "\n".join(part["text"] for part in parts if "text" in part)
    print(answer(text), flush=True)


if __name__ == "__main__":
    main()
