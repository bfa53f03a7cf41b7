"""Functions for the arguments in the transcripts of `cembra function`."""


def same(a):
    return a


def total(a):
    return sum(a, 10)
