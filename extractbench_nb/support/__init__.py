"""Files, concurrency, token counts, texts, HTML nodes, moved names: nothing domain-specific."""
