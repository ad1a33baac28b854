"""The example sentences of the BSL paper (Tables 5 and 11) through each view, as they come out; Markdown.

python benchmarks/examples.py
"""

from __future__ import annotations

import sys

from augment.view import ViewSpec, make_view, row_seed

SENTENCES = (
    "The cats used to love plopping on the newspapers.",
    "I realize she had written a new will.",
    "There are people who believe that the interest on the national debt is a problem.",
    "According to numerous studies, music and suicide have little to no correlation.",
    "The earliest human remains found on Crete date back to the seventh millennium b.c.",
    "It's a commitment to general education—a sequence of courses intended to develop critical thinking in a wide "
    "variety of disciplines—in opposition to early specialization.",
)
"""Zhang et al. 2021, Tables 5 and 11; from MultiNLI."""
BUNDLED = {"models": "starter"}
VIEWS = {
    "synonym": ViewSpec("synonym"),
    "mlm-fill": ViewSpec("mlm-fill"),
    "mlm-fill, `--words any`": ViewSpec("mlm-fill", {"words": "any"}),
    "span-mask": ViewSpec("span-mask"),
    "backtranslate de": ViewSpec("backtranslate", BUNDLED | {"pivot": "de"}),
    "backtranslate fr": ViewSpec("backtranslate", BUNDLED | {"pivot": "fr"}),
    "backtranslate de, `--decode top-p:0.9`": ViewSpec(
        "backtranslate", BUNDLED | {"pivot": "de", "decode": "top-p:0.9"}
    ),
    "backtranslate de+en+fr": ViewSpec("backtranslate", BUNDLED | {"pivot": "de+en+fr"}),
    "translate fr": ViewSpec("translate", BUNDLED | {"to": "fr"}),
}


def main() -> None:
    """One table a sentence."""
    made = {}
    for name, spec in VIEWS.items():
        view = make_view(spec)
        made[name] = view(SENTENCES, [row_seed(0, text, view.spec.seed_key()) for text in SENTENCES])
    for number, text in enumerate(SENTENCES):
        sys.stdout.write(f"| view | text |\n|---|---|\n| *sentence* | {text} |\n")
        for name, views in made.items():
            one = views[number]
            status = "" if one.status == "ok" else f"*{one.status}{f', {one.reason}' if one.reason else ''}* "
            sys.stdout.write(f"| {name} | {status}{one.text or ''} |\n")
        sys.stdout.write("\n")


if __name__ == "__main__":
    main()
