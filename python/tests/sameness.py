"""Compares answers of the package with what the command tells, while the job goes on."""


def same(ask, tell):
    """An answer is what the command tells, number by number and text by text.

    What differs between answers of one side moves: the tool's own figures, clocks, times that are
    computed from ticks anew. Everything else is the same on both sides.
    """
    answers, told = [], []
    for _ in range(8):
        answers.append(ask())
        told.append(tell())
        # The first time nothing is known to move.
        found = differences(answers, told)
        if not found:
            return
    assert not found


def differences(answers, told, path=""):
    """Where all answers are one thing, and all that the command has told another."""
    every = answers + told
    first = every[0]
    is_one_type = len({type(value) for value in every}) == 1
    if is_one_type and isinstance(first, dict) and all(first.keys() == one.keys() for one in every):
        parts = list(first)
    elif is_one_type and isinstance(first, list) and all(len(first) == len(one) for one in every):
        parts = range(len(first))
    elif answers[-1] in told or is_one_type and (moves(answers) or moves(told)):
        return []
    else:
        return [(path, answers[-1], told[-1])]
    found = []
    for part in parts:
        of = [[one[part] for one in side] for side in (answers, told)]
        found += differences(*of, f"{path}.{part}")
    return found


def moves(values):
    return any(value != values[0] for value in values)
