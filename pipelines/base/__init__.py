"""What both commands stand on: files, messages and tables on a terminal, Ctrl-C, commands from options."""
