"""Tables as people have them, from any source: `reader.open_table` tells the columns and streams the rows."""
