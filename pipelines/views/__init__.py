"""Views on disk: `run` says how one is made, from its plan to its finished folder."""
