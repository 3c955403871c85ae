//! Deletion: the text of what was deleted is in no file.
