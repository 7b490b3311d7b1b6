package nextboot

import (
	"strconv"
	"strings"
)

// Parameter is a parameter of the kernel command line.
type Parameter struct {
	Name  string // with _ instead of -, which the kernel treats as equal
	Value string
	Given bool // it has a value, which may be empty
	Text  string
}

// Parameters splits a kernel command line. Double quotes protect spaces, as in the kernel.
func Parameters(cmdline string) []Parameter {
	var all []Parameter
	for _, text := range splitQuoted(cmdline) {
		name, value, given := strings.Cut(text, "=")
		all = append(all, Parameter{strings.ReplaceAll(strings.Trim(name, `"`), "-", "_"), strings.Trim(value, `"`), given, text})
	}
	return all
}

func splitQuoted(text string) []string {
	quoted := false
	return strings.FieldsFunc(text, func(c rune) bool {
		if c == '"' {
			quoted = !quoted
		}
		return !quoted && (c == ' ' || c == '\t' || c == '\n' || c == '\r')
	})
}

// Last is the last parameter with one of the names, which counts; the zero value if none is set.
func Last(cmdline string, names ...string) Parameter {
	var last Parameter
	for _, p := range Parameters(cmdline) {
		for _, name := range names {
			if p.Name == name {
				last = p
			}
		}
	}
	return last
}

// List has the members of all parameters with a name and a comma-separated value.
func List(cmdline, name string) []string {
	var all []string
	for _, p := range Parameters(cmdline) {
		if p.Name == name && p.Value != "" {
			all = append(all, strings.Split(p.Value, ",")...)
		}
	}
	return all
}

// Yes and No report the value of a boolean of systemd's. A parameter without a value is true.
func (p Parameter) Yes() bool {
	switch strings.ToLower(p.Value) {
	case "1", "yes", "y", "true", "t", "on":
		return true
	case "":
		return p.Name != "" && !p.Given
	}
	return false
}

// No reports whether the value is false, as systemd reads it.
func (p Parameter) No() bool {
	switch strings.ToLower(p.Value) {
	case "0", "no", "n", "false", "f", "off":
		return true
	}
	return false
}

// Bytes parses a size of the kernel: "4G", "0x1000", "2M". ok is false for anything else.
func Bytes(text string) (n int64, ok bool) {
	shift := 0
	if len(text) > 1 {
		switch text[len(text)-1] {
		case 'k', 'K':
			shift = 10
		case 'm', 'M':
			shift = 20
		case 'g', 'G':
			shift = 30
		case 't', 'T':
			shift = 40
		}
		if shift > 0 {
			text = text[:len(text)-1]
		}
	}
	n, err := strconv.ParseInt(text, 0, 64)
	if err != nil || n < 0 || n > 1<<62>>shift {
		return 0, false
	}
	return n << shift, true
}
