"""What texts mean.

Normalisation, numbers and quantities, dates, names, and the words that have one meaning.
"""
