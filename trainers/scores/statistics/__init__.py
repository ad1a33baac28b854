"""What figures can tell: estimates with intervals, tests, and verdicts as data and in words."""
