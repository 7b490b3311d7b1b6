package preflight

import (
	"maps"
	"regexp"
	"slices"
	"strings"
)

// airgapMark begins the first line of a file that airgap has written.
const airgapMark = "# Written by airgap"

// maxUnitValue is the largest value of a setting in the facts.
const maxUnitValue = 400

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

var unitLine = regexp.MustCompile(`^[ \t]*([A-Za-z]+)[ \t]*=[ \t]*(.*)$`)

// unitSettings reads a drop-in, with the line at which each setting begins. Like the script, it
// keeps only the values that checks use: arguments and variables can be secrets.
func unitSettings(text string) []UnitSetting {
	var settings []UnitSetting
	lines := strings.Split(text, "\n")
	for i := 0; i < len(lines); i++ {
		line, number := lines[i], i+1
		for strings.HasSuffix(line, `\`) && i+1 < len(lines) {
			i++
			line = strings.TrimSuffix(line, `\`) + " " + lines[i]
		}
		if number == 1 && strings.HasPrefix(line, airgapMark) {
			settings = append(settings, UnitSetting{1, airgapMark})
		}
		if m := unitLine.FindStringSubmatch(line); m != nil {
			settings = append(settings, UnitSetting{number, m[1] + "=" + unitValue(m[1], strings.TrimSpace(m[2]))})
		}
	}
	return settings
}

// unitValue is the part of a value that the facts have.
func unitValue(key, value string) string {
	switch key {
	case "UMask", "EnvironmentFile", "UnsetEnvironment":
		return bounded(value)
	case "Environment":
		return bounded(variables(value))
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
		case isProxy(name) || name == "PATH" || strings.HasPrefix(name, "KUBELET_"):
			kept = append(kept, withoutPassword(word))
		default:
			kept = append(kept, name+"=")
		}
	}
	return strings.Join(kept, " ")
}

func bounded(value string) string {
	if len(value) > maxUnitValue {
		return strings.ToValidUTF8(value[:maxUnitValue], "") + "…"
	}
	return value
}

var environmentLine = regexp.MustCompile(`^[ \t]*(?:export[ \t]+)?(KUBELET_[A-Z_]*|(?i:https?_proxy|all_proxy|no_proxy))=(.*)$`)

// environmentSettings reads the kubelet's variables and proxies from an environment file.
func environmentSettings(text string) []UnitSetting {
	var settings []UnitSetting
	for i, line := range strings.Split(text, "\n") {
		if m := environmentLine.FindStringSubmatch(line); m != nil {
			settings = append(settings, UnitSetting{i + 1, bounded(withoutPassword(m[1] + "=" + strings.TrimSpace(m[2])))})
		}
	}
	return settings
}
