package workload

import "strings"

// assignments returns the values of Helm's --set in words: image.repository=a,image.tag=b.
// rest has the other words.
func assignments(words []string) (values map[string]any, rest []string) {
	for i := 0; i < len(words); i++ {
		flag, list, joined := strings.Cut(strings.Trim(words[i], `"'`), "=")
		if flag != "--set" && flag != "--set-string" {
			rest = append(rest, words[i])
			continue
		}
		if !joined {
			if i++; i == len(words) {
				break
			}
			list = words[i]
		}
		if values == nil {
			values = map[string]any{}
		}
		for pair := range strings.SplitSeq(strings.Trim(list, `"'`), ",") {
			if key, value, is := strings.Cut(pair, "="); is && key != "enabled" && len(values) < maxKeys {
				values[key] = strings.Trim(value, `"'`)
			}
		}
	}
	return values, rest
}

// hub is a setting hub of a mapping, which applies to all images below it: a registry
// with a path, and a tag.
type hub struct{ path, tag string }

// hubOf returns the hub of a mapping or of its global values, otherwise the hub above.
func hubOf(m map[string]any, above hub) hub {
	for _, of := range []any{m, m["global"]} {
		settings, _ := of.(map[string]any)
		if path := textOf(settings["hub"]); path != "" {
			above.path = path
		}
		if tag := textOf(settings["tag"]); tag != "" && above.path != "" {
			above.tag = tag
		}
	}
	return above
}

// of returns the image for a name; "" if the hub is incomplete or the name is not a word.
func (h hub) of(name string) string {
	if h.path == "" || h.tag == "" || !isWord(name) {
		return ""
	}
	return checked(under(h.path, name) + ":" + h.tag)
}
