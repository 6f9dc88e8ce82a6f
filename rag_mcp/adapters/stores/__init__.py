"""Where vectors are searched: Chroma generations, and the exact scan."""
