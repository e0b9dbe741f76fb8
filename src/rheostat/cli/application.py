"""Application: the user's Python file, and the topology in it."""

import importlib.util
import sys
from pathlib import Path

from rheostat.errors import ConfigError
from rheostat.topology import Topology


def is_name(app: str) -> bool:
    """Whether `app` is the name of an application that comes with Rheostat, and no file."""
    return app.replace("-", "").isalnum() and not Path(app).exists()


def load_topology(app: str) -> Topology:
    """The topology that `APP.py[:name]` names; without a name the only one in the file."""
    path, _, name = app.partition(":")
    if not Path(path).is_file():
        raise ConfigError(f"application {path!r} does not exist: give a Python file")
    spec = importlib.util.spec_from_file_location(Path(path).stem, path)
    if spec is None or spec.loader is None:
        raise ConfigError(f"application {path!r} is not a Python file: its name must end in .py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    sys.path.insert(0, str(Path(path).absolute().parent))
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise ConfigError(f"application {path!r} cannot be loaded: {type(error).__name__}: {error}") from error
    found = {key: value for key, value in vars(module).items() if isinstance(value, Topology)}
    if name:
        if name not in found:
            raise ConfigError(f"{path!r} has no topology {name!r}; it has: {', '.join(found) or 'none'}")
        return found[name]
    if len(found) != 1:
        raise ConfigError(
            f"{path!r} has {len(found)} topologies ({', '.join(found) or 'none'}): name one as {path}:NAME"
        )
    return next(iter(found.values()))
