"""Text that fills the KV cache to a position and gives drafters and prompt caches nothing.

Sentences are made from a grammar and lists of words by a generator of its own, so that a seed
gives the same text on every machine and Python. No run of six words occurs twice within a text
(hence no run of eight), so that an n-gram drafter finds nothing to copy; other seeds begin
differently, so that no prefix is found in a prompt cache.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from itertools import islice

#: No run of this many words occurs twice in one text.
UNIQUE_RUN = 6

#: Sentences in a paragraph.
PARAGRAPH = 6

#: Characters of such a text that make one token, in tokenizers with some 32,000 entries and
#: more. Only an estimate: give `fill` a tokenizer where there is one.
CHARACTERS_PER_TOKEN = 4.0

_WORD_BITS = (1 << 64) - 1


def _words(text: str) -> tuple[str, ...]:
    """The words of a list; an underscore stands for a blank within one."""
    return tuple(word.replace("_", " ") for word in text.split())


_PLACES = _words(
    "harbour archive orchard quarry workshop observatory mill market chapel station garden "
    "warehouse vineyard bridge library courtyard foundry meadow lighthouse bakery canal forge "
    "museum nursery reservoir theatre terrace dairy shipyard pasture cellar gallery tannery "
    "greenhouse sawmill pavilion granary boathouse monastery kiln"
)
_PEOPLE = _words(
    "surveyor gardener mason weaver clerk pilot baker printer shepherd carpenter librarian "
    "glazier botanist tailor miner teacher ferryman potter cooper archivist engraver farrier "
    "beekeeper geologist apprentice navigator locksmith brewer painter plumber roofer cartographer "
    "conductor miller saddler gatekeeper optician caretaker upholsterer ropemaker"
)
_THINGS = _words(
    "ledger lantern barrel compass ladder parcel kettle anchor basket telescope carpet shovel "
    "chimney pendulum hammer bucket mirror violin wagon blanket drawer engine fence gutter hinge "
    "inkwell jug lever magnet needle oar pulley quilt rudder saddle thermometer umbrella valve "
    "whistle yoke almanac bellows candle dial envelope flask goblet hourglass instrument javelin "
    "kite loom manuscript nozzle organ pipe ruler scale tile urn"
)
_QUALITIES = _words(
    "narrow copper patient crooked silent wooden distant brittle amber heavy uneven faded rusty "
    "northern hollow polished damp quiet slender curious borrowed tilted sturdy pale ancient "
    "careful speckled bright sunken remote coarse gentle dusty woven frozen nimble ordinary "
    "painted restless shallow tidy unusual velvet weathered yellow angular blunt cheerful"
)
_VERBS = _words(
    "measured repaired carried described counted painted moved sketched weighed cleaned polished "
    "wrapped examined labelled lifted sorted traced mended covered studied opened borrowed tested "
    "folded raised lowered sealed turned compared drew inspected mounted noticed packed recorded "
    "replaced sanded shifted stacked tightened unrolled varnished washed adjusted balanced"
)
_MANNERS = _words(
    "slowly twice reluctantly carefully again at_dusk before_noon without_hurry in_silence "
    "by_hand after_the_rain with_great_care from_memory in_spring once_more on_a_Thursday "
    "under_the_lamp against_advice for_the_first_time at_low_tide between_two_storms by_mistake "
    "in_plain_view with_both_hands during_the_thaw"
)
_LINKS = _words(
    "because although while until whereas so_that before even_though since unless as_soon_as"
)
_FIRST = _words("bar cor dun el fen gar hol ist kel lor mar nor os pel quin ros sel tam ul ver wen")
_LAST = _words("beck dale field gate holt ley mere ness port ridge stead thorpe wick wold ford")


class _Dice:
    """SplitMix64 (Steele, Lea and Flood 2014, OOPSLA): the same numbers everywhere, for ever."""

    def __init__(self, seed: int) -> None:
        self.state = seed & _WORD_BITS

    def roll(self, sides: int) -> int:
        """A number from 0 to `sides` - 1."""
        self.state = (self.state + 0x9E3779B97F4A7C15) & _WORD_BITS
        z = self.state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _WORD_BITS
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _WORD_BITS
        return (z ^ (z >> 31)) % sides

    def word(self, words: Sequence[str]) -> str:
        """One of the words."""
        return words[self.roll(len(words))]


def seed_of(*names: str | int) -> int:
    """A seed from names, as of a prompt and a round: both arms get the same text, no two rounds."""
    digest = hashlib.sha256(json.dumps(names).encode()).digest()
    return int.from_bytes(digest[:8], "big")


def sentences(seed: int) -> Iterator[str]:
    """Sentences without end, of which no two share a run of six words."""
    dice, seen, tail = _Dice(seed), set[tuple[str, ...]](), list[str]()
    while True:
        sentence = _sentence(dice)
        words = [*tail, *words_of(sentence)]
        runs = set(runs_of(words))
        if len(runs) == len(words) - UNIQUE_RUN + 1 and seen.isdisjoint(runs):
            seen |= runs
            tail = words[1 - UNIQUE_RUN :]
            yield sentence


def words_of(text: str) -> list[str]:
    """The words of a text in lower case, without punctuation."""
    return [word.strip(".,;:").lower() for word in text.split()]


def runs_of(words: list[str], length: int = UNIQUE_RUN) -> Iterator[tuple[str, ...]]:
    """Every run of `length` words, in order."""
    return (tuple(words[i : i + length]) for i in range(len(words) - length + 1))


def text(seed: int, count: int) -> str:
    """The first `count` sentences of a seed, in paragraphs. A longer text begins like it."""
    return _joined(list(islice(sentences(seed), count)))


def estimated_tokens(content: str) -> int:
    """About how many tokens a text has, where no tokenizer can be asked."""
    return round(len(content) / CHARACTERS_PER_TOKEN)


def fill(tokens: int, seed: int, count: Callable[[str], int] = estimated_tokens) -> str:
    """The longest text of whole sentences that has at most `tokens` tokens; may be empty.

    count: how many tokens a text has; it must grow with the text. It is asked about log2 of
    the number of sentences times, since a long text takes long to tokenize.
    """
    found = _sentences_for(tokens, seed)
    while count(_joined(found)) <= tokens:
        found = list(islice(sentences(seed), 2 * len(found)))
    low, high = 0, len(found)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if count(_joined(found[:middle])) <= tokens else (low, middle)
    return _joined(found[:low])


def _sentences_for(tokens: int, seed: int) -> list[str]:
    """Roughly as many sentences as `tokens` tokens take, and some more."""
    return list(islice(sentences(seed), max(tokens, 0) // 12 + 2))


def filled_prompt(
    prompt: str, tokens: int, seed: int, count: Callable[[str], int] = estimated_tokens
) -> str:
    """A prompt behind as much filler as makes both together at most `tokens` tokens long.

    The prompt alone where it is that long already.
    """
    head = fill(tokens - count(f"\n\n{prompt}"), seed, count)
    return f"{head}\n\n{prompt}" if head else prompt


def _joined(found: list[str]) -> str:
    paragraphs = (found[i : i + PARAGRAPH] for i in range(0, len(found), PARAGRAPH))
    return "\n\n".join(" ".join(paragraph) for paragraph in paragraphs)


# The grammar


def _sentence(dice: _Dice) -> str:
    made = _FORMS[dice.roll(len(_FORMS))](dice)
    return f"{made[0].upper()}{made[1:]}."


def _thing(dice: _Dice) -> str:
    return f"{dice.word(_QUALITIES)} {dice.word(_THINGS)}"


def _a(noun: str) -> str:
    return f"an {noun}" if noun[0] in "aeiou" else f"a {noun}"


def _town(dice: _Dice) -> str:
    return (dice.word(_FIRST) + dice.word(_LAST)).capitalize()


def _number(dice: _Dice) -> str:
    return str(2 + dice.roll(997))


def _clause(dice: _Dice) -> str:
    who, did, what = dice.word(_PEOPLE), dice.word(_VERBS), _a(_thing(dice))
    return f"the {who} from {_town(dice)} {did} {what}"


def _plain(dice: _Dice) -> str:
    return f"{dice.word(_MANNERS)}, {_clause(dice)} near the {dice.word(_PLACES)}"


def _linked(dice: _Dice) -> str:
    return f"{_clause(dice)} {dice.word(_LINKS)} {_clause(dice)} {dice.word(_MANNERS)}"


def _counted(dice: _Dice) -> str:
    place, town = dice.word(_PLACES), _town(dice)
    rest = f"none of them as {dice.word(_QUALITIES)} as the {_thing(dice)}"
    return f"at the {place} of {town} lay {_number(dice)} {dice.word(_THINGS)} parts, {rest}"


def _distance(dice: _Dice) -> str:
    road = f"{_number(dice)} paces beyond the {dice.word(_QUALITIES)} {dice.word(_PLACES)}"
    return f"{road} stood {_town(dice)}, where one {dice.word(_PEOPLE)} {dice.word(_VERBS)} tools"


def _list(dice: _Dice) -> str:
    things = f"{_a(_thing(dice))}, {_a(_thing(dice))} and {_a(_thing(dice))}"
    return f"{_town(dice)} sent {things} to its {dice.word(_PLACES)} {dice.word(_MANNERS)}"


_FORMS: tuple[Callable[[_Dice], str], ...] = (_plain, _linked, _counted, _distance, _list)
