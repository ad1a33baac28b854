"""One file a view: a subclass of `augment.view.View`, whose name is the file's."""
