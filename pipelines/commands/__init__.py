"""The subcommands of `augment` for views and pairs."""
