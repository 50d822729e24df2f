"""The web page of the server: static files that use the public API, and the routes that serve them."""
