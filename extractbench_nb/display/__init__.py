"""Values as text and HTML for people: shortened, cleaned, set side by side."""
