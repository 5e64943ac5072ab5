"""The images of every prompt, counted. Numbers of tries are bits, so that nothing is told or asked twice."""

from collections.abc import Sequence

import numpy as np

from failscape.errors import AtlasError
from failscape.spaces.prompt_list import ListedPrompt
from failscape.trials import Trial, Verdict


class PromptLedger:
    """Columns by place of a prompt in the list. Panel and replication are counted elsewhere."""

    def __init__(self, prompts: Sequence[ListedPrompt]) -> None:
        count = len(prompts)
        self.prompts = prompts
        self.place_of = {prompt.id: at for at, prompt in enumerate(prompts)}
        self.passes = np.zeros(count)
        self.fails = np.zeros(count)
        self.invalid = np.zeros(count, dtype=np.int64)
        self.flying = np.zeros(count, dtype=np.int64)
        self.dropped = [[0] * len(prompt.checks) for prompt in prompts]
        self._told = [0] * count
        self._asked = [0] * count

    def __len__(self) -> int:
        return len(self.prompts)

    @property
    def images(self) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        """Valid images by prompt."""
        return self.passes + self.fails

    def place(self, subject: str) -> int:
        found = self.place_of.get(subject)
        if found is None:
            raise AtlasError(
                f"there is no prompt with the id {subject!r} in the list",
                "use the list that the hunt was run with, or another --atlas",
            )
        return found

    def next_try(self, at: int) -> int:
        """Takes the lowest number that is neither told nor in flight."""
        taken = self._told[at] | self._asked[at]
        number = (~taken & (taken + 1)).bit_length() - 1
        self._asked[at] |= 1 << number
        self.flying[at] += 1
        return number

    def tell(self, at: int, number: int, trial: Trial) -> bool:
        """Count a trial; false if it was told before."""
        bit = 1 << number
        if self._told[at] & bit:
            return False
        if self._asked[at] & bit:
            self._asked[at] &= ~bit
            self.flying[at] -= 1
        self._told[at] |= bit
        if trial.verdict is Verdict.PASS:
            self.passes[at] += 1
        elif trial.verdict is Verdict.FAIL:
            self.fails[at] += 1
            for place, held in enumerate(trial.facts[-1]):
                self.dropped[at][place] += not held
        else:
            self.invalid[at] += 1
        return True
