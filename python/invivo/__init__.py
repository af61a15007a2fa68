"""Watch, query and steer a running MPI job under Invivo.

    import invivo

    with invivo.connect() as job:       # the only job of this user that runs here
        print(job.status().status.ranks)
        for row in job.functions().rows:
            print(row.function, row.calls, row.time_ns)

Arguments that are times are seconds; numbers in answers have their unit in the name. Everything
raises `invivo.Error` where it is not done.
"""

from . import answers, measured
from ._answer import Answer
from ._calls import Parts
from ._connect import connect, jobs
from ._find import RunningJob
from ._observation import open_observation
from ._version import VERSION as __version__
from .errors import Error
from .job import Job

__all__ = [
    "Answer",
    "Error",
    "Job",
    "Parts",
    "RunningJob",
    "__version__",
    "answers",
    "connect",
    "jobs",
    "measured",
    "open_observation",
]
