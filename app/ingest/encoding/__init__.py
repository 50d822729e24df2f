"""Encodings of arrays, and of documents that hold arrays: by the server and by the processes of sessions."""
