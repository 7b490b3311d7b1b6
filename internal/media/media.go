// Package media has the section media of airgap.yaml: the way from the connected host to the servers.
package media

import (
	"regexp"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"airgap.dev/airgap/internal/ui"
)

// Config is the section media.
type Config struct {
	Gate *Gate `yaml:"gate" json:"gate,omitempty" jsonschema:"description=Scanning station\\, portal or data diode that the bundle goes through. airgap bundle chooses the size of the parts for it and says what does not pass"`
}

// Gate is a scanning station, a portal or a data diode.
type Gate struct {
	MaxFileSize   string   `yaml:"maxFileSize" json:"maxFileSize,omitempty" jsonschema:"description=Largest file that the gate accepts or scans\\, for example 2000MiB. Without --part-size the parts are at most as large"`
	Extensions    []string `yaml:"extensions" json:"extensions,omitempty" jsonschema:"description=Extensions of the files that the gate accepts\\, for example .zip. Without this field it accepts all files"`
	Changes       []string `yaml:"changes" json:"changes,omitempty" jsonschema:"enum=names,enum=text,enum=programs,description=Changes that the gate makes: names (it renames files)\\, text (it converts line ends)\\, programs (it removes programs and packages)"`
	OpensArchives bool     `yaml:"opensArchives" json:"opensArchives,omitempty" jsonschema:"description=Whether the gate must be able to look into every file. It cannot look into one of several parts alone\\, or into a piece of airgap pack"`
}

// Changes of a gate.
const (
	Names    = "names"
	Text     = "text"
	Programs = "programs"
)

// Makes reports whether the gate makes a change.
func (g *Gate) Makes(change string) bool { return slices.Contains(g.Changes, change) }

// minFileSize is the smallest limit of a gate that airgap supports: the smallest piece of airgap pack.
const minFileSize = 10 << 20

var extension = regexp.MustCompile(`^\.[a-z0-9]{1,16}$`)

// Validate checks the values of the section.
func (c Config) Validate(path *field.Path) field.ErrorList {
	g := c.Gate
	if g == nil {
		return nil
	}
	var all field.ErrorList
	path = path.Child("gate")
	if g.MaxFileSize != "" {
		n, err := ui.ParseSize(g.MaxFileSize)
		if err != nil || n < minFileSize {
			all = append(all, field.Invalid(path.Child("maxFileSize"), g.MaxFileSize, "want a size of at least 10MiB, such as 2000MiB or 2GB"))
		}
	}
	for i, e := range g.Extensions {
		if !extension.MatchString(e) {
			all = append(all, field.Invalid(path.Child("extensions").Index(i), e, "want a dot and lower-case letters or digits, such as .zip"))
		}
	}
	return all
}

// MaxBytes is MaxFileSize in bytes, or 0 for no limit.
func (g *Gate) MaxBytes() int64 {
	n, _ := ui.ParseSize(g.MaxFileSize) // Validate has checked it
	return n
}
