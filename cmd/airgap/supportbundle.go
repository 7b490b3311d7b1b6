package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/cluster/support"
	"airgap.dev/airgap/cluster/verdict"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/redact"
	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/internal/version"
)

// supportBundle is the result of the command.
type supportBundle struct {
	File  string `json:"file"`
	Bytes int64  `json:"bytes"`
	support.Contents
}

func (a *app) supportBundle() *cobra.Command {
	var file, node string
	var keys []string
	cmd := &cobra.Command{
		Use:   "support-bundle",
		Short: "Collect what others need to help with this server, without secrets",
		Long: `Collects what this server is and how it is into one archive of text files, of at most
20 MB, for people who cannot come near it: status, facts, airgap's journal and logs,
reports of preflight and verify, logs of runtime, kubelet, registry and static pods,
the configurations in force, packet filter, addresses, packages, an overview of the
cluster. index.html in it links all parts and needs no network.

It runs on any server: one on which nothing was installed, one where an installation
was killed, one whose cluster is dead. Each part has its own time; what could not be
had is told at the end, and in README.txt of the archive, with the reason. It fails
only where it can write no archive. Nothing on the host is changed. Root sees all;
other users what they may read.

Secrets are taken out: what looks like one, and every secret that this host has, in
whatever form it is written. No key, kubeconfig, Secret or ConfigMap is collected.
Look the archive over all the same before it leaves the site.`,
		Example: "  airgap support-bundle\n  airgap support-bundle --file /media/stick/node1.tar.gz\n  tar xzf node1.tar.gz && less airgap-support-*/README.txt",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.finish(collect(cmd.Context(), file, newEvidence(keys, node), a.newProgress()))
		},
	}
	cmd.Flags().StringVar(&file, "file", "", "file to write, which must not be there yet; default: airgap-support-HOST-TIME.tar.gz in this directory")
	keyFlags(cmd, &keys)
	cmd.Flags().StringVar(&node, "node", "", "which node of airgap.yaml this host is; default: by its addresses")
	return cmd
}

// collect writes the archive; file is "" for a name of its own in this directory.
func collect(ctx context.Context, file string, e *evidence, p ui.Progress) (supportBundle, error) {
	about := e.about()
	if file == "" {
		file = about.Name() + ".tar.gz"
	}
	if err := errors.Join(site.CheckLater("--file", file), notThere(file)); err != nil {
		return supportBundle{}, err
	}
	book, unread := e.secrets()
	if unread > 0 {
		about.Notes = append(about.Notes, fmt.Sprintf("%s that may hold secrets of this host could not be read; those were taken out by their looks alone.", ui.Count(unread, "file")))
	}
	parts := e.parts()
	result := supportBundle{File: file}
	err := host.Write(file, 0o600, func(w io.Writer) (err error) {
		n := 1
		p.Step(n, len(parts), parts[0].Title)
		result.Contents, err = support.Write(ctx, w, about, redact.New(book), parts, func(support.File) {
			if n < len(parts) {
				n++
				p.Step(n, len(parts), parts[n-1].Title)
			}
		})
		return errors.Join(err, notThere(file))
	})
	if ctx.Err() != nil {
		return result, ctx.Err()
	}
	if err != nil {
		return result, advice.Add(err, "name a file on a disk with 20 MB of room: --file FILE")
	}
	if info, err := os.Stat(file); err == nil {
		result.Bytes = info.Size()
	}
	return result, nil
}

// notThere refuses to write over anything.
func notThere(file string) error {
	if _, err := os.Lstat(file); err == nil {
		return advice.Add(fmt.Errorf("write %s: it is there already", file), "remove it first, or choose another name with --file")
	}
	return nil
}

// Write says what the archive lacks, and where it is.
func (b supportBundle) Write(w io.Writer) error {
	got := 0
	for _, f := range b.Files {
		switch f.State {
		case support.Missing, support.Incomplete:
			fmt.Fprintf(w, "%-10s  %s: %s\n", f.State, f.Name, f.Why)
		case support.Cut:
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
	_, err = fmt.Fprintf(w, "%s: %s, %s; taken out: %s\nlook it over before it leaves the site: tar xzf FILE, and open index.html\n", file, ui.Size(b.Bytes), ui.Count(got, "file"), b.Taken())
	return err
}

// about says which host this is.
func (e *evidence) about() support.About {
	about := support.About{Host: "unknown", Time: time.Now().UTC(), Program: version.String(), By: verdict.Whoami(), Notes: []string{}}
	if name, err := os.Hostname(); err == nil {
		about.Host = name
	}
	if os.Geteuid() != 0 {
		about.Notes = append(about.Notes, "It was not made by root, who sees more.")
	}
	return about
}
