"""The options of the command line."""

from __future__ import annotations

import argparse
from typing import Any, Callable

from . import __version__, _abi, library_version
from ._columns import SUFFIX
from ._kinds import ALIASES, KINDS

Command = Callable[[argparse.Namespace], Any]

JOIN_NOTES = """\
files are .parquet, .feather, .arrow or .csv, mixed as you like; those of a side have the same
columns. only the columns and row groups needed are read. the smaller side is kept in memory, or
within --memory-limit in files, and the other one is joined with it while it is read. read whole
are both sides for --asof, --aggregate, --order, --count, --explain, --promise, --algorithm,
--row-limit, --byte-limit, joins by --where alone, and output columns of nested types.
exit status: 0 done, 1 failed, 2 wrong arguments (an unknown column too), 130 interrupted,
143 terminated, 129 hung up.
"""


class _Version(argparse.Action):
    """--version: asks the library only when it is given."""

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        print(f"gpujoin {__version__}, library {library_version()}")
        parser.exit()


def make_parser(info_command: Command, join_command: Command) -> argparse.ArgumentParser:
    """The options of the program; what is asked for is `run` of what it parses."""
    parser = argparse.ArgumentParser(
        prog="gpujoin", description="Joins tables on an NVIDIA GPU, or on the CPU."
    )
    parser.add_argument(
        "--version", action=_Version, nargs=0, help="print the versions of package and library"
    )
    commands = parser.add_subparsers(metavar="COMMAND", required=True)

    info = commands.add_parser("info", help="print the device, why it was taken, and the version")
    info.set_defaults(run=info_command)
    _add_context_options(info)

    join = commands.add_parser(
        "join",
        help="join files",
        description="Joins files on one key column or several, on a condition, or on both.",
        epilog=JOIN_NOTES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    join.set_defaults(run=join_command)
    join.add_argument("left", metavar="LEFT", help="a file, a folder, or a glob in quotes")
    join.add_argument("right", metavar="RIGHT", help="the same")
    join.add_argument("--on", metavar="A,B,...", help="key columns of both sides")
    join.add_argument("--left-on", metavar="A,B,...", help="key columns of LEFT")
    join.add_argument(
        "--right-on", metavar="A,B,...", help="key columns of RIGHT; default: --left-on"
    )
    join.add_argument(
        "--where",
        metavar="CONDITION",
        help="what rows have to fulfil besides to match, in SQL: 'left.a < right.b'",
    )
    _add_asof_options(join)
    join.add_argument(
        "--null-equal",
        nargs="?",
        const=True,
        default=False,
        metavar="A,B,...",
        help="NULL equals NULL in all keys, or in these key columns of LEFT",
    )
    join.add_argument(
        "--how",
        metavar="KIND",
        default="inner",
        help=f"which rows: {', '.join([*KINDS, *ALIASES])}; default: inner",
    )
    join.add_argument(
        "--select",
        metavar="A,B,...",
        help="output columns; a column of RIGHT whose name LEFT has too is NAME_right; "
        "default: all, but keys that are there already",
    )
    join.add_argument(
        "--aggregate",
        action="append",
        metavar="AGGREGATE",
        help="in the place of rows: count, exists, 'sum(right.price)'; count, sum, avg, min, max "
        "and any of columns. May be repeated",
    )
    join.add_argument(
        "--by",
        choices=["left", "right"],
        help="aggregates of each row of a side, with its columns; default: of all rows",
    )
    join.add_argument(
        "--order", choices=["probe", "left", "right"], help="rows by that side's; default: any"
    )
    join.add_argument("--row-limit", type=int, metavar="N", help="fail where there are more rows")
    join.add_argument("--byte-limit", metavar="SIZE", help="the same of bytes, for example 8GiB")
    join.add_argument("--suffix", metavar="TEXT", default=SUFFIX, help=f"in the place of {SUFFIX}")
    join.add_argument(
        "--promise",
        metavar="A,B,...",
        help="what is known, and checked: left_unique, right_unique, left_sorted, right_sorted",
    )
    join.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        help="write the output to a file; to Parquet files side by side in a new folder, FOLDER/",
    )
    join.add_argument("--rows", type=int, default=10, metavar="N", help="rows to print (10)")
    join.add_argument(
        "--explain",
        action="store_true",
        help="print the plan and the cost of its candidates; stop there without -o or --execute",
    )
    join.add_argument("--execute", action="store_true", help="with --explain: join all the same")
    join.add_argument("--count", action="store_true", help="print how large the output is; no more")
    join.add_argument("--algorithm", metavar="NAME", help=", ".join(_abi.ALGORITHMS))
    join.add_argument("--build-side", choices=["left", "right"], help="default: the smaller")
    _add_context_options(join)
    return parser


def _add_asof_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--asof",
        metavar="COLUMN[=COLUMN]",
        help="of the rows with equal keys only the one next to LEFT's in this column matches",
    )
    parser.add_argument(
        "--direction", choices=["backward", "forward", "nearest"], help="default: backward"
    )
    parser.add_argument("--strict", action="store_true", help="not at the same place")
    parser.add_argument(
        "--tolerance", metavar="N", help="no farther away: a number, or of times 5s, 100ms ..."
    )


def _add_context_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--device", choices=["auto", "cuda", "cpu"], default="auto", help="default: auto"
    )
    parser.add_argument(
        "--threads", type=int, metavar="N", help="of the CPU executor; default: all"
    )
    parser.add_argument("--memory-limit", metavar="SIZE", help="for example 8GiB; default: none")
    parser.add_argument(
        "--spill-path",
        metavar="FOLDER",
        help="where rows go that the limit has no room for; default: that of temporary files",
    )
