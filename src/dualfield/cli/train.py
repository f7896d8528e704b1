"""``dualfield train``: one call of :func:`~dualfield.solve` on a file.

The options of the model are those of :class:`~dualfield.models.ChainSpec`. The estimator is not imported, since it
brings scikit-learn, whose import takes longer than training on a small file.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dualfield import features
from dualfield.cli.machine import model_record, print_json, sizes
from dualfield.cli.options import (
    INTERRUPTED,
    NOT_CONVERGED,
    AsJson,
    Comment,
    ConfigFile,
    DocStart,
    DropDocStart,
    EmbeddingsFile,
    Encoding,
    Engine,
    Format,
    InputFile,
    Jobs,
    LabelColumn,
    Separator,
    SolverName,
    Syntax,
    TemplateSyntax,
    say,
)
from dualfield.cli.report_option import HeldOutFile, ReportFile, plan_report
from dualfield.cli.spec_options import with_spec_options
from dualfield.cli.wording import in_options
from dualfield.counted import counted
from dualfield.features.templates.presets import PRESETS
from dualfield.io.atomic import check_writable
from dualfield.models.recipe import FileLayout, Recipe
from dualfield.models.spec import ChainSpec
from dualfield.reporting.reading import reading_shown
from dualfield.tagging.content import shown
from dualfield.tagging.embeddings import Embeddings
from dualfield.tagging.reading import Labelled, read_for_training
from dualfield.tagging.recognition import recognised

if TYPE_CHECKING:
    from dualfield.models.chain_model import ChainModel

__all__ = ["train"]

_DEFAULT = ChainSpec()


@with_spec_options
def train(
    file: InputFile,
    output: Annotated[str, typer.Option("--output", "-o", metavar="MODEL", help="Where to write the model.")],
    features: Annotated[
        str | None,
        typer.Option(
            help=f"How tokens become attributes: {', '.join(PRESETS)}, or a template file; not for attribute files."
        ),
    ] = None,
    template_syntax: TemplateSyntax = Syntax.crfpp,
    gazetteer: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=FILE", help="A list of names, one a line, for a preset; repeatable."),
    ] = None,
    spec: ChainSpec = _DEFAULT,
    tol: Annotated[float, typer.Option(help="Proven relative distance from the optimum to reach.")] = 1e-3,
    max_passes: Annotated[int, typer.Option(help="The most passes over the data.")] = 500,
    solver: Annotated[SolverName, typer.Option(help="Training method.")] = SolverName["auto"],
    hash_bits: Annotated[int | None, typer.Option(help="Number attributes by so many bits of a hash.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of the sampling.")] = 0,
    jobs: Jobs = 1,
    device: Annotated[str, typer.Option(help="Where training runs: cpu, or cuda or cuda:N for a GPU.")] = "cpu",
    format: Format = None,
    label_column: LabelColumn = None,
    separator: Separator = None,
    comment: Comment = None,
    docstart: DropDocStart = DocStart.drop,
    encoding: Encoding = "utf-8",
    embeddings: EmbeddingsFile = None,
    distributed: Annotated[
        Engine | None, typer.Option(help="Share the folder FILE out among the processes that mpirun started.")
    ] = None,
    checkpoints: Annotated[
        str | None, typer.Option(metavar="FOLDER", help="Where processes leave their state, once a minute.")
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on from the checkpoints of an earlier run.")] = False,
    time_limit: Annotated[float, typer.Option(help="Seconds that a process waits for the others.")] = 300.0,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Only errors.")] = False,
    report: ReportFile = None,
    held_out: HeldOutFile = None,
    strict_convergence: Annotated[
        bool, typer.Option("--strict-convergence", help="End with exit code 1 if tol was not reached.")
    ] = False,
    as_json: AsJson = False,
    config: ConfigFile = None,
) -> None:
    """Train on a labelled file and write the model.

    FILE may be a folder that dualfield encode has made. In a column file the last column is the label, in CoNLL-U the
    fourth. CoNLL-U, JSON lines and CRFsuite's attributes are recognised by the endings .conllu, .jsonl and .crfsuite,
    the first two also by their first lines; --format says otherwise.

    Example: dualfield train train.txt --features chunking -o chunker.safetensors

    Example: dualfield train train.txt --features chunking --solver lbfgs --jobs 2 -o chunker.safetensors

    Example: dualfield train encoded-folder -o chunker.safetensors

    Example: mpirun -n 8 dualfield train encoded-folder --distributed mpi -o chunker.safetensors

    Example: dualfield train train.txt --features chunking --embeddings train.npy --standardize -o chunker.safetensors

    Example: dualfield train train.crfsuite --format attributes --config options.toml -o chunker.safetensors
    """
    from dualfield.parameters import check_limits

    check_limits(tol, max_passes)
    if distributed is None:
        for name, asked in (("--checkpoints", checkpoints is not None), ("--resume", resume)):
            if asked:
                raise ValueError(
                    f"{name} is for training on several processes; add --distributed mpi, or leave it out."
                )
        check_writable(output)
    if embeddings is not None and report is not None:
        raise ValueError("--report has no place for the embeddings of its sentences; leave one of the two out.")
    dense = None if embeddings is None else Embeddings(embeddings)
    _check_jobs(solver.value, jobs)
    _check_device(solver.value, device)
    training = {"solver": solver.value, "tol": tol, "max_passes": max_passes, "random_state": seed}
    plan, verbose = None, not quiet
    if os.path.isdir(file):
        given = {"--features": features, "--gazetteer": gazetteer, "--hash-bits": hash_bits, "--format": format}
        given |= {"--label-column": label_column, "--separator": separator, "--comment": comment}
        given["--device"] = device if device != "cpu" else None
        given |= {"--embeddings": embeddings, "--report": report, "--held-out": held_out}
        _check_options_of_folder(file, given | {"--jobs": jobs if distributed is not None and jobs > 1 else None})
        if distributed is None:
            counts, crf = _trained_on_folder(file, spec, training, jobs, verbose)
        else:
            from dualfield.cli.train_by_mpi import OnRanks, train_by_mpi

            found = train_by_mpi(file, output, spec, training, OnRanks(checkpoints, resume, time_limit), quiet)
            if found is None:
                return
            counts, crf = found
    elif distributed is not None:
        raise ValueError(f"--distributed needs a folder that dualfield encode has made; {file} is not one.")
    else:
        format = format or _recognised(file, separator, comment, encoding, quiet)
        layout = FileLayout(format, separator, comment, docstart.value)
        with reading_shown(verbose) as progress:
            data = read_for_training(
                file,
                features,
                template_syntax.value,
                layout,
                encoding,
                label_column=label_column,
                min_count=spec.min_count,
                hash_bits=hash_bits,
                gazetteers=gazetteer or (),
                n_jobs=jobs,
                progress=progress,
            )
        if dense is not None:
            data = data._replace(X=dense.beside(data.X))
            dense.finish()
        plan = plan_report(report, held_out, file, data, encoding)
        data = data._replace(tokens=None)  # the plan of the report has them, if there is one
        if not quiet:
            say(f"{counted(len(data.X), 'sentence')}, {counted(data.X.n_positions, 'token')} read from {file}")
            if isinstance(data.source, Recipe) and not data.source.template.transitions:
                say("The template has no plain bigram line; label pairs have weights all the same.")
        counts = {"sequences": len(data.X), "positions": data.X.n_positions}
        crf = _trained(data, spec, training, {"n_jobs": jobs, "device": device}, verbose)
    crf.save(output)
    written = plan.write(crf) if plan is not None else ""
    _say_outcome(crf, output, written, quiet)
    if as_json:
        print_json({"file": output, "training_data": counts, "model": model_record(crf)})
    if crf.solution_.status == "interrupted":
        raise typer.Exit(INTERRUPTED)
    if strict_convergence and crf.solution_.status != "converged":
        raise typer.Exit(NOT_CONVERGED)


def _recognised(file: str, separator: str | None, comment: str | None, encoding: str, quiet: bool) -> str:
    """The format of a file, guessed. A separator or a comment sign means a column file: no other format has them."""
    if separator is not None or comment is not None:
        return "columns"
    found = recognised(file, encoding) or "columns"
    if found != "columns" and not quiet:
        say(f"{shown(file)} is read as {found}; --format says otherwise.")
    return found


def _check_jobs(solver: str, jobs: int) -> None:
    """Refuse threads for a solver that works on one."""
    from dualfield.solvers.resolving import THREADED, on_one_thread

    if jobs > 1 and solver not in ("auto", *THREADED):
        raise ValueError(on_one_thread(solver, "--jobs", jobs))


def _check_device(solver: str, device: str) -> None:
    """Refuse a GPU that is not there, and a solver that does not run on it."""
    from dualfield.fields.base import Choice
    from dualfield.solvers import resolve

    resolve(solver, Choice("oeg", "only to check"), device=device)


def _check_options_of_folder(folder: str, options: dict[str, Any]) -> None:
    """Refuse options that belong to a file, or to one process."""
    for name, value in options.items():
        if value and name == "--jobs":
            raise ValueError("--jobs is for one process; leave it out, and let mpirun start more.")
        if value:
            raise ValueError(
                f"{name} is for a file, and {folder} is a folder, whose data are encoded already; leave it out."
            )


def _trained_on_folder(
    folder: str, spec: ChainSpec, training: dict[str, Any], jobs: int, verbose: bool
) -> tuple[dict[str, int], ChainModel]:
    """Train on a folder of partitions; returns its counts and the model."""
    from dualfield.fields import PartitionedChain
    from dualfield.models.chain_model import ChainModel
    from dualfield.partitions import open_partitions
    from dualfield.reporting.training import solve_visibly

    data = open_partitions(folder)
    if verbose:
        read = f"{counted(data.n_sequences, 'sentence')}, {counted(data.n_positions, 'token')}"
        say(f"{read} in {counted(len(data), 'partition')} of {folder}")
    field = PartitionedChain.of_spec(spec, data)
    solution = solve_visibly(field, bar=verbose, n_jobs=jobs, **training)
    solution.state = None
    crf = ChainModel(spec, training)._take(field, solution)
    crf.column_features_ = data.column_features
    return {"sequences": data.n_sequences, "positions": data.n_positions}, crf


def _trained(
    data: Labelled, spec: ChainSpec, training: dict[str, Any], machine: dict[str, Any], verbose: bool
) -> ChainModel:
    """Train as ``ChainCRF.fit`` does, and return the plain model."""
    from dualfield.fields import Chain
    from dualfield.models.chain_model import ChainModel
    from dualfield.reporting.training import solve_visibly

    for encoded in (data.X, data.X.bigrams):
        if encoded is not None and isinstance(encoded.vocabulary, features.Vocabulary):
            encoded.vocabulary.release_table()
    field = Chain.of_spec(spec, data.X, data.y, data.weights)
    solution = solve_visibly(field, bar=verbose, **machine, **training)
    solution.state = None  # many times larger than the model
    crf = ChainModel(spec, training)._take(field, solution)
    crf.column_features_ = data.source.to_dict()
    return crf


def _say_outcome(crf: ChainModel, output: str, report: str, quiet: bool) -> None:
    solution = crf.solution_
    if quiet:
        if solution.status != "converged":
            say(f"Warning: {in_options(solution.message)}")
        return
    say(f"{sizes(crf)}, {len(crf.classes_)} labels, {counted(len(crf.weights_), 'weight')}")
    say(in_options(solution.message))
    say(f"{solution.cpu_seconds:.1f} s of CPU time; {os.path.getsize(output) / 1e6:.1f} MB written to {output}")
    if report:
        say(report)
