"""Functions for the arguments in the transcripts of `cembra function`."""


def same(a):
    return a
