// Package unitfile reads the settings of systemd's configuration files: units, their drop-ins, and
// files such as logind.conf.
package unitfile

import (
	"fmt"
	"slices"
	"strings"
)

// Setting is an assignment in a file.
type Setting struct {
	Key   string `yaml:"key" json:"key"`
	Value string `yaml:"value" json:"value"`
	At    string `yaml:"at" json:"at"` // "/etc/systemd/system/service.d/10-cis.conf:3"
}

const (
	maxSettings = 500
	maxValue    = 300
)

// Read returns the assignments of the keys in one section of a file, in their order. A line that
// ends with a backslash continues on the next one.
func Read(file, text, section string, keys []string) []Setting {
	var all []Setting
	now, number, began, held := "", 0, 0, ""
	for line := range strings.SplitSeq(text, "\n") {
		number++
		line = strings.TrimSpace(line)
		if line == "" && held == "" || strings.HasPrefix(line, "#") || strings.HasPrefix(line, ";") {
			continue // a comment does not end a continued line
		}
		if held == "" {
			began = number
		}
		held += line
		if rest, continues := strings.CutSuffix(held, `\`); continues {
			held = rest + " "
			continue
		}
		line, held = held, ""
		if strings.HasPrefix(line, "[") {
			now = strings.Trim(line, "[]")
			continue
		}
		key, value, is := strings.Cut(line, "=")
		key, value = strings.TrimSpace(key), strings.Join(strings.Fields(value), " ")
		if is && now == section && slices.Contains(keys, key) && len(all) < maxSettings {
			all = append(all, Setting{key, strings.ToValidUTF8(value[:min(len(value), maxValue)], "?"), fmt.Sprintf("%s:%d", file, began)})
		}
	}
	return all
}

// Last returns the effective assignment of a key; the zero value if there is none, or if the last
// one is empty, which sets the default again.
func Last(all []Setting, key string) Setting {
	for _, s := range slices.Backward(all) {
		if s.Key == key {
			if s.Value == "" {
				return Setting{}
			}
			return s
		}
	}
	return Setting{}
}

// On reports whether a value is true, as systemd reads it.
func On(value string) bool {
	switch strings.ToLower(value) {
	case "1", "yes", "y", "true", "t", "on":
		return true
	}
	return false
}

// Off reports whether a value is false, as systemd reads it, or empty.
func Off(value string) bool {
	switch strings.ToLower(value) {
	case "", "0", "no", "n", "false", "f", "off":
		return true
	}
	return false
}
