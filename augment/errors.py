"""The tree of errors.

TwinviewsError            something failed; exit code 1
└── InputError            a user's mistake: one line with what, the value seen, what to do; exit code 2
    └── MissingExtraError an optional dependency is not installed; the line ends with how to install it
"""


class TwinviewsError(Exception):
    """Root of every error that Twinviews raises on purpose."""

    exit_code = 1


class InputError(TwinviewsError):
    """A user's mistake; its message is one line: what, the value seen, what to do."""

    exit_code = 2


class MissingExtraError(InputError):
    """An optional dependency is missing: `MissingExtraError("--filter language", "lid")` needs the extra "lid"."""

    def __str__(self) -> str:
        return "{} needs an extra that is not installed: pip install 'twinviews[{}]'".format(*self.args)
