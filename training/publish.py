"""`python -m training.publish FOLDER owner/name`: put a checkpoint on the Hub with a complete model card."""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from huggingface_hub import CommitOperationAdd, HfApi

from tnet_core.checkpoints.card import CheckpointCard, card_of
from tnet_core.checkpoints.drafting import as_id, digests_of, draft
from tnet_core.checkpoints.evaluation import read_evaluation
from tnet_core.checkpoints.files import CONFIG_FILE, EVALUATION_FILE, README_FILE, TENSOR_FILE, reason
from tnet_core.checkpoints.format import load_folder
from tnet_core.checkpoints.hub_client import LIBRARY_NAME, HubClient
from tnet_core.checkpoints.hub_errors import explain
from tnet_core.checkpoints.hub_id import HubId, check_repo, is_commit
from tnet_core.command import finished
from tnet_core.errors import TNetError
from training.accuracy_picture import draw_accuracy
from training.model_card import PICTURE_FILE, Details, model_card

_DETAILS = ("licence", "data_licence", "dataset", "base_model", "citation")


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    return finished(lambda: _run(options), "Interrupted; nothing is published before the last step.")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m training.publish",
        description="Publish a checkpoint folder on the Hub: weights, configuration, evaluation, a model card and a "
        "picture of accuracy against locations. Prints the registry entry of what was published. "
        "Needs a token that may write (HF_TOKEN).",
    )
    parser.add_argument("folder", metavar="FOLDER", help="checkpoint folder")
    parser.add_argument("repo", metavar="owner/name", help="repository on the Hub; it is created if needed")
    parser.add_argument(
        "--dry-run", metavar="OUT", help="write exactly what would be uploaded into this folder, and stop"
    )
    parser.add_argument("--private", action="store_true", help="create the repository as a private one")
    parser.add_argument("--id", help="id of the printed registry entry (default: the repository's name)")
    parser.add_argument("--title", help="title of the card (default: the repository's name)")
    parser.add_argument("--description", help="one line for the registry entry")
    parser.add_argument("--licence", help="licence of the weights (default: what the provenance says)")
    parser.add_argument("--data-licence", help="licence of the training data (likewise)")
    parser.add_argument("--dataset", help="training data set, best as its id on the Hub (likewise)")
    parser.add_argument("--base-model", help="Hub id of the model the training started from (likewise)")
    parser.add_argument("--citation", help="what to cite (likewise)")
    return parser


def _run(options: argparse.Namespace) -> None:
    hub_id = HubId(check_repo(options.repo))
    card = _read(Path(options.folder))
    title = options.title or options.repo.partition("/")[2]
    details = Details.of(card, title, **{name: getattr(options, name) for name in _DETAILS})
    if not details.licence:
        print("Note: no licence is stated, so the card says 'unknown'; state one with --licence.", file=sys.stderr)
    if options.dry_run is not None:
        out = _empty_folder(Path(options.dry_run))
        prepare(Path(options.folder), out, card, details, options.repo)
        print(f"Nothing was uploaded. '{out}' holds what would be:")
        for file in sorted(out.iterdir()):
            print(f"  {file.name} ({file.stat().st_size} bytes)")
        return
    with tempfile.TemporaryDirectory(prefix="tnet-publish-") as temporary:
        out = Path(temporary)
        prepare(Path(options.folder), out, card, details, options.repo)
        commit = upload(out, hub_id, private=options.private)
        _report(options, card, details, out, commit)


def _read(folder: Path) -> CheckpointCard:
    """The card of a folder that loads strictly, with an evaluation that can be read or none."""
    if (folder / EVALUATION_FILE).exists():
        read_evaluation(folder)  # loading only announces a broken one; publishing it would be wrong
    return card_of(load_folder(folder, device="cpu"))


def _empty_folder(path: Path) -> Path:
    try:
        path.mkdir(parents=True, exist_ok=True)
        if any(path.iterdir()):
            raise TNetError(f"'{path}' is not empty; give a new folder, so that it holds only what would be uploaded.")
    except OSError as error:
        raise TNetError(f"Cannot use '{path}' for the dry run: {reason(error)}.") from None
    return path


def prepare(folder: Path, out: Path, card: CheckpointCard, details: Details, repo: str) -> None:
    """Write every file of the publication into `out`."""
    try:
        for name in (CONFIG_FILE, TENSOR_FILE, EVALUATION_FILE):
            if (folder / name).exists():
                shutil.copyfile(folder / name, out / name)
        (out / README_FILE).write_text(model_card(card, details, repo), encoding="utf-8")
        if card.evaluation is not None:
            draw_accuracy(card.evaluation, out / PICTURE_FILE)
    except OSError as error:
        raise TNetError(f"Cannot write '{out}': {reason(error)}.") from None


def upload(out: Path, hub_id: HubId, *, private: bool) -> str:
    """Create the repository if needed and commit all files at once; returns the commit."""
    client = HubClient(hub_id)
    if client.offline:
        raise TNetError("HF_HUB_OFFLINE forbids uploads: unset it to publish.")
    if client.is_private() is False and private:
        raise TNetError(f"The Hub repository '{hub_id.repo}' exists and is public; --private cannot hide it.")
    api = HfApi(endpoint=client.endpoint, library_name=LIBRARY_NAME)
    operations = [CommitOperationAdd(path.name, path) for path in sorted(out.iterdir())]
    try:
        api.create_repo(hub_id.repo, private=True if private else None, exist_ok=True)
        info = api.create_commit(hub_id.repo, operations, commit_message="Publish a TNet checkpoint")
    except Exception as error:  # the library raises a dozen unrelated families
        raise explain(error, hub_id, client.endpoint) from None
    if not is_commit(info.oid):
        raise TNetError(
            f"The Hub at {client.endpoint} did not say which commit it made; look at '{hub_id.repo}' there."
        )
    return info.oid


def _report(options: argparse.Namespace, card: CheckpointCard, details: Details, out: Path, commit: str) -> None:
    given = {
        "id": options.id or as_id(options.repo),
        "title": details.title,
        "description": options.description,
        **{name: getattr(details, name) for name in ("licence", "data_licence", "citation")},
    }
    print(f"# Published as hf:{options.repo}@{commit}. The registry entry:")
    source = {"repo": options.repo, "commit": commit}
    print(draft(card, source, digests_of(out), Path("checkpoints.yaml"), given), end="")
    print("# For an entry whose folder is bundled, keep its source and add:")
    print(f"#   hub: {{repo: {options.repo}, commit: {commit}}}")


if __name__ == "__main__":
    sys.exit(main())
