package support

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"airgap.dev/airgap/internal/ui"
)

// own are the files that say what is in the archive.
type own struct {
	name  string
	write func(io.Writer) error
}

func (c Contents) own() []own {
	return []own{{"README.txt", c.writeText}, {"index.html", c.writeHTML}, {"contents.json", c.writeJSON}}
}

func (c Contents) writeJSON(w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(c)
}

const intro = `This is what airgap support-bundle found on one host, for people who are to help and
cannot come near it. All files are text; index.html links them, and needs no network.
Begin with status.txt.

Secrets were taken out. Where one stood is [redacted:KIND] now: by what secrets look like
(keys, passwords, tokens, codes, headers, addresses with a password or a signature), and by
the very secrets that the host has. A log may lack a word that was none. What no form
tells, such as a password in the middle of a sentence, nobody can take out: look the files
over before they leave the site. Not here at all are keys, kubeconfigs, Secrets, ConfigMaps,
etcd's data, backups, the audit log, and the logs of the site's own pods.
`

func (c Contents) writeText(w io.Writer) error {
	fmt.Fprintf(w, "host      %s\ntime      %s\nairgap    %s\nmade by   %s\n\n%s\n", c.Host, c.Time.UTC().Format(time.RFC3339), c.Program, c.By, intro)
	for _, n := range c.Notes {
		fmt.Fprintf(w, "NOTE: %s\n", n)
	}
	fmt.Fprintf(w, "Taken out: %s.\n", c.Taken())
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, group := range c.Groups() {
		fmt.Fprintf(t, "\n%s\n", group.Heading)
		for _, f := range group.Files {
			fmt.Fprintf(t, "  %s\t%s\t%s\t%s\n", f.Name, f.Size(), f.Title, f.Why)
		}
	}
	return t.Flush()
}

// Taken says how much was redacted.
func (c Contents) Taken() string {
	var all []string
	for _, kind := range slices.Sorted(maps.Keys(c.Redacted)) {
		all = append(all, fmt.Sprintf("%d × %s", c.Redacted[kind], kind))
	}
	if len(all) == 0 {
		return "nothing"
	}
	return strings.Join(all, ", ")
}

// Size is the file's, for people.
func (f File) Size() string {
	if f.Bytes == 0 {
		return "-"
	}
	return ui.Size(int64(f.Bytes))
}

// Group are files that are there, or not, in one way.
type Group struct {
	Heading string
	Files   []File
}

// Groups are the files by how they are there.
func (c Contents) Groups() []Group {
	var all []Group
	for _, g := range []struct {
		heading string
		states  []State
	}{
		{"Here:", []State{Whole}},
		{"Here in part:", []State{Cut, Incomplete}},
		{"Could not be had:", []State{Missing}},
		{"This host has none:", []State{None}},
	} {
		one := Group{Heading: g.heading}
		for _, f := range c.Files {
			if slices.Contains(g.states, f.State) {
				one.Files = append(one.Files, f)
			}
		}
		if len(one.Files) > 0 {
			all = append(all, one)
		}
	}
	return all
}

//go:embed index.html.tmpl
var page string

func (c Contents) writeHTML(w io.Writer) error {
	t, err := template.New("index.html").Parse(page)
	if err != nil {
		return err
	}
	return ui.Escaped(w, func(w io.Writer) error { return t.Execute(w, c) })
}
