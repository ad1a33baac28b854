"""Ten sentences with a mask, and the five likeliest words of the bundled masked language model, as they come out.

python benchmarks/fill_mask.py
"""

from __future__ import annotations

from importlib.resources import files

from transformers import pipeline

SENTENCES = (
    "A man is riding a [MASK] down the street.",
    "Two dogs are [MASK] in the snow.",
    "She drank a cup of [MASK] before work.",
    "I have no [MASK] what you are talking about.",
    "The children are playing in the [MASK].",
    "It is too [MASK] to go outside without a coat.",
    "He forgot to [MASK] the door when he left.",
    "Tom can [MASK] French better than Mary.",
    "The train was two hours [MASK].",
    "A woman in a red [MASK] is reading a book.",
)


def main() -> None:
    """Print a Markdown table."""
    fill = pipeline("fill-mask", model=str(files("augment").joinpath("starter", "encoder")), top_k=5)
    print("| sentence | top five |\n|---|---|")
    for sentence in SENTENCES:
        words = ", ".join(f"{found['token_str']} {found['score']:.2f}" for found in fill(sentence))
        print(f"| {sentence} | {words} |")


if __name__ == "__main__":
    main()
