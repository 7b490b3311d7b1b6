package support

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/cluster/verification"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/redact"
	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/internal/version"
)

// Collected is the result of airgap support-bundle.
type Collected struct {
	File  string `json:"file"`
	Bytes int64  `json:"bytes"`
	Contents
}

// Options are the options of Run.
type Options struct {
	File     string   // to write; it must not exist; "": a generated name in the current directory
	Keys     []string // of --require-key
	Node     string   // name of this host in airgap.yaml; "": found by its addresses
	Progress ui.Progress
	Console  ui.Console // of RunAll, which asks the user for passwords
}

// Run writes the support bundle of this host.
func Run(ctx context.Context, o Options) (Collected, error) {
	return Collect(ctx, o.File, &Evidence{Machine: site.ThisMachine(), keys: o.Keys, node: o.Node}, o.Progress)
}

// Collect writes the support bundle of e. file is "" for a generated name in the current directory.
func Collect(ctx context.Context, file string, e *Evidence, p ui.Progress) (Collected, error) {
	about := e.about()
	if file == "" {
		file = about.Name() + ".tar.gz"
	}
	if err := errors.Join(site.CheckLater("--file", file), notThere(file)); err != nil {
		return Collected{}, err
	}
	result := Collected{File: file}
	err := host.Write(file, 0o600, func(w io.Writer) (err error) {
		result.Contents, err = e.write(ctx, w, about, p)
		return errors.Join(err, notThere(file))
	})
	if ctx.Err() != nil {
		return result, ctx.Err()
	}
	if err != nil {
		return result, advice.Add(err, "choose a file on a disk with 20 MB of free space: --file FILE")
	}
	if info, err := os.Stat(file); err == nil {
		result.Bytes = info.Size()
	}
	return result, nil
}

// write writes the archive. It reads the secrets first, in order to remove them.
func (e *Evidence) write(ctx context.Context, w io.Writer, about About, p ui.Progress) (Contents, error) {
	book, unread := e.Secrets()
	if unread > 0 {
		about.Notes = append(about.Notes, fmt.Sprintf("%s that may contain secrets of this host could not be read. airgap could find these secrets only by their form.", ui.Count(unread, "file")))
	}
	parts, n := e.parts(), 1
	p.Step(n, len(parts), parts[0].Title)
	return Write(ctx, w, about, redact.New(book), parts, func(File) {
		if n < len(parts) {
			n++
			p.Step(n, len(parts), parts[n-1].Title)
		}
	})
}

// notThere returns an error if the file exists.
func notThere(file string) error {
	if _, err := os.Lstat(file); err == nil {
		return advice.Add(fmt.Errorf("write %s: the file already exists", file), "remove the file, or choose another name with --file")
	}
	return nil
}

// Write writes the incomplete files of the archive, its notes and its path as text.
func (b Collected) Write(w io.Writer) error {
	got := 0
	for _, f := range b.Files {
		switch f.State {
		case Missing, Incomplete:
			fmt.Fprintf(w, "%-10s  %s: %s\n", f.State, f.Name, f.Why)
		case Cut:
			fmt.Fprintf(w, "%-10s  %s: %s\n", f.State, f.Name, f.Why)
		}
		if f.Bytes > 0 {
			got++
		}
	}
	for _, n := range b.Notes {
		fmt.Fprintf(w, "%-10s  %s\n", "note", n)
	}
	file, err := filepath.Abs(b.File)
	if err != nil {
		file = b.File
	}
	_, err = fmt.Fprintf(w, "%s: %s, %s; removed secrets: %s\nreview it before it leaves the site: tar xzf FILE, and open index.html\n", file, ui.Size(b.Bytes), ui.Count(got, "file"), b.Taken())
	return err
}

// about returns the description of this host.
func (e *Evidence) about() About {
	about := About{Host: "unknown", Time: time.Now().UTC(), Program: version.String(), By: verification.CurrentUser(), Notes: []string{}}
	if name, err := os.Hostname(); err == nil {
		about.Host = name
	}
	if os.Geteuid() != 0 {
		about.Notes = append(about.Notes, "The user was not root. Data that only root can read is missing.")
	}
	return about
}
