"""`python -m pipelines` is `augment`, and the entry point of both: Ctrl-C is quiet before anything else is imported."""

from pipelines.interrupt import end_at_once
from pipelines.namesakes import check_namesakes


def main() -> None:
    """Run the command line."""
    end_at_once()
    check_namesakes()
    from pipelines.cli import main as run_augment

    run_augment()


if __name__ == "__main__":
    main()
