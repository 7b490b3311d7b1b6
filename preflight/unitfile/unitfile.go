// Package unitfile reads the settings of systemd's configuration files: drop-ins of units, and files
// such as logind.conf.
package unitfile

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"
)

// File is a configuration file.
type File struct {
	Path string `yaml:"path" json:"path"`
	Unit string `yaml:"unit" json:"unit"` // "kubelet", "service" for all services, or the program: "systemd", "logind"
	Kind string `yaml:"kind" json:"kind"`
	// Settings are in the order of the file, without values that can be secrets.
	Settings []Setting `yaml:"settings,omitempty" json:"settings,omitempty"`
	// LeftOut is the number of settings above the limit.
	LeftOut int `yaml:"leftOut,omitempty" json:"leftOut,omitempty"`
}

// Setting is an assignment in a file.
type Setting struct {
	Line    int    `yaml:"line" json:"line"`
	Section string `yaml:"section,omitempty" json:"section,omitempty"`
	Key     string `yaml:"key" json:"key"`
	Value   string `yaml:"value,omitempty" json:"value,omitempty"`
}

func (s Setting) String() string { return s.Key + "=" + s.Value }

// Placed is a setting and its file.
type Placed struct {
	Setting

	File File
}

// At is the place of the setting: "/etc/systemd/system/service.d/10-cis.conf line 3".
func (p Placed) At() string { return fmt.Sprintf("%s line %d", p.File.Path, p.Line) }

// Limits of one file, far above those of files that persons write.
const (
	maxSettings = 100
	maxValue    = 400
)

// Read returns the settings of a file. keep returns the part of a value that the facts may have.
// A line that ends with a backslash continues on the next one (systemd.syntax(7)).
func (f File) Read(text string, keep func(key, value string) string) File {
	section, held, began := "", "", 0
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		if line == "" && held == "" || strings.HasPrefix(line, "#") || strings.HasPrefix(line, ";") {
			continue // a comment does not end a continued line
		}
		if held == "" {
			began = i + 1
		}
		if rest, continues := strings.CutSuffix(held+line, `\`); continues {
			held = rest + " "
			continue
		}
		line, held = held+line, ""
		if strings.HasPrefix(line, "[") {
			section = strings.Trim(line, "[]")
			continue
		}
		if key, value, is := strings.Cut(line, "="); is {
			key = strings.TrimSpace(key)
			f.Add(Setting{began, section, key, keep(key, strings.Join(strings.Fields(value), " "))})
		}
	}
	return f
}

// Add adds a setting, within the limits.
func (f *File) Add(s Setting) {
	if len(f.Settings) == maxSettings {
		f.LeftOut++
		return
	}
	if len(s.Value) > maxValue {
		s.Value = strings.ToValidUTF8(s.Value[:maxValue], "") + "…"
	}
	f.Settings = append(f.Settings, s)
}

// Order returns the settings in one section of the files of these units, in the order in which
// systemd applies them: the first files are those of the program itself, and drop-ins follow by
// name, those of all units together. A drop-in hides those with its name of units before its own.
func Order(files []File, section string, units ...string) []Placed {
	var used []File
	for _, unit := range units {
		for _, f := range files {
			if f.Unit != unit || f.Kind != DropIn && f.Kind != Main {
				continue
			}
			used = append(slices.DeleteFunc(used, func(u File) bool {
				return u.Kind == DropIn && f.Kind == DropIn && path.Base(u.Path) == path.Base(f.Path)
			}), f)
		}
	}
	slices.SortStableFunc(used, func(a, b File) int {
		return cmp.Or(-cmp.Compare(a.Kind, b.Kind), cmp.Compare(path.Base(a.Path), path.Base(b.Path))) // Main before DropIn
	})
	var all []Placed
	for _, f := range used {
		for _, s := range f.Settings {
			if s.Section == section {
				all = append(all, Placed{s, f})
			}
		}
	}
	return all
}

// Kinds of files.
const (
	DropIn = "drop-in"
	Main   = "main" // system.conf, logind.conf
)

// Last returns the effective setting of a key; the zero value if there is none, or if the last
// one is empty, which sets the default again.
func Last(all []Placed, key string) Placed {
	for _, s := range slices.Backward(all) {
		if s.Key == key {
			if s.Value == "" {
				return Placed{}
			}
			return s
		}
	}
	return Placed{}
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
