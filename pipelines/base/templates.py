"""Templates of cards and pages."""

from typing import Any


def templates(package: str, **options: Any) -> Any:  # noqa: ANN401 - a jinja2.Environment
    """The templates of a package, in which a name without a value is an error."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    return Environment(
        loader=PackageLoader(package),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        **options,
    )
