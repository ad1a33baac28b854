"""Named columns: what tables may call them, and how one of them does."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

from augment.errors import InputError

TEXT_COLUMNS = ("text", "sentence")
Roles: TypeAlias = Mapping[str, Sequence[str]]
"""What tables may call the column of each role, that is of what it holds; in any case, the usual name first."""


def listed(cells: Sequence[str]) -> str:
    """The first few names or cells, quoted and shortened, for an error message."""
    short = [cell if len(cell) <= 24 else cell[:23] + "…" for cell in cells[:8]]
    return ", ".join(map(repr, short)) + (", …" if len(cells) > 8 else "")


def spelling(where: str, choices: Iterable[str], names: Sequence[str]) -> str:
    """How a table spells the first of these names that it has, in another case if need be; "" for none.

    Raises InputError, naming `where`, if it has several of the name.
    """
    for name in choices:
        plain = name.lower()
        alike = [name] * names.count(name) or [other for other in names if other.strip().lower() == plain]
        if len(alike) > 1:
            raise InputError(
                f"{where} has {len(alike)} columns of the name {listed([name])}: rename all but one"
            )
        if alike:
            return alike[0]
    return ""


def find_columns(
    where: str, roles: Roles, names: Sequence[str], own: Mapping[str, str] | None = None
) -> dict[str, str]:
    """The columns of a table by role, of those roles that it has; the user's `own` names of them come first.

    Raises InputError, naming `where`, if a table has several columns of one name.

    Example:
        >>> find_columns("a.csv", {"text": ["text", "body"], "label": ["label"]}, ["id", "Body"])
        {'text': 'Body'}
    """
    given = {role: column for role, column in (own or {}).items() if column in names}
    others = [name for name in names if name not in given.values()]
    columns = dict[str, str]()
    for role, aliases in roles.items():
        alias = next((alias for alias in aliases if alias in given), "")
        column = given[alias] if alias else spelling(where, aliases, others)
        if column:
            columns[role] = column
    return columns


def find_kind(
    where: str, kinds: Mapping[str, Roles], names: Sequence[str], own: Mapping[str, str] | None = None
) -> tuple[str, dict[str, str]]:
    """The first of the kinds of tables all of whose columns a table has, and these; "" for none."""
    for kind, roles in kinds.items():
        columns = find_columns(where, roles, names, own)
        if len(columns) == len(roles):
            return kind, columns
    return "", {}


def header_names(kinds: Iterable[Roles], own: Mapping[str, str] | None = None) -> set[str]:
    """The names of which the header of a CSV has at least one: all that columns of these kinds may be called."""
    aliases = {alias for roles in kinds for names in roles.values() for alias in names}
    return aliases | {*(own or {}).values()}
