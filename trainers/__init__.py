"""The top floor: pairs -> encoder -> scores. From below it takes only `augment.device` and some of `pipelines`."""
