"""Does failure follow rarity in the training data?"""
