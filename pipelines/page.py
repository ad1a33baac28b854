"""Reports as one HTML page that needs no other file."""

from collections.abc import Callable
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from pipelines.console import harmless


def render_page(package: str, *filters: Callable[..., str], **values: Any) -> str:  # noqa: ANN401 - anything
    """Return a package's template `report.html` with these values, escaped, their control characters too.

    The template knows the `filters` by their names.
    """
    environment = Environment(
        loader=PackageLoader(package),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        # Markup of the template itself is left alone.
        finalize=lambda value: harmless(value) if type(value) is str else value,
    )
    environment.filters |= {each.__name__: each for each in filters}
    return environment.get_template("report.html").render(values)
