"""Values as text and HTML for people: shortened, cleaned, compared side by side."""
