"""List, show, verify and add checkpoints of the registry: `tnet checkpoints`, `python -m tnet_core.checkpoints`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from tnet_core.checkpoints.digests import check_digest
from tnet_core.checkpoints.registry import Registry
from tnet_core.command import name_program, run_command
from tnet_core.schemas.files import expand_home, format_size
from tnet_core.schemas.hub_id import PREFIX
from tnet_core.schemas.registry import Entry


# What needs PyTorch is imported where it is used: a list of checkpoints takes no model.
def main(arguments: Sequence[str] | None = None) -> int:
    return run_command(lambda: _run(_parser().parse_args(arguments)))


def _run(options: argparse.Namespace) -> int:
    status: int = options.run(options)
    return status


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=name_program("tnet_core.checkpoints"), description="List, show, verify and add checkpoints."
    )
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument("--registry", metavar="FILE", help="your own registry, added to the shipped one")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    command = commands.add_parser("list", parents=[common], help="print a table of all checkpoints")
    command.set_defaults(run=_list)

    command = commands.add_parser("show", parents=[common], help="print all that is known about a checkpoint")
    command.add_argument("id", metavar="ID", help="id in the registry")
    command.set_defaults(run=_show)

    command = commands.add_parser(
        "verify",
        parents=[common],
        help="hash every file and compare it with the registry",
        description="Hash every file and compare it with the registry. Without an ID, Hub checkpoints that were never "
        "downloaded are skipped; with one, it is downloaded first. Exits with 1 if anything differs.",
    )
    command.add_argument("id", metavar="ID", nargs="?", help="id in the registry (default: all)")
    command.set_defaults(run=_verify)

    command = commands.add_parser(
        "add",
        parents=[common],
        help="compute hashes and print a ready registry entry",
        description="Load a checkpoint strictly, compute its hashes and print a registry with that one entry. Nothing "
        "is written; redirect the output into a file or paste the entry into your registry.",
    )
    command.add_argument("source", metavar="FOLDER|hf:owner/name[@revision]", help="the checkpoint")
    command.add_argument("--id", help="short name of the entry (default: from the folder or repository)")
    command.add_argument("--title", help="a few words")
    command.add_argument("--description", help="one line")
    command.add_argument("--licence", help="licence of the weights")
    command.add_argument("--data-licence", help="licence of the training data")
    command.add_argument("--citation", help="what to cite")
    command.add_argument("--numbers", help="where its accuracy comes from")
    command.set_defaults(run=_add)
    return parser


def _list(options: argparse.Namespace) -> int:
    registry = Registry.load(options.registry)
    if not registry:
        print("The registry lists no checkpoints. Add your own with --registry FILE or TNET_REGISTRY.")
        return 0
    rows = [("ID", "SIZE", "SOURCE", "TITLE")]
    rows += [(entry.id, format_size(entry.size), entry.where, entry.title) for entry in registry]
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    for row in rows:
        print("  ".join([*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[3]]))
    return 0


def _show(options: argparse.Namespace) -> int:
    from tnet_core.checkpoints.loading import entry_card

    print(entry_card(Registry.load(options.registry).get(options.id), on_notice=_notice).text())
    return 0


def _verify(options: argparse.Namespace) -> int:
    registry = Registry.load(options.registry)
    entries = registry.entries if options.id is None else (registry.get(options.id),)
    if not entries:
        print("The registry lists no checkpoints: nothing to verify.")
    wrong = sum(_verify_entry(entry, download=options.id is not None) for entry in entries)
    return 1 if wrong else 0


def _verify_entry(entry: Entry, *, download: bool) -> int:
    """Print one line per file; returns how many are wrong."""
    folder = entry.folder
    if entry.hub is not None and (folder is None or not folder.is_dir()):
        from tnet_core.checkpoints.hub import cached_files, fetch_pinned

        if download:
            fetch_pinned(entry.hub.id, entry.files)
        found = cached_files(entry.hub.id, entry.files)
        if found is None:
            print(f"-      {entry.id}: not downloaded, so there is nothing to verify")
            return 0
        folder = found
    assert folder is not None
    wrong = 0
    for name, expected in entry.files.items():
        problem = check_digest(folder / name, expected, remembered=False)
        print(f"ok     {entry.id}: {name}" if problem is None else f"WRONG  {entry.id}: {problem}")
        wrong += problem is not None
    return wrong


def _add(options: argparse.Namespace) -> int:
    from tnet_core.checkpoints import card_of, load, load_folder
    from tnet_core.checkpoints.drafting import draft, hash_files

    target = Path(options.registry) if options.registry else Path("checkpoints.yaml")
    if options.source.startswith(PREFIX):
        card = card_of(load(options.source, device="cpu", on_notice=_notice))
        source, files = {"repo": card.repo or "", "commit": card.commit or ""}, card.files
    else:
        folder = expand_home(options.source)
        card = card_of(load_folder(folder, device="cpu", on_notice=_notice))
        files, folder = hash_files(folder), folder.resolve()
        if not folder.is_relative_to(target.resolve().parent):
            target = folder.parent / target.name
            _notice(f"The folder is outside this one: store the entry in a registry file in '{folder.parent}'.")
        source = {"folder": folder.relative_to(target.resolve().parent).as_posix()}
    print(draft(card, source, files, target, vars(options)), end="")
    return 0


def _notice(text: str) -> None:
    print(f"Note: {text}", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
