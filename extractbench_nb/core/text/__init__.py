"""The meaning of texts.

Normalisation, numbers and quantities, dates, names, and words with one meaning.
"""
