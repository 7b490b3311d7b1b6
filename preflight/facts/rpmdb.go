package facts

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"airgap.dev/airgap/internal/nevra"
)

// Package is an installed RPM.
type Package struct {
	Name    string `yaml:"name" json:"name"`
	Epoch   string `yaml:"epoch" json:"epoch"` // "0" if it has none
	Version string `yaml:"version" json:"version"`
	Release string `yaml:"release" json:"release"`
	Arch    string `yaml:"arch" json:"arch"` // "(none)" for imported keys

	Provides  []Capability `yaml:"provides,omitempty" json:"provides,omitempty"`
	Requires  []Capability `yaml:"requires,omitempty" json:"requires,omitempty"`
	Conflicts []Capability `yaml:"conflicts,omitempty" json:"conflicts,omitempty"`
	Obsoletes []Capability `yaml:"obsoletes,omitempty" json:"obsoletes,omitempty"`
	// Files are the files that other packages usually require by path: programs and files in
	// /etc, as in primary metadata.
	Files []string `yaml:"files,omitempty" json:"files,omitempty"`
}

// NEVRA is the package's full name as a value. The error is about an epoch that is not a number.
func (p Package) NEVRA() (nevra.NEVRA, error) {
	evr, err := nevra.EVROf(p.Epoch, p.Version, p.Release)
	return nevra.NEVRA{Name: p.Name, EVR: evr, Arch: p.Arch}, err
}

// NewestOf is the kernel release, as in uname -r, of the newest installed package with the name,
// such as kernel-core; "" if none is installed.
func (f *Facts) NewestOf(name string) string {
	var newest nevra.NEVRA
	for _, p := range f.Packages {
		if n, err := p.NEVRA(); p.Name == name && err == nil && (newest.Name == "" || n.Compare(newest.EVR) > 0) {
			newest = n
		}
	}
	if newest.Name == "" {
		return ""
	}
	return newest.Kernel()
}

// Capability is a capability that a package provides or requires. As text it has rpm's form:
// "bash >= 5.1".
type Capability struct {
	Name    string
	Op      string // "=", "<", "<=", ">", ">=", or "" for any version
	Version string // [epoch:]version[-release]
}

func (c Capability) String() string {
	if c.Op == "" {
		return c.Name
	}
	return c.Name + " " + c.Op + " " + c.Version
}

// MarshalText keeps surveys small: one string per capability.
func (c Capability) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// versioned parses "NAME OP VERSION". A name can contain spaces, as in rich dependencies.
var versioned = regexp.MustCompile(`^(.+) (=|<|<=|>|>=) (\S+)$`)

// UnmarshalYAML accepts only text: the decoder would skip UnmarshalText for a list or a map.
func (c *Capability) UnmarshalYAML(node *yaml.Node) error {
	if node.Kind != yaml.ScalarNode {
		return fmt.Errorf("line %d: expected a capability as text, such as %q", node.Line, "libc.so.6()(64bit)")
	}
	return c.UnmarshalText([]byte(node.Value))
}

// UnmarshalText reads the output of MarshalText.
func (c *Capability) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		return fmt.Errorf("parse capability: empty")
	}
	m := versioned.FindSubmatch(text)
	if m == nil || text[0] == '(' {
		*c = Capability{Name: string(text)}
		return nil
	}
	*c = Capability{string(m[1]), string(m[2]), string(m[3])}
	return nil
}

// rpmFormat makes rpm print one line per package, capability and file. Tabs separate the fields,
// and the first field is the kind.
const rpmFormat = `N\t%{NAME}\t%{EPOCHNUM}\t%{VERSION}\t%{RELEASE}\t%{ARCH}\n` +
	`[P\t%{PROVIDENAME}\t%{PROVIDEFLAGS:depflags}\t%{PROVIDEVERSION}\n]` +
	`[R\t%{REQUIRENAME}\t%{REQUIREFLAGS:depflags}\t%{REQUIREVERSION}\n]` +
	`[C\t%{CONFLICTNAME}\t%{CONFLICTFLAGS:depflags}\t%{CONFLICTVERSION}\n]` +
	`[O\t%{OBSOLETENAME}\t%{OBSOLETEFLAGS:depflags}\t%{OBSOLETEVERSION}\n]` +
	`[F\t%{FILENAMES}\n]`

