"""What a user's mistake must look like."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from augment.errors import InputError


@contextmanager
def refused(said: str) -> Iterator[None]:
    """Hold what is done here to an InputError of one line that holds `said`."""
    with pytest.raises(InputError) as caught:
        yield
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)
