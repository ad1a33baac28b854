"""One file per objective; its name is the command's name."""
