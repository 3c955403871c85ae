"""Works out a tip. What it does not know it asks for: the last printed line with exit code 10 is a question.

The next message of the same task starts the program again, with everything that was said before in `history`.
"""

import json
import re
import sys

ASK = 10
LIKELY_TIPS = range(0, 31)


def said(job: dict) -> str:
    """All words of the caller in this task, in order."""
    messages = [one for one in job["history"] if one["role"] == "ROLE_USER"]
    earlier = [part.get("text", "") for one in messages for part in one["parts"]]
    return " ".join([*earlier, job["text"]])


def ask(question: str) -> None:
    print(question)
    sys.exit(ASK)


def main() -> None:
    numbers = [float(number) for number in re.findall(r"\d+(?:\.\d+)?", said(json.load(sys.stdin)))]
    bills = [number for number in numbers if number not in LIKELY_TIPS]
    tips = [number for number in numbers if number in LIKELY_TIPS]
    if not bills:
        ask("How much is the bill?")
    if not tips:
        ask("How many per cent is the tip?")
    bill, tip = bills[-1], tips[-1]
    print(f"Pay {bill * (1 + tip / 100):.2f}: {bill:.2f} and a tip of {bill * tip / 100:.2f}.")


if __name__ == "__main__":
    main()
