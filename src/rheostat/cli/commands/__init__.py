"""Subcommands of `rheostat`, one module each."""
