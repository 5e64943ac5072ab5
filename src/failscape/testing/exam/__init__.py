"""The exam: worlds drawn at random, and what a search or a hunt has to get right in all of them.

Worlds come from a wide family (`worlds`): few and many contexts and facts, bugs of one to three facts from 15
to 90 points, usual rates from 0 to 30 %, correlated facts, generators that obey half of the time, judges and
captioners from perfect to useless, budgets from too small to ample. `subjects` lists what can sit the exam,
`marks` what counts: false claims, provable bugs that are named, failures that nobody mentions, budget left
over, time.

Run it with `python -m benchmarks.exam --seeds 200`. Use seeds that nobody has looked at for figures.
"""
