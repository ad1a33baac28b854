"""The options of `train evaluate`: what is asked for, as the command line has it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from trainers.evaluation.discovery import ALL, suite_names

DATA_VARIABLE = "TWINVIEWS_DATA"

Model = Annotated[
    str,
    typer.Argument(
        help="A sentence-transformers or transformers directory, a Hub name, `starter`, `tfidf`, `glove:FILE`, "
        "`fasttext:FILE`, or a function of yours as `package.module:function`.",
        show_default=False,
    ),
]
Suites = Annotated[
    list[str] | None,
    typer.Option(
        help=f"What to evaluate on; give it again for another. There are {', '.join(suite_names())}; {ALL} is all of "
        "them but the bundled smoke test `sample`. [sts with data, sample without]",
        metavar=f"NAME|{ALL}",
        show_default=False,
    ),
]
Data = Annotated[
    str | None,
    typer.Option(envvar=DATA_VARIABLE, help="Folder with the benchmarks, or hf:mteb for the Hub.", metavar="DIR"),
]
PoolingChoice = Annotated[
    Literal["mean", "cls", "first-last", "padded-mean"] | None,
    typer.Option(
        help="Pool like this instead of what the model says. first-last: mean of the first and the last layer's "
        "means. padded-mean: padding included, at 64 tokens, as in Mirror-BERT's code."
    ),
]
MaxTokens = Annotated[
    int | None,
    typer.Option(
        min=3, help="Cut texts at so many tokens; of padded-mean, pad them too. [as the model says; padded-mean 64]"
    ),
]
Whiten = Annotated[
    str | None,
    typer.Option(help="Whiten the vectors (Su et al. 2021) to so many dimensions, or all.", metavar="DIM|all"),
]
Flow = Annotated[
    bool, typer.Option("--flow", help="Map the vectors by a flow trained on them (BERT-flow, Li et al. 2020).")
]
FlowEpochs = Annotated[int | None, typer.Option(min=1, help="Passes over the flow's text. [1]")]
Fit = Annotated[
    Path | None,
    typer.Option(
        help="Text that tfidf, --whiten or --flow is fitted on, one sentence a line. Without it whitening and flow "
        "are fitted on each set's own sentences, tfidf on all of them.",
        metavar="FILE",
    ),
]
Seed = Annotated[int, typer.Option(help="Decides folds (1111 is SentEval's) and draws, and the flow's training.")]
BatchSize = Annotated[int, typer.Option(min=1, help="Most texts in a batch.")]
BatchTokens = Annotated[
    int | None,
    typer.Option(min=1, help="Most tokens in a batch, padding included. [2048 on a CPU, 16384 elsewhere]"),
]
PrecisionChoice = Annotated[
    Literal["fp32", "bf16"],
    typer.Option(help="bf16 is faster where the machine has it; figures can move by some hundredths."),
]
Device = Annotated[str, typer.Option(help="auto, cpu, cuda, cuda:1, mps.")]
Cache = Annotated[
    Path | None,
    typer.Option(
        help="Folder where a model's vectors are kept for later evaluations. [~/.cache/twinviews/vectors]",
        metavar="DIR",
    ),
]
NoCache = Annotated[bool, typer.Option("--no-cache", help="Encode everything anew and keep no vectors.")]
Out = Annotated[
    Path | None,
    typer.Option(
        help="Folder for the results; evaluation/ beside the model if not given. Where results of other settings are, "
        "these get a folder of their own in it.",
        metavar="DIR",
    ),
]
Mteb = Annotated[bool, typer.Option("--mteb", help="Write MTEB's result files too, into mteb/ in the results' folder.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of the tables.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="List what is found and missing; encode and write nothing.")]
