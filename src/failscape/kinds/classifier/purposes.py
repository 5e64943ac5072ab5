"""What pictures of a classifier hunt are drawn for."""

from failscape.trials import Purpose, Purposes

SEARCH = Purpose("search", "")
PLAIN = Purpose("search", "b", fixed_beforehand=True, sample_name="plain pictures")
FRESH = Purpose("fresh pictures", "f", fixed_beforehand=True, after_search=True)
PHOTO = Purpose("photo", "p", fixed_beforehand=True, shows_photos=True, sample_name="photos")
SEEN_BESIDE = Purpose("is the wrong label's object there too", "?", is_of_target=False)
COUNTERFACTUAL = Purpose("counterfactual", "x")
JUDGE_LOOK = Purpose("what the judge sees in a photo", "s", shows_photos=True, is_of_target=False)
CAPTION = Purpose("caption", "c", is_of_target=False)
EXPLORING = Purpose("first look", "w")
LOOK = Purpose("first look", "k")
LANGUAGE_MODEL = Purpose("question to the language model", "l", is_of_target=False)
TEXT_VECTORS = Purpose("what photos are compared with", "e", is_of_target=False)
PHOTO_OF_SET = Purpose("photo of a set", "v", shows_photos=True)

PURPOSES = Purposes(
    SEARCH,
    PLAIN,
    EXPLORING,
    LOOK,
    SEEN_BESIDE,
    FRESH,
    COUNTERFACTUAL,
    PHOTO,
    JUDGE_LOOK,
    CAPTION,
    LANGUAGE_MODEL,
    TEXT_VECTORS,
    PHOTO_OF_SET,
)
