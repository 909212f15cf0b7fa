"""What a proposer must not read of held-out tasks: where they are on the host, covered in its box by nothing."""

from wmo_population.recorded import RecordedRun
from wmo_population.run_record import recorded_dirs, suite_dir
from wmo_suites.box import Bind

EMPTY_FOLDER, EMPTY_FILE = "nothing", "nothing.txt"


def covers(opened: RecordedRun) -> tuple[Bind, ...]:
    """Give the binds that lie over a run's held-out tasks, empty files and folders; none where nothing is held out.

    Covered are what the run measured on them and its record, which names them, the suite and recorded episodes as a
    whole, whose folders list them; of a suite that the run itself lies in, only their own folders. Raises OSError.
    """
    run_dir, settings = opened.layout.run_dir.resolve(), opened.settings
    if not settings.holdout:
        return ()
    suite = suite_dir(run_dir, settings)
    hidden = {(suite / task_id).resolve() for task_id in settings.holdout} | {opened.layout.held_out.candidates}
    if not run_dir.is_relative_to(suite):
        hidden = {suite} | {path for path in hidden if not path.is_relative_to(suite)}
    hidden |= {path for path in recorded_dirs(run_dir, settings) if not run_dir.is_relative_to(path)}
    folder, file = opened.work_dir / EMPTY_FOLDER, opened.work_dir / EMPTY_FILE
    folder.mkdir()
    file.touch()
    binds = [Bind(folder, str(path)) for path in sorted(hidden) if path.is_dir()]
    return (*binds, Bind(file, str(opened.layout.record.resolve())))