func readPackages(ctx context.Context, r reader, f *Facts) error {
	out, err := r.output(ctx, "rpm", "-qa", "--queryformat", rpmFormat)
	if err != nil {
		return err
	}
	f.Packages, f.OddPackages, err = parsePackages(out)
	return err
}

// maxOddPackages is how many odd packages the facts name.
const maxOddPackages = 20

// parsePackages also returns the names of the packages with data that cannot be used, such as an
// epoch that is not a number. The other packages stay.
func parsePackages(text string) (packages []Package, odd []string, err error) {
	var p packageParser
	for line := range strings.Lines(text) {
		fields := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if p.last == "F" && !slices.Contains([]string{"N", "F"}, fields[0]) {
			continue // the rest of a file name that contains a newline
		}
		p.last = fields[0]
		switch {
		case fields[0] == "N":
			p.end()
			p.begin(fields)
		case !p.began:
			return nil, nil, fmt.Errorf("parse the output of rpm: %q", line)
		case p.reason == nil:
			p.reason = p.now.add(fields)
		}
	}
	if !p.began {
		return nil, nil, errors.New("parse the output of rpm: it has no package")
	}
	p.end()
	if n := len(p.odd) - maxOddPackages; n > 0 {
		p.odd = append(p.odd[:maxOddPackages], fmt.Sprintf("%d more", n))
	}
	sortPackages(p.packages)
	return p.packages, p.odd, nil
}

// packageParser is the state between two lines of rpm's output.
type packageParser struct {
	packages []Package
	odd      []string
	now      Package
	reason   error // why the current package is odd
	began    bool
	last     string // kind of the last line
}

func (p *packageParser) begin(fields []string) {
	p.began, p.reason = true, nil
	if len(fields) != 6 {
		p.now, p.reason = Package{Name: fields[min(1, len(fields)-1)]}, errors.New("not six fields")
		return
	}
	p.now = Package{Name: fields[1], Epoch: fields[2], Version: fields[3], Release: fields[4], Arch: fields[5]}
	p.reason = p.now.check()
}

// check returns an error for a name or version that the solver cannot use. Keys have no architecture.
func (p Package) check() error {
	n, err := p.NEVRA()
	if err == nil && p.Arch == "(none)" {
		n.Arch = "noarch"
	}
	if err == nil && !n.Valid() {
		err = errors.New("not a package: " + n.String())
	}
	return err
}

// end adds the current package.
func (p *packageParser) end() {
	const longest = 100
	switch {
	case !p.began:
	case p.reason == nil:
		p.packages = append(p.packages, p.now)
	default:
		name := strings.ToValidUTF8(p.now.Name[:min(longest, len(p.now.Name))], "")
		p.odd = append(p.odd, cmp.Or(name, "a package without a name"))
	}
}

func (p *Package) add(fields []string) error {
	if fields[0] == "F" {
		if requiredByPath(fields[1]) {
			p.Files = append(p.Files, fields[1])
		}
		return nil
	}
	list := map[string]*[]Capability{"P": &p.Provides, "R": &p.Requires, "C": &p.Conflicts, "O": &p.Obsoletes}[fields[0]]
	if list == nil || len(fields) != 4 {
		return fmt.Errorf("parse the output of rpm: %q", strings.Join(fields, "\t"))
	}
	c := Capability{Name: fields[1], Op: strings.TrimSpace(fields[2]), Version: fields[3]}
	if c.Op == "" {
		c.Version = ""
	}
	if c.Name == "" || leftOut.MatchString(c.Name) {
		return nil
	}
	if c.Op != "" && !usableVersion.MatchString(c.Version) {
		return fmt.Errorf("parse the output of rpm: version %q of %s", c.Version, c.Name)
	}
	*list = append(*list, c)
	return nil
}

// usableVersion matches a version that the solver can compare: [EPOCH:]VERSION[-RELEASE].
var usableVersion = regexp.MustCompile(`^([0-9]{1,9}:)?[^-:][^:]*$`)

// leftOut keeps surveys small. Each package requires the same features of rpm, and each kernel
// provides about 20,000 symbols, which only weak-updates modules require. The solver refuses a
// bundle with such a module. The survey script leaves out the same capabilities.
var leftOut = regexp.MustCompile(leftOutPattern)

const leftOutPattern = `^(rpmlib|kernel|ksym)\(`

// requiredByPath is createrepo's rule for the files in primary metadata.
func requiredByPath(file string) bool {
	return strings.HasPrefix(file, "/etc/") || strings.Contains(file, "bin/") || file == "/usr/lib/sendmail"
}
