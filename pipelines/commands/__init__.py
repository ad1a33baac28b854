"""The subcommands of `augment`, where one needs more than a few lines."""
