# The message comes on stdin. Every line that is printed reaches the caller at once.
# An exit code other than 0 makes the task fail with the last lines of stderr.
words=$(wc -w)
echo "That text has $((words)) words."
