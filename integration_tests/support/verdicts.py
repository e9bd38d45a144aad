"""How races end: the reference's verdicts, and where ours differ with the reason.

Row: what I do. Column, in the same order: what another committed since my base. X is a conflict,
a dot is none, and a dash a race that cannot be run between two DuckDBs.
"""

from __future__ import annotations

from support.race_kinds import KINDS

Pair = tuple[str, str]  # mine, theirs

_MATRIX = """
insert                  ..XXXXXXXX.XXX.XX..........X...
inlined insert          ..XXXXXXXX.XXX.XX..........X...
delete in A             XXX.XXXX..XXXX.XX..........XXX.
delete in B             XX.X.XXX..XXXX.XX..........XXX.
delete all of A         XXX.XXXX..XXXX.XX..........XXX.
update in A             XXXXXXXXXXXXXX.XX..........XXX.
update in B             XXXXXXXXXXXXXX.XX..........XXX.
truncate                XXXXXXXXXXXXXX.XX..........XXXX
inlined delete          XX...XXXXXXXXX.XX..........X..X
inlined delete in A     XX...XXXXXXXXX.XX..........X..X
insert unless found     ..XXXXXXXX.XXX.XX..........X...
add column              ...........XXX.XX..........X...
comment                 ...........XXX.XX..........X...
set partitioned         ...........XXX.XX..........X...
rename table            ...........................X...
drop table              ...............XX..........X...
replace table           ...............XX..........X...
create table n          .................XX.X......X...
create table N          .................XX.X......X...
create table o          ...........................X...
create view n           .................XX.X......X...
create macro n          .....................X.....X...
comment on view         ......................X........
rename view             ...........................X...
replace view            ........................XX.X...
drop view               ........................XX.X...
create schema           ..........................X....
drop schema             ..............XXXXXXX-.XXX.X...
merge files             ..XXXXXX.......XX..........XXX.
rewrite files           ..XXXXXX.......XX..........XXX.
flush inlined           .......--X.....XX..........X..-
"""

# The verdicts of DuckDB's extension 1.5.5 when both players are DuckDB.
REFERENCE: dict[Pair, str] = {
    (mine.name, theirs.name): verdict
    for mine, row in zip(KINDS, _MATRIX.strip().splitlines(), strict=True)
    for theirs, verdict in zip(KINDS, row.split()[-1], strict=True)
}

_LOADS = "a macro in a schema that is gone: no DuckDB can load the lake any more"
_HOLDS = "a flush deletes inlined rows before its COMMIT, and who touches them waits for it"
NOT_RUN: dict[Pair, str] = {
    ("drop schema", "create macro n"): _LOADS,
    ("flush inlined", "truncate"): _HOLDS,
    ("flush inlined", "inlined delete"): _HOLDS,
    ("flush inlined", "flush inlined"): _HOLDS,
}

_TWICE = "count(*) takes the row off twice"
_BACK = "the row that was deleted is back"
_REVIVED = "a part of what was dropped is back"
# Races that DuckDB lets pass, and that leave the lake other than one commit after the other would.
FAULTS: dict[Pair, str] = {
    ("delete in A", "inlined delete in A"): _TWICE,
    ("inlined delete in A", "delete in A"): _TWICE,
    ("inlined delete in A", "merge files"): _BACK,
    ("merge files", "inlined delete in A"): _BACK,
    ("rename table", "add column"): "the inlined rows cannot be read any more",
    ("rename table", "drop table"): _REVIVED,
    ("rename table", "replace table"): _REVIVED,
    ("rename view", "replace view"): _REVIVED,
    ("rename view", "drop view"): _REVIVED,
}

_SAME_ROW = "the list of changes does not say of which file, and a row deleted twice is miscounted"
_FOUND_NOTHING = "what the search did not find may be there by now, and would be there twice"
_LOST = "the comment would be lost"
# Where we see a conflict and the reference does not.
STRICTER: dict[Pair, str] = {
    ("delete in A", "inlined delete"): _SAME_ROW,
    ("delete in A", "inlined delete in A"): _SAME_ROW,
    ("delete in B", "inlined delete"): _SAME_ROW,
    ("delete in B", "inlined delete in A"): _SAME_ROW,
    ("delete all of A", "inlined delete"): _SAME_ROW,
    ("delete all of A", "inlined delete in A"): _SAME_ROW,
    ("insert unless found", "insert"): _FOUND_NOTHING,
    ("insert unless found", "inlined insert"): _FOUND_NOTHING,
    ("insert unless found", "insert unless found"): _FOUND_NOTHING,
    ("rename table", "drop table"): _REVIVED,
    ("rename table", "replace table"): _REVIVED,
    ("rename view", "replace view"): _REVIVED,
    ("rename view", "drop view"): _REVIVED,
    ("comment on view", "replace view"): _LOST,
    ("comment on view", "drop view"): _LOST,
    ("comment on view", "drop schema"): _LOST,
}
