"""The papers' rows as they were typed: read whole, consistent in themselves, and naming figures that we give."""

from pathlib import Path

import pytest

import trainers.scores.suites
from trainers.scores.pages.comparison import PAPERS, SPEARMAN, Column, Row, load_paper
from trainers.scores.pairs import METRICS
from trainers.scores.suites import load_suite

TABLES = [table for name in PAPERS for table in load_paper(name)]
SEVEN = ("sts12", "sts13", "sts14", "sts15", "sts16", "stsb", "sickr")
# Averages that are not the mean of the printed cells, by paper, table and row.
MISPRINTS = {
    ("BSL Table 1", "SBERT"): 74.86,
    ("BSL Table 2", "BERT avg."): 84.954,
    ("BSL Table 2", "IS-BERT"): 85.831,
    ("Mirror-BERT Table 4", "BERT"): 53.533,
    ("IS-BERT Table 1", "SBERT-NLI"): 74.86,
    ("IS-BERT Table 3", "Avg. BERT embeddings"): 84.954,
    ("IS-BERT Table 3", "IS-BERT-task"): 85.831,
}


def mean_of_cells(row: Row, column: Column) -> tuple[float, int] | None:
    """Return the mean of the printed cells that a printed average is over, and their decimals."""
    cells = [row.cells.get(Column((name,), column.measure)) for name in column.sets]
    known = [cell for cell in cells if cell is not None]
    if len(known) < len(column.sets):
        return None
    return sum(cell.value for cell in known) / len(known), max(cell.digits for cell in known)


def test_every_results_table_of_the_papers_is_there() -> None:
    numbers = {name: [table.source.split()[-1] for table in load_paper(name)] for name in PAPERS}
    assert numbers["bsl"] == ["1", "2", "3", "4", "6", "7", "9", "10"]
    assert numbers["isbert"] == ["1", "2", "3", "4"]
    assert numbers["mirror"][:-2] == [str(number) for number in range(1, 21) if number not in (11, 15)]


def test_printed_averages_are_the_means_of_their_rows_but_for_the_known_misprints() -> None:
    wrong, count = {}, 0
    for table, row in [(each, row) for each in TABLES for row in each.rows]:
        for column, printed in row.cells.items():
            found = mean_of_cells(row, column) if len(column.sets) > 1 else None
            if found is None:
                continue
            (mean, digits), count = found, count + 1
            # The cells are rounded too, so their mean may be off by half a unit of theirs.
            if abs(mean - printed.value) > 0.5 * 10**-printed.digits + 0.5 * 10**-digits + 1e-9:
                wrong[table.source, row.model] = round(mean, 3)
                assert row.note is not None
    assert count > 90
    assert wrong == MISPRINTS


@pytest.mark.parametrize(
    ("paper", "table", "model", "sets", "measure", "shown"),
    [
        ("bsl", "Table 1", "BSL-BERT", ("stsb",), SPEARMAN, "73.74"),
        ("bsl", "Table 3", "BSL-uns", ("sts17-en-tr",), SPEARMAN, "72.7"),
        ("bsl", "Table 6", "BSL, momentum 0.99", ("stsb",), SPEARMAN, "72.51"),
        ("isbert", "Table 3", "IS-BERT-task", ("mrpc",), "accuracy", "74.24"),
        ("isbert", "Table 4", "IS-BERT-STSb (ssl + ft)", ("stsb",), SPEARMAN, "84.84 +- 0.43"),
        ("mirror", "Table 2", "PubMedBERT + Mirror", ("cometa",), "acc@5", "71.3"),
        ("mirror", "Table 3", "BERT + Mirror", ("sts12",), SPEARMAN, "67.0"),
        ("mirror", "Table 14", "BERT-mp", ("phrase",), "mean-norm", "6.82"),
        ("mirror", "Table 14", "BERT-CLS", ("phrase",), "mean-norm", "12.8"),
        ("mirror", "Table 16", "mBERT + Mirror", ("multisimlex-cmn",), SPEARMAN, "50.1"),
        ("mirror", "section 4.2", "RoBERTa + Mirror", ("qnli",), "auc", "70.9"),
        ("sct", "average", "SCT-BERT-small", SEVEN, SPEARMAN, "72.56"),
        ("congen", "average", "ConGen-BERT-base", SEVEN, SPEARMAN, "80.06"),
        ("simcse", "average", "SimCSE-BERT-base", SEVEN, SPEARMAN, "76.25"),
    ],
)
def test_cells(paper: str, table: str, model: str, sets: tuple[str, ...], measure: str, shown: str) -> None:
    """They are x 100, with the decimals that were printed."""
    (tables,) = [item for item in load_paper(paper) if item.source.endswith(f" {table}")]
    (row,) = [row for row in tables.rows if row.model == model]
    assert str(row.cells[Column(sets, measure)]) == shown


def test_figures_that_the_papers_print_are_figures_that_our_suites_give() -> None:
    folder = Path(trainers.scores.suites.__path__[0])
    for table in TABLES:
        name = table.suite.replace("-", "_")
        assert (folder / f"{name}.py").is_file(), table.suite
        figures = getattr(load_suite(table.suite), "METRICS", METRICS)
        for each in table.rows:
            for column in each.cells:
                wanted = each.aggregation or "all" if column.measure == SPEARMAN else column.measure
                assert wanted in figures, (table.source, column)
