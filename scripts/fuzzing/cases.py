"""Seeded cases: the same seed and number give the same case on every machine."""

from __future__ import annotations

from random import Random

from fuzzing.documents import DocumentMaker, additions, mutated, predictions, with_python_value
from fuzzing.probes import PROBES
from fuzzing.properties import Case
from fuzzing.relations import RELATIONS
from fuzzing.schemas import SchemaMaker, chance, spoil
from fuzzing.stress import STRESSES, doubled_branches

FAULTY = 0.1  # the share of schemas with a deliberate fault
DRIFT = 0.15  # the share of golds that do not fit their schema
STRESS = 0.01  # the share of cases that ask for much work
PYTHON_GOLD = 0.01  # the share of golds with a value that JSON does not have
OUTPUTS = 0.01  # the share of cases whose reprs, reports and views are made


def make_case(seed: int, number: int) -> Case:
    """A case of the run `seed`."""
    rng = Random(f"{seed}:{number}")
    if chance(rng, STRESS):
        stress = rng.choice(STRESSES)
        # a schema that unfolds to more nodes than anybody wrote may be refused
        return Case(*stress(rng), relation="again", legal=stress is not doubled_branches)
    schema = SchemaMaker(rng).make()
    gold = DocumentMaker(rng, schema).make()
    if chance(rng, DRIFT):
        gold = mutated(gold, rng, schema)
    faulty = chance(rng, FAULTY)
    spoiled = spoil(schema, rng) if faulty else schema
    predicted = predictions(gold, rng, schema)
    if chance(rng, PYTHON_GOLD):
        gold, faulty = with_python_value(gold, rng), True
    return Case(
        schema=spoiled,
        gold=gold,
        predicted=predicted,
        added=additions(schema, gold, predicted, rng),
        legal=not faulty,
        relation=rng.choice([*RELATIONS, *PROBES]),
        seed=rng.getrandbits(32),
        outputs=chance(rng, OUTPUTS),
    )
