"""The signature of a score: every setting that decides it, in one line that a paper can quote."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

DIGITS = 12
"""Hex digits of a checksum that are printed."""


def signature(evaluations: Sequence[Mapping[str, Any]], sets: Sequence[str], metrics: Sequence[str]) -> str:
    """Return the signature of figures of one suite.

    Example: `sts|sets:stsb|metric:all|pooling:mean|tokens:128|precision:fp32|seed:1111|items:0f3c92a1...|...`

    `evaluations` are the suite's results as `train evaluate` stores them, one for each training seed; what is not the
    same in all of them is joined by "+", as are `sets` and `metrics` (for correlations, how subsets were joined).
    """
    parts = [_settings(stored, [name for name in sets if name in stored["sets"]]) for stored in evaluations]
    line = {"sets": "+".join(sets), "metric": "+".join(metrics)}
    line |= {key: "+".join(dict.fromkeys(each[key] for each in parts if each[key])) for key in parts[0]}
    line["runs"] = str(len(parts)) if len(parts) > 1 else ""
    return "|".join([str(evaluations[0]["suite"]), *(f"{key}:{value}" for key, value in line.items() if value)])


def suite_signature(stored: Mapping[str, Any]) -> str:
    """Return the signature of a suite's average, or of all its sets where it has none."""
    counted = [name for name, each in stored["sets"].items() if each["counted"]]
    sets = counted if len(counted) > 1 else list(stored["sets"])
    metrics = dict.fromkeys(metric for name in sets for metric in list(stored["sets"][name]["figures"])[:1])
    return signature([stored], sets, list(metrics))


def _settings(stored: Mapping[str, Any], sets: Sequence[str]) -> dict[str, str]:
    model, adaptation = stored["model"], stored.get("adaptation") or {}
    return {
        "pooling": str(model.get("pooling") or ""),
        "tokens": str(model.get("max_tokens") or ""),
        "precision": str(stored["settings"].get("precision") or ""),
        "adaptation": ",".join(f"{key}={_short(value)}" for key, value in adaptation.items() if value is not None),
        "seed": str(stored.get("seed") or ""),
        "items": _joined([str(stored["sets"][name]["sha256"]) for name in sets]),
        "weights": _joined([str(digest) for digest in (model.get("weights") or {}).values()]),
        "version": str(stored.get("versions", {}).get("twinviews", "")),
    }


def _joined(digests: Sequence[str]) -> str:
    """Return one shortened checksum of several."""
    whole = digests[0] if len(digests) == 1 else hashlib.sha256("".join(digests).encode()).hexdigest()
    return whole[:DIGITS] if digests else ""


def _short(value: object) -> str:
    text = json.dumps(value, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:DIGITS] if isinstance(value, Mapping) else str(value)
