"""The service: graphs, datasets and fits behind HTTP. The numbers are made by `engine`."""
