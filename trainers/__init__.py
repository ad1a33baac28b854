"""The top floor: pairs -> encoder -> scores. Of ours it imports `pipelines.pairs` and `pipelines.console` alone."""
