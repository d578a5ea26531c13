"""`python -m training.publish FOLDER owner/name`: put a checkpoint on the Hub with a complete model card."""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tnet_core.checkpoints.card import CheckpointCard
from tnet_core.checkpoints.drafting import draft, hash_files, make_id
from tnet_core.checkpoints.pretrained import upload_files
from tnet_core.command import name_program, run_command
from tnet_core.schemas.hub_id import HubId, check_repo
from training.publishing.model_card import Details, read_card
from training.publishing.upload import make_empty_folder, prepare_files

_DETAILS = ("licence", "data_licence", "dataset", "base_model", "citation")
_TEXTS = {  # what may be given as a text
    "id": "id of the printed registry entry (default: the repository's name)",
    "title": "title of the card (default: the repository's name)",
    "description": "one line for the registry entry",
    "licence": "licence of the weights (default: what the provenance says)",
    "data-licence": "licence of the training data (likewise)",
    "dataset": "training data set, best as its id on the Hub (likewise)",
    "base-model": "Hub id of the model the training started from (likewise)",
    "citation": "what to cite (likewise)",
}
_ABOUT = (
    "Publish a checkpoint folder on the Hub: weights, configuration, evaluation, a model card and a "
    "picture of accuracy against locations. Prints the registry entry of what was published. "
    "Needs a token that may write (HF_TOKEN)."
)


def main(arguments: Sequence[str] | None = None) -> int:
    return run_command(
        lambda: _run(_make_parser().parse_args(arguments)), "Interrupted; nothing is published before the last step."
    )


def _make_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=name_program("training.publish"),
        description=_ABOUT,
    )
    parser.add_argument("folder", metavar="FOLDER", help="checkpoint folder")
    parser.add_argument("repo", metavar="owner/name", help="repository on the Hub; it is created if needed")
    parser.add_argument(
        "--dry-run", metavar="OUT", help="write exactly what would be uploaded into this folder, and stop"
    )
    parser.add_argument("--private", action="store_true", help="create the repository as a private one")
    for name, text in _TEXTS.items():
        parser.add_argument(f"--{name}", help=text)
    return parser


def _run(options: argparse.Namespace) -> None:
    hub_id = HubId(check_repo(options.repo))
    card = read_card(Path(options.folder))
    title = options.title or options.repo.partition("/")[2]
    details = Details.from_card(card, title, **{name: getattr(options, name) for name in _DETAILS})
    if not details.licence:
        print("Note: no licence is stated, so the card says 'unknown'; state one with --licence.", file=sys.stderr)
    if options.dry_run is not None:
        is_new = not Path(options.dry_run).exists()
        out = make_empty_folder(Path(options.dry_run))
        try:
            prepare_files(Path(options.folder), out, card, details, options.repo)
        except BaseException:  # no room, or interrupted
            if is_new:
                shutil.rmtree(out, ignore_errors=True)
            raise
        print(f"Nothing was uploaded. '{out}' holds what would be:")
        for file in sorted(out.iterdir()):
            print(f"  {file.name} ({file.stat().st_size} bytes)")
        return
    with tempfile.TemporaryDirectory(prefix="tnet-publish-") as temporary:
        out = Path(temporary)
        prepare_files(Path(options.folder), out, card, details, options.repo)
        commit = upload_files(out, hub_id, private=options.private, message="Publish a TNet checkpoint")
        _report(options, card, details, out, commit)


def _report(options: argparse.Namespace, card: CheckpointCard, details: Details, out: Path, commit: str) -> None:
    given = {
        "id": options.id or make_id(options.repo),
        "title": details.title,
        "description": options.description,
        **{name: getattr(details, name) for name in ("licence", "data_licence", "citation")},
    }
    print(f"# Published as hf:{options.repo}@{commit}. The registry entry:")
    source = {"repo": options.repo, "commit": commit}
    print(draft(card, source, hash_files(out), Path("checkpoints.yaml"), given), end="")
    print("# For an entry whose folder is bundled, keep its source and add:")
    print(f"#   hub: {{repo: {options.repo}, commit: {commit}}}")


if __name__ == "__main__":
    sys.exit(main())
