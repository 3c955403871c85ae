# The message is standard input, the answer standard output. A code other than 0 fails the task with what was said on stderr.
text=$(cat)
if [ -z "$(printf '%s' "$text" | tr -d '[:space:]')" ]; then
    echo "there are no lines to sort" >&2
    exit 1
fi
printf '%s\n' "$text" | sort | uniq -c | sort -k1,1nr -k2 | while read -r count line; do
    echo "$count $line"
done
