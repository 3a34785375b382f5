"""General helpers: files, concurrency, token counts, texts, HTML nodes, moved names."""
