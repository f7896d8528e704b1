"""Travel sentences with marked names: a small task to watch a model learn.

Every sentence is drawn from a template such as ``{PERSON} flew to {CITY} with {AIRLINE} on {DAY} for
{MONEY} .``. Two things make it a task and not a lookup:

* some words are several things: *Jordan* is a person or a country to fly to, *May* a month or a first name,
  *Paris* a city or a heroine, *Delta* an airline or a place on a map, so the words around must decide;
* most names are invented from syllables, so that test sentences have names that training never showed; their
  endings (*-ville*, *-sson*, *-jet*) and neighbours are all there is to go by.

Tags are IOB2 over PERSON, CITY, AIRLINE, DATE and MONEY.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

__all__ = ["ENTITY_TYPES", "travel_sentences"]

ENTITY_TYPES = ("AIRLINE", "CITY", "DATE", "MONEY", "PERSON")

Token = tuple[str, str]

# {SLOT} is an entity of ENTITIES; a lower-case {slot} a word or phrase of WORDS; all else stands as it is.
TEMPLATES = """
{PERSON} flew to {CITY} {when} .
{PERSON} booked a {kind} flight from {CITY} to {CITY} with {AIRLINE} for {MONEY} .
book me a {kind} flight to {CITY} on {DAY} , please .
on {DAY} , {PERSON} and {PERSON} {moved} {CITY} .
{AIRLINE} raised its fares to {CITY} by {MONEY} on {DAY} .
how much is a ticket from {CITY} to {CITY} on {DAY} ?
a ticket to {CITY} costs {MONEY} in {MONTH} .
{PERSON} paid {MONEY} for a {kind} seat on {AIRLINE} .
my {relative} {PERSON} lives in {CITY} .
{PERSON} , a {job} from {CITY} , missed the {AIRLINE} flight .
the {job} {PERSON} met {PERSON} at the airport in {CITY} .
please call {PERSON} before {DATE} .
{AIRLINE} will stop flying to {CITY} in {MONTH} .
{AIRLINE} , which is based in {CITY} , lost {MONEY} last year .
we spent {DATE} in {CITY} with {PERSON} .
is there anything under {MONEY} on {DAY} ?
the {kind} fare to {CITY} may rise in {MONTH} .
may {PERSON} bring a {thing} on the {AIRLINE} flight ?
{PERSON} left a {thing} on the way to {CITY} .
the hotel in {CITY} charged {PERSON} {MONEY} a night .
{PERSON} said that {CITY} is {quality} in {MONTH} .
{PERSON} said that {PERSON} is {quality} .
tell {PERSON} that {AIRLINE} has cancelled the flight to {CITY} .
from {CITY} , take the train to {CITY} and ask for {PERSON} .
{CITY} is {quality} , but {CITY} is cheaper by {MONEY} .
{AIRLINE} hired {PERSON} as a {job} {when} .
{PERSON} works for {AIRLINE} in {CITY} .
send the {thing} to {PERSON} in {CITY} by {DATE} .
the march to {CITY} began on {DAY} .
a delta of rivers lies south of {CITY} .
nobody knows when {PERSON} will be back from {CITY} .
between {DATE} and {DATE} every seat to {CITY} is gone .
{PERSON} turned {number} in {MONTH} .
for {MONEY} , {AIRLINE} will carry your {thing} to {CITY} .
why did {PERSON} fly with {AIRLINE} and not with {AIRLINE} ?
there are {number} flights a day from {CITY} .
the {kind} flight leaves in a second .
we saw {PERSON} {when} , and {PERSON} the day after .
{CITY} to {CITY} , {DATE} , {kind} , one {thing} .
thank you , {PERSON} , your {thing} is in {CITY} .
""".strip().splitlines()

WORDS = {
    "when": "yesterday|last night|this morning|again|two weeks ago|for the first time",
    "kind": "cheap|direct|first class|return|night|one way|last minute",
    "moved": "moved to|drove to|arrived in|left for|returned from|met in|got married in",
    "relative": "sister|uncle|friend|boss|neighbour|aunt",
    "job": "pilot|doctor|singer|student|lawyer|steward",
    "thing": "dog|suitcase|bicycle|passport|piano|guitar|parcel",
    "quality": "lovely|crowded|quiet|too hot|worth a visit|always late|very kind",
    "number": "three|twelve|forty|sixty|a hundred",
}
CHOICES = {slot: phrases.split("|") for slot, phrases in WORDS.items()}

FIRST_NAMES = (
    "Anna Omar Lucy Pedro Ingrid Tom Wei Fatima Jordan May June April Paris Sydney Florence Austin Chad"
).split()
LAST_NAMES = "Smith Lopez Tanaka Weber Okafor London Berlin March Jordan French Holland Banks Day Price".split()
CITIES = ("London|Berlin|Paris|Sydney|Florence|Austin|Jordan|Chad|Lima|Oslo|Quebec|Delta|New York|Buenos Aires").split(
    "|"
)
AIRLINES = (
    "Delta|Swiss|Iberia|Emirates|Eagle Air|Air Florence|Jordan Airways|Oslo Express|Sunday Air|Penny Wings"
).split("|")
MONTHS = "January February March April May June July August September October November December".split()
DAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()

ONSETS = "b br ch d dr f g gl h j k kr l m n p r s sh st t tr v w z".split()
VOWELS = "a e i o u ai ea ou".split()
CODAS = ["", "", "", "l", "n", "r", "s", "m", "k"]


def travel_sentences(n: int, seed: int = 0) -> list[list[Token]]:
    """Generate tagged sentences about journeys.

    Parameters
    ----------
    n : int
        How many sentences, at least 0.
    seed : int
        The same seed gives the same sentences, on every system; more sentences begin with the same ones.

    Returns
    -------
    sentences : list of lists of (word, tag)
        Tags are ``O``, or ``B-`` and ``I-`` before a type of :data:`ENTITY_TYPES`.

    Raises
    ------
    ValueError
        If ``n`` is negative.

    Examples
    --------
    >>> for word, tag in travel_sentences(12, seed=0)[11]:
    ...     print(word, tag)
    Lucy B-PERSON
    flew O
    to O
    Florence B-CITY
    last O
    night O
    . O
    """
    if n < 0:
        raise ValueError(f"the number of sentences must be at least 0; found {n}.")
    random = Random(seed)
    return [_sentence(random) for _ in range(n)]


def _sentence(random: Random) -> list[Token]:
    sentence: list[Token] = []
    for part in random.choice(TEMPLATES).split():
        slot = part[1:-1] if part.startswith("{") else ""
        if slot in ENTITIES:
            entity_type, draw = ENTITIES[slot]
            words = draw(random).split()
            sentence.append((words[0], f"B-{entity_type}"))
            sentence.extend((word, f"I-{entity_type}") for word in words[1:])
        else:
            phrase = random.choice(CHOICES[slot]) if slot else part
            sentence.extend((word, "O") for word in phrase.split())
    first, tag = sentence[0]
    sentence[0] = (first[0].upper() + first[1:], tag)
    return sentence


def _syllables(random: Random, count: int) -> str:
    return "".join(random.choice(ONSETS) + random.choice(VOWELS) + random.choice(CODAS) for _ in range(count))


def _person(random: Random) -> str:
    first = random.choice(FIRST_NAMES) if random.random() < 0.5 else _syllables(random, 2).capitalize()
    if random.random() < 0.4:
        return first
    if random.random() < 0.4:
        last = random.choice(LAST_NAMES)
    else:
        ending = random.choice(("", "", "son", "sson", "ez", "ov", "ini"))
        last = _syllables(random, 1).capitalize() + ending if ending else _syllables(random, 2).capitalize()
    title = random.choice(("Dr. ", "Ms. ", "Mr. ")) if random.random() < 0.1 else ""
    return f"{title}{first} {last}"


def _city(random: Random) -> str:
    if random.random() < 0.4:
        return random.choice(CITIES)
    name = _syllables(random, random.choice((1, 2))).capitalize()
    ending = random.choice(("ville", "burg", "ton", "stad", "", ""))
    return random.choice(("", "", "", "", "New ", "Port ", "San ")) + name + (ending or _syllables(random, 1))


def _airline(random: Random) -> str:
    if random.random() < 0.4:
        return random.choice(AIRLINES)
    name = _syllables(random, 2).capitalize()
    return random.choice((f"{name} Air", f"Air {name}", f"{name} Airways", f"{name} Express", f"{name}jet", name))


def _day(random: Random) -> str:
    month, day, number = random.choice(MONTHS), random.choice(DAYS), random.randint(1, 28)
    return random.choice((f"{month} {number}", f"{number} {month}", day, f"{day} morning", f"{day} , {month} {number}"))


def _month(random: Random) -> str:
    month = random.choice(MONTHS)
    return random.choice((month, month, f"{month} {random.randint(2019, 2031)}", f"early {month}"))


def _date(random: Random) -> str:
    return _day(random) if random.random() < 0.5 else _month(random)


def _money(random: Random) -> str:
    amount = random.choice((random.randint(5, 99), 10 * random.randint(10, 99), 1000 * random.randint(1, 9)))
    return random.choice(
        (
            f"$ {amount}",
            f"€ {amount}",
            f"{amount} euros",
            f"{amount} dollars",
            f"{amount:,} yen",
            "a million dollars",
        )
    )


# slot: (entity type, how to draw one)
ENTITIES: dict[str, tuple[str, Callable[[Random], str]]] = {
    "PERSON": ("PERSON", _person),
    "CITY": ("CITY", _city),
    "AIRLINE": ("AIRLINE", _airline),
    "DAY": ("DATE", _day),
    "MONTH": ("DATE", _month),
    "DATE": ("DATE", _date),
    "MONEY": ("MONEY", _money),
}
