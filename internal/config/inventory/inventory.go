// Package inventory reads lists of hosts that a site already has, a CSV file or an inventory of
// Ansible, as nodes for airgap.yaml.
//
// The file is input from outside: its size and the number of its hosts are bounded, nothing in it is
// run, no other file is read, and no value of an unknown or secret variable is printed. A variable
// that airgap does not know is a problem with its line, unless the user leaves it out by name.
package inventory

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/config"
	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/ui"
)

const maxSize = 1 << 20 // of the file

// Format is the form of a list of hosts.
type Format string

const (
	CSV  Format = "csv"
	INI  Format = "ini"
	YAML Format = "yaml"
)

// Options has the settings of an import.
type Options struct {
	File   string
	Format Format   // "": by the name of the file
	Ignore []string // variables, columns and groups to leave out
	Groups []string // GROUP=ROLE or GROUP=rack
	Into   string   // airgap.yaml to which the nodes are added; "": none
}

// Import reads the list of hosts, and adds its nodes to airgap.yaml if the options name one. Problems
// of the files are a usage error (advice.IsUsage); then it writes nothing.
func Import(o Options) (*Result, error) {
	data, err := host.ReadInput(o.File, maxSize)
	if err != nil {
		return nil, advice.Add(fmt.Errorf("read the list of hosts: %w", err), "name a CSV file or an inventory of Ansible")
	}
	if o.Format == "" {
		o.Format = formatOf(o.File)
	}
	result, err := Parse(o, data)
	if err != nil {
		return nil, err
	}
	result.addDirectories(o)
	if o.Into == "" {
		return result, nil
	}
	return result, result.add(o.Into)
}

func formatOf(file string) Format {
	switch strings.ToLower(filepath.Ext(file)) {
	case ".csv":
		return CSV
	case ".yaml", ".yml", ".json":
		return YAML
	default:
		return INI
	}
}

// Parse reads the nodes in the text of a list of hosts. It reads no file.
func Parse(o Options, data []byte) (*Result, error) {
	r, err := newReader(o)
	if err != nil {
		return nil, err
	}
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	var entries []entry
	switch {
	case bytes.HasPrefix(data, []byte("$ANSIBLE_VAULT")):
		r.fault(1, "", "the file is encrypted with ansible-vault: want a list of hosts without secrets")
	case bytes.HasPrefix(data, []byte("#!")):
		r.fault(1, "", "the file is a program, and airgap does not run it: want its result as YAML, from ansible-inventory -i FILE --list --yaml")
	case !utf8.Valid(data) || bytes.ContainsRune(data, 0):
		r.fault(lineOfBadText(data), "", "the text is not UTF-8: save the file as UTF-8 (in Excel: CSV UTF-8), for example with iconv -f CP949 -t UTF-8")
	case o.Format == CSV:
		entries = r.csv(data)
	case o.Format == YAML:
		entries = r.resolve(r.yaml(data))
	case o.Format == INI:
		entries = r.resolve(r.ini(string(data)))
	default:
		return nil, advice.Usagef("read the list of hosts: format %q: want csv, ini or yaml", o.Format)
	}
	if len(entries) == 0 && len(r.problems) == 0 {
		r.fault(1, "", "the file has no hosts")
	}
	nodes, err := r.nodes(entries)
	if err != nil {
		return nil, err
	}
	r.unused()
	if err := r.err(); err != nil {
		return nil, err
	}
	return &Result{NodeList: config.NodeList{Nodes: nodes}, LeftOut: r.leftOut}, nil
}

func lineOfBadText(data []byte) int {
	for i, line := range bytes.Split(data, []byte("\n")) {
		if !utf8.Valid(line) || bytes.ContainsRune(line, 0) {
			return i + 1
		}
	}
	return 1
}

// Result is the nodes of a list.
type Result struct {
	config.NodeList

	LeftOut []LeftOut `json:"leftOut"`
	Into    string    `json:"into,omitempty"`  // the airgap.yaml that has the nodes now
	Added   int       `json:"added,omitempty"` // number of nodes that it did not have before
}

// LeftOut is something in the list that is not in airgap.yaml.
type LeftOut struct {
	Kind  string `json:"kind"` // variable, column, group, host, directory
	Name  string `json:"name"`
	Line  int    `json:"line,omitempty"` // the first one
	Count int    `json:"count"`
	Why   string `json:"why,omitempty"`
}

func (l LeftOut) String() string {
	text := l.Kind + " " + l.Name
	switch {
	case l.Count > 1:
		text += fmt.Sprintf(" (%d times, first in line %d)", l.Count, l.Line)
	case l.Line > 0:
		text += fmt.Sprintf(" (line %d)", l.Line)
	}
	if l.Why != "" {
		text += ": " + l.Why
	}
	return text
}

// Write writes the section nodes of airgap.yaml, or the number of nodes that were added to one.
// Comments in front of it list the parts that are left out.
func (r *Result) Write(w io.Writer) error {
	for _, l := range r.LeftOut {
		if _, err := fmt.Fprintf(w, "# left out: %s\n", l); err != nil {
			return err
		}
	}
	if r.Into == "" {
		return r.NodeList.Write(w)
	}
	_, err := fmt.Fprintf(w, "added to %s: %s; with the same fields there before: %d\n", r.Into, ui.Count(r.Added, "node"), len(r.Nodes)-r.Added)
	return err
}

// addDirectories names directories of Ansible next to the file: they can have variables of its hosts.
func (r *Result) addDirectories(o Options) {
	for _, name := range []string{"group_vars", "host_vars"} {
		if info, err := os.Stat(filepath.Join(filepath.Dir(o.File), name)); err == nil && info.IsDir() && o.Format != CSV && !slices.Contains(o.Ignore, name) {
			r.LeftOut = append(r.LeftOut, LeftOut{Kind: "directory", Name: name, Count: 1, Why: "airgap reads only the file; ansible-inventory -i FILE --list --yaml prints one with these variables"})
		}
	}
}

// add adds the nodes to an airgap.yaml.
func (r *Result) add(file string) error {
	info, err := os.Stat(file)
	if err != nil {
		return fmt.Errorf("read configuration: %w", err)
	}
	data, err := host.ReadInput(file, maxSize)
	if err != nil {
		return fmt.Errorf("read configuration: %w", err)
	}
	text, added, err := config.AddNodes(file, data, r.Nodes)
	if err != nil {
		return advice.Replace(config.Advise(err), "correct one of the files; %s is unchanged", file)
	}
	r.Into, r.Added = file, len(added)
	if len(added) == 0 {
		return nil
	}
	return host.WriteFile(file, text, info.Mode().Perm())
}
