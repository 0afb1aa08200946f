"""Models: the registry of windows, caps and framing, and the provider that counts offline."""
