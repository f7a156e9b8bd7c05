"""The command line: what people and machines type, over the same verbs as the pages."""
