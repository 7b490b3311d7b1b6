// Package overlay merges the settings of a site into generated configurations: fields as decoded from YAML or
// TOML.
package overlay

import (
	"maps"
	"slices"
)

// Merge lays over onto base: maps key by key, lists of named things (extraArgs,
// extraVolumes) name by name, anything else replaced. Neither is changed.
func Merge(base, over map[string]any) map[string]any {
	merged := make(map[string]any, len(base)+len(over))
	maps.Copy(merged, base)
	for k, v := range over {
		merged[k] = mergeValue(merged[k], v)
	}
	return merged
}

func mergeValue(below, above any) any {
	switch above := above.(type) {
	case map[string]any:
		if below, both := below.(map[string]any); both {
			return Merge(below, above)
		}
	case []any:
		if below, both := below.([]any); both && named(below) && named(above) {
			return mergeNamed(below, above)
		}
	}
	return above
}

// mergeNamed replaces all that has a name which above has too: kubeadm takes
// an argument several times, so one name may stand for several values.
func mergeNamed(below, above []any) []any {
	kept := slices.DeleteFunc(slices.Clone(below), func(item any) bool {
		return slices.ContainsFunc(above, func(other any) bool { return NameOf(other) == NameOf(item) })
	})
	return append(kept, above...)
}

func named(list []any) bool {
	return !slices.ContainsFunc(list, func(item any) bool { return NameOf(item) == "" })
}

// NameOf is the name of a thing in a list, or "".
func NameOf(item any) string { return TextOf(item, "name") }

// TextOf is a field of a thing that is a text, or "".
func TextOf(item any, key string) string {
	thing, _ := item.(map[string]any)
	value, _ := thing[key].(string)
	return value
}
