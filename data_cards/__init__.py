"""One Markdown card per corpus and benchmark that we know how to read: size, licence, citation, source, cautions."""
