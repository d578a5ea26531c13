"""The server's side: middleware, uploads, access control, sessions, the model cache."""
