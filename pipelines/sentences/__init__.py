"""Reading sentences from files, documents, tables and the Hub."""
