"""The command `train`: its subcommands, one file each."""
