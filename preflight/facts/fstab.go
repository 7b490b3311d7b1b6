package facts

import (
	"fmt"
	"regexp"
	"strings"
)

// FstabEntry is a line of fstab(5), and the place where it is.
type FstabEntry struct {
	File    string   `yaml:"file" json:"file"` // "/etc/fstab"
	Line    int      `yaml:"line" json:"line"`
	Spec    string   `yaml:"spec" json:"spec"`            // first field: "UUID=…", "/dev/sdb1", "server:/export"
	Mount   string   `yaml:"mount" json:"mount"`          // second field: the mount point; "none" for swap
	Type    string   `yaml:"type" json:"type"`            // third field: "xfs", "swap"
	Options []string `yaml:"options,flow" json:"options"` // without passwords
}

// At is the place for a report: "/etc/fstab:12".
func (e FstabEntry) At() string { return fmt.Sprintf("%s:%d", e.File, e.Line) }

// Has reports whether the entry has an option.
func (e FstabEntry) Has(option string) bool {
	for _, o := range e.Options {
		if o == option || strings.HasPrefix(o, option+"=") {
			return true
		}
	}
	return false
}

const fstabFile = "etc/fstab"

// Limits of fstab: longer files and lines are not read to their end.
const (
	maxFstabLines = 2000
	maxFstabLine  = 4096
)

// readFstab reads the entries of /etc/fstab; none if the file does not exist.
func readFstab(r reader) (entries []FstabEntry, odd []string, err error) {
	text, err := r.optionalRaw(fstabFile)
	if err != nil {
		return nil, nil, err
	}
	entries, odd = parseFstab("/"+fstabFile, text)
	return entries, odd, nil
}

// parseFstab reads the format of fstab(5) as getmntent(3) does: fields with octal escapes between
// blanks, and comments only in whole lines. odd names the lines that are no entries.
func parseFstab(file, text string) (entries []FstabEntry, odd []string) {
	for i, line := range strings.Split(text, "\n") {
		at := fmt.Sprintf("%s:%d", file, i+1)
		if i >= maxFstabLines {
			return entries, append(odd, at+": the file has too many lines")
		}
		if len(line) > maxFstabLine {
			odd = append(odd, at+": the line is too long")
			continue
		}
		fields := strings.FieldsFunc(line, func(c rune) bool { return c == ' ' || c == '\t' || c == '\r' })
		if len(fields) == 0 || strings.HasPrefix(fields[0], "#") {
			continue
		}
		if len(fields) < 3 {
			odd = append(odd, at+": less than 3 fields")
			continue
		}
		e := FstabEntry{File: file, Line: i + 1, Spec: unquoteTag(unescapeMount(fields[0])), Mount: unescapeMount(fields[1]), Type: unescapeMount(fields[2])}
		if len(fields) > 3 {
			e.Options = mountOptions(unescapeMount(fields[3]))
		}
		entries = append(entries, e)
	}
	return entries, odd
}

// mountOptionSecret matches options of cifs and others that contain a password.
var mountOptionSecret = regexp.MustCompile(`(?i)^(pass(?:word|wd)?2?)=.*`)

// mountOptions splits at commas outside of double quotes, which SELinux contexts may contain.
func mountOptions(text string) []string {
	var options []string
	quoted := false
	for _, o := range strings.FieldsFunc(text, func(c rune) bool {
		if c == '"' {
			quoted = !quoted
		}
		return c == ',' && !quoted
	}) {
		options = append(options, mountOptionSecret.ReplaceAllString(o, "$1=***"))
	}
	return options
}

// unquoteTag removes the quotes of LABEL="a b".
func unquoteTag(spec string) string {
	name, value, is := strings.Cut(spec, "=")
	if is && len(value) >= 2 && value[0] == '"' && value[len(value)-1] == '"' {
		return name + "=" + value[1:len(value)-1]
	}
	return spec
}
