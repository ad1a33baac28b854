"""One file a view: its `PARAMS`, and `build(params, runtime)`; the file's name is the view's name."""
