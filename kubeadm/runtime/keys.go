package runtime

import (
	"embed"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"airgap.dev/airgap/internal/advice"
)

// runtimeKeys has the settings that the runtimes print as their defaults, one path per line. The
// tests generate the lists.
//
//go:embed runtimekeys/*.txt
var runtimeKeys embed.FS

// keyList returns the name of the list for a runtime. containerd has one for each version of its
// configuration.
func (r Config) keyList() string {
	switch {
	case r.CRIO():
		return "crio.txt"
	case r.configVersion() < 3:
		return "containerd2.txt"
	}
	return "containerd3.txt"
}

// misspelt finds overrides with a name that is similar to a setting of the runtime: the runtime would
// ignore them. It accepts all other unknown names, because a newer version may have them.
func (r Config) misspelt(at *field.Path) field.ErrorList {
	text, err := runtimeKeys.ReadFile("runtimekeys/" + r.keyList())
	if err != nil {
		return field.ErrorList{field.InternalError(at, err)}
	}
	known := map[string][]string{} // by table
	for line := range strings.Lines(string(text)) {
		table := ""
		for name := range strings.SplitSeq(strings.TrimSpace(line), "\t") {
			if !slices.Contains(known[table], name) {
				known[table] = append(known[table], name)
			}
			table += "\t" + name
		}
	}
	return misspelt(at, "", r.Overrides, known)
}

func misspelt(at *field.Path, table string, settings map[string]any, known map[string][]string) field.ErrorList {
	if slices.Contains(namedTables(), table[strings.LastIndexByte(table, '\t')+1:]) {
		return nil // the site chooses the names
	}
	var errs field.ErrorList
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		at := at.Key(name)
		if near := advice.Nearest(name, known[table]); near != "" && !slices.Contains(known[table], name) {
			errs = append(errs, field.Invalid(at, name, fmt.Sprintf("the runtime would ignore it; did you mean %q?", near)))
			continue
		}
		if inner, is := settings[name].(map[string]any); is {
			errs = append(errs, misspelt(at, table+"\t"+name, inner, known)...)
		}
	}
	return errs
}

// namedTables returns the tables in which the site chooses the names of the entries.
func namedTables() []string {
	return []string{"runtimes", "workloads", "options", "configs", "mirrors", "headers", "auths", "proxy_plugins", "stream_processors", "timeouts"}
}
