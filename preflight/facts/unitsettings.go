package facts

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"airgap.dev/airgap/preflight/unitfile"
)

// airgapMark begins the first line of a file that airgap has written.
const airgapMark = "# Written by airgap"

// dropIns returns the drop-ins in dirs in the order in which systemd applies them: by name, in all
// directories together. A file in a later directory hides the one with the same name in an earlier one.
func (r reader) dropIns(dirs []string) ([]string, error) {
	where := map[string]string{}
	for _, dir := range dirs {
		names, err := r.names(dir)
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			if strings.HasSuffix(name, ".conf") {
				where[name] = dir + "/" + name
			}
		}
	}
	var files []string
	for _, name := range slices.Sorted(maps.Keys(where)) {
		files = append(files, where[name])
	}
	return files, nil
}

// keptKeys are the settings whose values the facts have. Others can be secrets, for example the
// arguments of a program.
func keptKeys() []string {
	return slices.Concat([]string{"UMask", "EnvironmentFile", "UnsetEnvironment"}, unitfile.RestrictionKeys(), loginKeys())
}

// unitValue is the part of a value that the facts have, as in the survey script.
func unitValue(key, value string) string {
	switch {
	case key == "Environment" || key == "DefaultEnvironment":
		return variables(value)
	case slices.Contains(keptKeys(), key):
		return withoutPassword(value)
	default:
		return ""
	}
}

// variables keeps the names, and the values of proxies, PATH and the kubelet's own variables.
func variables(value string) string {
	var kept []string
	for word := range strings.FieldsSeq(strings.NewReplacer(`"`, "", "'", "").Replace(value)) {
		name, _, is := strings.Cut(word, "=")
		switch {
		case !is: // the rest of a value with a space
		case IsProxy(name) || name == "PATH" || strings.HasPrefix(name, "KUBELET_"):
			kept = append(kept, withoutPassword(word))
		default:
			kept = append(kept, name+"=")
		}
	}
	return strings.Join(kept, " ")
}

var environmentLine = regexp.MustCompile(`^[ \t]*(?:export[ \t]+)?(KUBELET_[A-Z_]*|(?i:https?_proxy|all_proxy|no_proxy))=(.*)$`)

// readEnvironment reads the kubelet's variables and proxies from an environment file.
func readEnvironment(file unitfile.File, text string) unitfile.File {
	for i, line := range strings.Split(text, "\n") {
		if m := environmentLine.FindStringSubmatch(line); m != nil {
			_, value, _ := strings.Cut(withoutPassword(m[1]+"="+strings.TrimSpace(m[2])), "=")
			file.Add(unitfile.Setting{Line: i + 1, Key: m[1], Value: value})
		}
	}
	return file
}

// loginKeys are the settings of systemd-logind that end programs of a session.
func loginKeys() []string { return []string{"StopIdleSessionSec", "KillUserProcesses"} }
