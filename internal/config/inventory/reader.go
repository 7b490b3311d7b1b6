package inventory

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/config"
	"airgap.dev/airgap/internal/ui"
)

// maxProblems is the number of problems after which the list is not read further.
const maxProblems = 50

// reader collects everything that is wrong with a list and everything that is left out.
type reader struct {
	file     string
	ignore   map[string]bool
	meanings map[string]string // of groups: a role, rack or etcd
	flags    []string          // names in flags
	seen     map[string]bool   // names in the list
	problems config.Problems
	stopped  bool // there are more problems, or too many hosts
	unknown  map[string]bool
	leftOut  []LeftOut
}

func newReader(o Options) (*reader, error) {
	r := &reader{file: o.File, ignore: map[string]bool{}, meanings: knownGroups(), seen: map[string]bool{}, unknown: map[string]bool{}}
	for _, text := range o.Groups {
		name, meaning, _ := strings.Cut(text, "=")
		if !slices.Contains(meanings(), meaning) || name == "" {
			return nil, advice.Usagef("--group %q: want GROUP=MEANING with one of %s%s", text, strings.Join(meanings(), ", "), advice.DidYouMean(meaning, meanings()))
		}
		r.meanings[name], r.flags = meaning, append(r.flags, name)
	}
	for _, name := range o.Ignore {
		r.ignore[name], r.flags = true, append(r.flags, name)
		delete(r.meanings, name)
	}
	r.seen["group_vars"], r.seen["host_vars"] = true, true // addDirectories names them
	return r, nil
}

// fault adds a problem. Its text has no value of the list, unless the variable is a known one.
func (r *reader) fault(line int, path, format string, args ...any) {
	if len(r.problems) == maxProblems {
		r.stopped = true
		return
	}
	r.problems = append(r.problems, config.Problem{File: r.file, Line: max(line, 1), Column: 1, Path: path, Message: fmt.Sprintf(format, args...)})
}

// stop adds a problem that ends the reading.
func (r *reader) stop(line int, format string, args ...any) {
	r.fault(line, "", format, args...)
	r.stopped = true
}

// leave records something that is left out.
func (r *reader) leave(kind, name string, line int, why string) {
	for i, l := range r.leftOut {
		if l.Kind == kind && l.Name == name {
			r.leftOut[i].Count++
			return
		}
	}
	r.leftOut = append(r.leftOut, LeftOut{Kind: kind, Name: name, Line: line, Count: 1, Why: why})
}

var (
	// shape matches names that messages may repeat.
	shape = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}$`)
	// secretName matches the names under which people write credentials. A name that ends in _file is a path.
	secretName  = regexp.MustCompile(`(?i)(pass|passwd|password|passphrase|secret|token|api_?key|private_?key|credentials?)$|^vault_`)
	secretValue = regexp.MustCompile(`PRIVATE KEY-----|\$ANSIBLE_VAULT`)
)

// variable judges a variable or a column of the list, and returns the field that it stands for. No field
// means that it is left out, or a problem.
func (r *reader) variable(kind string, line int, name, value string, known map[string]string) (field string) {
	if !shape.MatchString(name) {
		r.fault(line, "", "the name of a %s is not one: want letters, digits and _", kind)
		return ""
	}
	r.seen[name] = true
	field, is := known[name]
	switch {
	case secretName.MatchString(name) || secretValue.MatchString(value):
		r.fault(line, name, "a secret in a list of hosts: remove it from the file. airgap asks for passwords, or reads them from files that airgap.yaml names")
	case r.ignore[name]:
		r.leave(kind, name, line, "")
	case !is:
		r.unknown[name] = true
		names := slices.Sorted(maps.Keys(known))
		r.fault(line, name, "unknown %s: want one of %s%s", kind, strings.Join(names, ", "), advice.DidYouMean(name, names))
	case strings.Contains(value, "{{") || strings.Contains(value, "{%"):
		r.fault(line, name, "the value is a template, and airgap runs none: want the value, as in the result of ansible-inventory -i FILE --list --yaml")
	case strings.ContainsFunc(value, func(c rune) bool { return unicode.IsControl(c) || !unicode.IsPrint(c) }):
		r.fault(line, name, "the value has a control character: want printable text in one line")
	default:
		return field
	}
	return ""
}

// unused reports names of flags that the list does not have: they are mistyped.
func (r *reader) unused() {
	names := slices.Sorted(maps.Keys(r.seen))
	for _, name := range r.flags {
		if r.stopped {
			return // not all names are read
		}
		if !r.seen[name] {
			r.fault(1, "", "the list has no variable, column or group %q, which a flag names%s", name, advice.DidYouMean(name, names))
		}
	}
}

// err is all problems in the order of the file; nil without one.
func (r *reader) err() error {
	if len(r.problems) == 0 {
		return nil
	}
	slices.SortStableFunc(r.problems, func(a, b config.Problem) int { return cmp.Compare(a.Line, b.Line) })
	count, problems := ui.Count(len(r.problems), "problem"), r.problems
	if len(problems) == maxProblems && r.stopped {
		count = "more than " + count
	}
	err := advice.Usage(fmt.Errorf("%s in the list of hosts\n%w", count, problems))
	if len(r.unknown) == 0 || len(r.unknown) > 20 {
		return advice.Add(err, "correct the file, then run the same command again; nothing was written")
	}
	return advice.Add(err, "correct the file, or leave out the parts that airgap does not need: --ignore %s; nothing was written", strings.Join(slices.Sorted(maps.Keys(r.unknown)), ","))
}
