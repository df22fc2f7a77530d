package program

import (
	"maps"
	"slices"
	"strings"

	"github.com/campaignd/campaignd/events/definition"
)

// harmless are the variables of campaignd's environment that every program
// gets: where programs and their parts are found, the user, language and time
// zone. None is known to hold a secret: an instrument has no use for a shell's
// tokens.
var harmless = []string{
	"PATH", "HOME", "USER", "LOGNAME", "SHELL", "PWD", "TERM", "LANG", "LANGUAGE", "LC_*", "TZ", "TMPDIR",
	"TEMP", "TMP",
	"LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "DYLD_FALLBACK_LIBRARY_PATH", "XDG_RUNTIME_DIR",
	"PYTHONPATH", "PYTHONHOME", "PYTHONUSERBASE", "PYTHONUNBUFFERED", "PYTHONIOENCODING", "PYTHONUTF8",
	"PYTHONDONTWRITEBYTECODE",
	"VIRTUAL_ENV", "PYENV_ROOT", "PYENV_VERSION", "CONDA_PREFIX", "CONDA_DEFAULT_ENV", "CONDA_EXE",
	"CONDA_PYTHON_EXE", "CONDA_SHLVL",
	"SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "COMSPEC", "PATHEXT", "USERPROFILE", "USERNAME",
	"APPDATA", "LOCALAPPDATA",
	"PROGRAMDATA", "PROGRAMFILES", "PROGRAMFILES(X86)", "COMMONPROGRAMFILES",
	"NUMBER_OF_PROCESSORS", "PROCESSOR_ARCHITECTURE",
}

// environment builds the program's environment: from campaignd's own the harmless variables and
// those that the campaign file names, then those that the file sets. missing are the named
// variables that are not set. The variables that the file sets come last and so count, as the last
// of two equal names does. A name that the file both names and sets is refused by Check, so that
// the order decides only over the harmless ones.
func environment(own []string, cfg definition.Program) (env, missing []string) {
	missing = slices.Clone(cfg.Environment)
	for _, variable := range own {
		name, _, ok := strings.Cut(variable, "=")
		named := slices.Contains(cfg.Environment, name)
		if ok && (named || slices.ContainsFunc(harmless,
			func(pattern string) bool { return matches(pattern, name) })) {
			env = append(env, variable)
		}
		if named {
			missing = slices.DeleteFunc(missing, func(m string) bool { return m == name })
		}
	}
	for _, name := range slices.Sorted(maps.Keys(cfg.Env)) {
		env = append(env, name+"="+cfg.Env[name])
	}
	return env, missing
}

// matches compares names regardless of case, as Windows does; elsewhere these names are written in
// capitals. A pattern needs at least one character in place of the star.
func matches(pattern, name string) bool {
	if prefix, ok := strings.CutSuffix(pattern, "*"); ok {
		return len(name) > len(prefix) && strings.EqualFold(name[:len(prefix)], prefix)
	}
	return strings.EqualFold(pattern, name)
}
