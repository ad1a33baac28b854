"""A command-line option that is not written as a function's parameter."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import typer


@dataclass(frozen=True, slots=True)
class Flag:
    """One option: its type, its help, its default; `names` where they are not `--` and the key.

    A list type makes an option that may be given several times; `metavar` is how its value is written in the help.
    """

    type: Any
    help: str
    default: Any = None
    names: tuple[str, ...] = ()
    least: int | None = None
    metavar: str | None = None

    def annotation(self, key: str) -> Any:  # noqa: ANN401 - an annotation
        """Return what typer reads: the type and the option's names and help."""
        names = self.names or ("--" + key.replace("_", "-"),)
        if self.type == bool | None:
            names = (f"{names[0]}/--no-{names[0][2:]}",)
        option = typer.Option(
            *names, help=self.help, show_default=key == "seed", min=self.least, metavar=self.metavar
        )  # fmt: skip
        return Annotated[self.type, option]
