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

// own is a file that describes the archive.
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

const intro = `airgap support-bundle collected these files on one host, for people who help without access
to the host. All files are text. index.html links them and needs no network. Begin with
status.txt.

airgap replaced each secret that it found with [redacted:KIND]. It finds secrets by their
form (keys, passwords, tokens, headers, URLs with a password or a signature), and it finds
all copies of the host's own secrets. It may also have replaced words that are not secrets.
It cannot find a secret without a known form, such as a password in a sentence. Review the
files before they leave the site. The archive does not contain keys, kubeconfigs, Secrets,
ConfigMaps, etcd's data, backups, the audit log, or the logs of the site's own pods.
`

func (c Contents) writeText(w io.Writer) error {
	fmt.Fprintf(w, "host      %s\ntime      %s\nairgap    %s\nmade by   %s\n\n%s\n", c.Host, c.Time.UTC().Format(time.RFC3339), c.Program, c.By, intro)
	for _, n := range c.Notes {
		fmt.Fprintf(w, "NOTE: %s\n", n)
	}
	fmt.Fprintf(w, "Removed secrets: %s.\n", c.Taken())
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, group := range c.Groups() {
		fmt.Fprintf(t, "\n%s\n", group.Heading)
		for _, f := range group.Files {
			fmt.Fprintf(t, "  %s\t%s\t%s\t%s\n", f.Name, f.Size(), f.Title, f.Why)
		}
	}
	return t.Flush()
}

// Taken returns the number of removed secrets of each kind as text.
func (c Contents) Taken() string {
	var all []string
	for _, kind := range slices.Sorted(maps.Keys(c.Redacted)) {
		all = append(all, fmt.Sprintf("%d × %s", c.Redacted[kind], kind))
	}
	if len(all) == 0 {
		return "none"
	}
	return strings.Join(all, ", ")
}

// Size returns the size of the file as text, or "-" if the archive does not have the file.
func (f File) Size() string {
	if f.Bytes == 0 {
		return "-"
	}
	return ui.Size(int64(f.Bytes))
}

// Group has the files of similar states, under a heading.
type Group struct {
	Heading string
	Files   []File
}

// Groups returns the files grouped by state.
func (c Contents) Groups() []Group {
	var all []Group
	for _, g := range []struct {
		heading string
		states  []State
	}{
		{"Complete:", []State{Whole}},
		{"Partial:", []State{Cut, Incomplete}},
		{"Not collected because of an error:", []State{Missing}},
		{"Not present on this host:", []State{None}},
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
