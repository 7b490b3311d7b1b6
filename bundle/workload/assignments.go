package workload

import "strings"

// assignments are the values of Helm's --set among words: image.repository=a,image.tag=b.
// rest are the other words.
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

// hub is what a mapping further up says of all images below it: a registry with
// a path, and a tag.
type hub struct{ path, tag string }

// hubOf is the hub of a mapping, or of the values that all charts have; above is
// the one further up.
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

// of is the image that a program makes of a name; "" where it makes none.
func (h hub) of(name string) string {
	if h.path == "" || h.tag == "" || !isWord(name) {
		return ""
	}
	return checked(under(h.path, name) + ":" + h.tag)
}
