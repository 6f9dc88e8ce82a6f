"""Embedders: from texts to vectors. Importing one loads no model and no library that runs models."""
