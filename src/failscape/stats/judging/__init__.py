"""How judges err: measured accuracy, what it does to rates, reviews by people, agreement."""
