package rpm

import (
	"bytes"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"airgap.dev/airgap/bundle/rpm/markup"
	"airgap.dev/airgap/internal/nevra"
)

// Limits of the records that are left out: of a repository in reports, of a repository in memory, and in one sentence
// about a missing package.
const (
	maxReported = 10
	maxLeft     = 10_000
	maxHints    = 3
)

// recordError is a record of a package that airgap cannot use. dnf may accept it: airgap needs a name that is safe in
// paths, and a file that it can fetch and verify.
type recordError struct {
	name, arch string   // "" if they cannot be read
	provides   []string // names, and files
	people     string   // the package as far as it is known
	reason     error
	file       string // with the record; "" if the record is not the reason
}

func (e *recordError) Error() string {
	return fmt.Sprintf("%s is left out: %v%s", e.people, e.reason, in(e.file))
}

// in is " (in FILE)" for a sentence about a part of a file.
func in(file string) string {
	if file == "" {
		return ""
	}
	return " (in " + file + ")"
}

func (e *recordError) Unwrap() error { return e.reason }

// odd returns the error of a record with its names.
func (x xmlPackage) odd(reason error) *recordError {
	e := &recordError{name: x.Name, arch: x.Arch, reason: reason}
	if e.people = "a package without a name"; x.Name != "" {
		n := nevra.NEVRA{Name: x.Name, EVR: nevra.EVR{Version: x.Version.Ver, Release: x.Version.Rel}, Arch: x.Arch}
		e.people = visible(n.People())
	}
	for _, p := range x.Format.Provides.Entries {
		e.provides = append(e.provides, p.Name)
	}
	e.provides = append(e.provides, x.Format.Files...)
	return e
}

// odd is xmlPackage.odd for a record that could be read.
func (e *entry) odd(reason error) *recordError {
	r := &recordError{name: e.Name, arch: e.Arch, reason: reason, people: e.People()}
	for _, p := range e.provides {
		r.provides = append(r.provides, p.Name)
	}
	r.provides = append(r.provides, e.files...)
	return r
}

var (
	recordName = regexp.MustCompile(`<name>\s*([^<]{1,200}?)\s*</name>`)
	recordArch = regexp.MustCompile(`<arch>\s*([^<]{1,50}?)\s*</arch>`)
	entryName  = regexp.MustCompile(`\sname="([^"]{1,200})"`)
)

// brokenRecord returns the error of a record that is no XML.
func brokenRecord(element []byte, reason error) *recordError {
	e := &recordError{people: "a package", reason: reason}
	if found := recordName.FindSubmatch(element); found != nil {
		e.name = string(found[1])
		e.people = visible(e.name)
	}
	if found := recordArch.FindSubmatch(element); found != nil {
		e.arch = string(found[1])
	}
	_, provides, _ := bytes.Cut(element, []byte("<rpm:provides>"))
	provides, _, _ = bytes.Cut(provides, []byte("</rpm:provides>"))
	for _, found := range entryName.FindAllSubmatch(provides, maxLeft) {
		e.provides = append(e.provides, string(found[1]))
	}
	return e
}

// visible returns at most 200 characters of a text of a repository, without characters that control a terminal.
func visible(text string) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsGraphic(r) {
			return r
		}
		return unicode.ReplacementChar
	}, text)
	if runes := []rune(text); len(runes) > 200 {
		return string(runes[:200]) + "…"
	}
	return text
}

// leave notes a record that is left out.
func (s *source) leave(e *recordError) {
	if len(s.left) < maxLeft {
		s.left = append(s.left, e)
	}
	s.note(e.Error())
}

// note adds a sentence to the report about the repository.
func (s *source) note(sentence string) {
	if s.more++; s.more <= maxReported {
		s.Notices = append(s.Notices, sentence)
	}
}

// leaveOther notes the records of primary metadata that are no packages, and missing packages.
func (s *source) leaveOther(d *markup.Document, file string) {
	for _, name := range slices.Sorted(maps.Keys(d.Other)) {
		s.note(fmt.Sprintf("records of type <%s> are left out: %d%s", visible(name), d.Other[name], in(file)))
	}
	if d.Found == 0 && strings.Trim(d.Count, "0") != "" {
		s.note(fmt.Sprintf("its metadata has no package, but says that it has %.20s%s", d.Count, in(file)))
	}
}

// report ends the report about the repository.
func (s *source) report() {
	if more := s.more - maxReported; more > 0 {
		s.Notices = append(s.Notices, fmt.Sprintf("%d more records are left out", more))
	}
	if s.Checksums == ChecksumsSHA1 {
		s.Notices = append(s.Notices, "airgap.yaml allows SHA-1 checksums (checksums: sha1)")
	}
}

// leave makes the records that are left out findable by the name of the package and by the names that it provides.
func (u *universe) leave(repository string, e *recordError) {
	sentence := fmt.Sprintf("repository %s: %v", repository, e)
	for _, name := range append([]string{e.name}, e.provides...) {
		if list := u.left[name]; name != "" && len(list) < maxHints && !slices.Contains(list, sentence) {
			u.left[name] = append(list, sentence)
		}
	}
}

// leftFor returns sentences about the packages of a name, or of NAME-VERSION[-RELEASE], that are left out.
func (u *universe) leftFor(spec string) []string {
	for name := spec; ; {
		if list := u.left[name]; len(list) > 0 {
			return list
		}
		dash := strings.LastIndexByte(name, '-')
		if dash < 0 {
			return nil
		}
		name = name[:dash]
	}
}

// hintFor is hint for a name, a build or a pattern in packages.install.
func (u *universe) hintFor(spec string) string {
	if newest := u.nearestTo(spec); newest != "" {
		return strings.Join(append([]string{"the newest is " + newest}, u.leftFor(spec)...), "; ")
	}
	return strings.Join(u.leftFor(spec), "; ")
}

// hint says what the repositories have instead of a missing package: an older one, or one that is left out. It is "" if
// they have neither.
func (u *universe) hint(x expression) string {
	if x.op == "" {
		if newest := u.nearest(x.Name); newest != "" {
			return strings.Join(append([]string{"the newest is " + newest}, u.left[x.Name]...), "; ")
		}
	}
	return strings.Join(u.leftOf(x), "; ")
}

// leftOf returns sentences about the packages of all terms that are left out.
func (u *universe) leftOf(x expression) []string {
	if x.op == "" {
		return u.left[x.Name]
	}
	var all []string
	for _, term := range x.terms {
		for _, sentence := range u.leftOf(term) {
			if !slices.Contains(all, sentence) {
				all = append(all, sentence)
			}
		}
	}
	return all
}

// leftOfAll returns sentences about the packages of several names that are left out.
func (u *universe) leftOfAll(names []string) []string {
	x := expression{op: "or"}
	for _, name := range names {
		x.terms = append(x.terms, expression{Capability: Capability{Name: name}})
	}
	return u.leftOf(x)
}
