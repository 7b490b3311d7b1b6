package support

import (
	"archive/tar"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"airgap.dev/airgap/cluster/fleet"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/alike"
	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/ui"
)

// AllCollected is the result of airgap support-bundle --all-hosts.
type AllCollected struct {
	File    string       `json:"file"`
	Bytes   int64        `json:"bytes"`
	Cluster string       `json:"cluster"`
	Hosts   []HostBundle `json:"hosts"`
}

// HostBundle is the support bundle of one host.
type HostBundle struct {
	Host    string `json:"host"`
	Address string `json:"address"`
	File    string `json:"file,omitempty"` // in the archive
	Bytes   int64  `json:"bytes,omitempty"`
	Error   string `json:"error,omitempty"` // why there is none
}

// RunAll collects the support bundles of all hosts of airgap.yaml through SSH, into one archive with a file for each. A
// host without one is a line of the result. It fails only if it cannot write the archive.
func RunAll(ctx context.Context, o Options) (AllCollected, error) {
	s, err := site.Stored(o.Keys, o.Node)
	if err != nil {
		return AllCollected{}, err
	}
	all := newArchiveOfAll(s.Config.Name, o.File)
	if err := errors.Join(site.CheckLater("--file", all.result.File), notThere(all.result.File)); err != nil {
		return AllCollected{}, err
	}
	f, err := fleet.Connect(ctx, s, nil, fleet.Options{Console: o.Console, Partial: true})
	if err != nil {
		return AllCollected{}, err
	}
	if f == nil {
		return AllCollected{}, advice.Add(errors.New("collect from all hosts: airgap.yaml has no section ssh, or no other host"), "run airgap support-bundle on each host")
	}
	defer f.Close()
	e := &Evidence{Machine: site.ThisMachine(), keys: o.Keys, node: o.Node}
	return all.write(ctx, func() error {
		own := HostBundle{Host: s.Node.Name, Address: s.Node.Address}
		err := fleet.WithScratch(all.dir(), func(scratch *os.File) error {
			if _, err := e.write(ctx, scratch, e.about(), o.Console.Progress()); err != nil {
				return err
			}
			return fleet.FromStart(scratch, func(size int64) error { return all.add(&own, size, scratch) })
		})
		all.note(own, err)
		o.Console.EndProgress()
		sizes := map[string]HostBundle{}
		fleet.Collect(ctx, f, all.dir(), MaxSize, func(name string, size int64, archive io.Reader) error {
			one := HostBundle{Host: name}
			err := all.add(&one, size, archive)
			sizes[name] = one
			return err
		})
		for _, m := range f.Members {
			one := sizes[m.Node.Name]
			one.Host, one.Address = m.Node.Name, m.Node.Address
			all.note(one, m.Err)
		}
		for _, l := range f.Policy.LeftOut() {
			all.note(HostBundle{Host: l.Node}, errors.New(l.Why))
		}
		return ctx.Err()
	})
}

// archiveOfAll is a tar with the archive of each host. It is not compressed, because they are.
type archiveOfAll struct {
	result AllCollected
	name   string // of the directory in the archive
	taken  time.Time
	tar    *tar.Writer
	failed error // the archive cannot be written
}

func newArchiveOfAll(cluster, file string) *archiveOfAll {
	a := &archiveOfAll{taken: time.Now().UTC().Truncate(time.Second)}
	a.name = About{Host: cluster + "-all-hosts", Time: a.taken}.Name()
	if file == "" {
		file = a.name + ".tar"
	}
	a.result = AllCollected{File: file, Cluster: cluster}
	return a
}

// dir is the directory of the archive: there is space for the archives of the hosts.
func (a *archiveOfAll) dir() string { return filepath.Dir(a.result.File) }

// write creates the file, lets fill add the archives, and adds the summary.
func (a *archiveOfAll) write(ctx context.Context, fill func() error) (AllCollected, error) {
	err := host.Write(a.result.File, 0o600, func(w io.Writer) error {
		a.tar = tar.NewWriter(w)
		if err := fill(); err != nil {
			return err
		}
		return errors.Join(a.failed, a.summary(), a.tar.Close(), notThere(a.result.File))
	})
	if ctx.Err() != nil {
		return AllCollected{}, ctx.Err()
	}
	if err != nil {
		return AllCollected{}, advice.Add(err, "choose a file on a disk with 20 MB of free space for each host: --file FILE")
	}
	if info, err := os.Stat(a.result.File); err == nil {
		a.result.Bytes = info.Size()
	}
	return a.result, nil
}

// add adds the archive of a host.
func (a *archiveOfAll) add(one *HostBundle, size int64, archive io.Reader) error {
	one.File, one.Bytes = one.Host+".tar.gz", size
	if a.failed == nil {
		a.failed = a.put(one.File, size, archive)
	}
	return a.failed
}

func (a *archiveOfAll) put(name string, size int64, r io.Reader) error {
	head := &tar.Header{Typeflag: tar.TypeReg, Name: path.Join(a.name, name), Mode: 0o600, Size: size, ModTime: a.taken, Format: tar.FormatPAX}
	err := a.tar.WriteHeader(head)
	if err == nil {
		_, err = io.Copy(a.tar, r)
	}
	if err != nil {
		return fmt.Errorf("write the archive: %w", err)
	}
	return nil
}

// note adds a host to the result.
func (a *archiveOfAll) note(one HostBundle, err error) {
	if err != nil {
		one = HostBundle{Host: one.Host, Address: one.Address, Error: err.Error()}
	}
	a.result.Hosts = append(a.result.Hosts, one)
}

const introOfAll = `airgap support-bundle --all-hosts collected the support bundle of each host. Each HOST.tar.gz
has its own README.txt and index.html, and says which secrets were removed on that host.
Review the files before they leave the site.

`

func (a *archiveOfAll) summary() error {
	var text strings.Builder
	fmt.Fprintf(&text, "cluster   %s\ntime      %s\n\n%s", a.result.Cluster, a.taken.Format(time.RFC3339), introOfAll)
	for _, h := range a.result.Hosts {
		fmt.Fprintf(&text, "  %-20s  %s\n", h.Host, map[bool]string{true: "no bundle: " + h.Error, false: ui.Size(h.Bytes)}[h.Error != ""])
	}
	contents, err := json.MarshalIndent(a.result, "", "  ")
	if err != nil {
		return err
	}
	for _, f := range []struct{ name, text string }{{"README.txt", text.String()}, {"contents.json", string(contents) + "\n"}} {
		if err := a.put(f.name, int64(len(f.text)), strings.NewReader(f.text)); err != nil {
			return err
		}
	}
	return nil
}

// Write writes the hosts without a bundle, those with the same reason together, and the path of the archive.
func (r AllCollected) Write(w io.Writer) error {
	var missing []alike.Said
	for _, h := range r.Hosts {
		if h.Error != "" {
			missing = append(missing, alike.Said{Host: h.Host, Address: h.Address, Text: h.Error})
		}
	}
	if len(missing) > 0 {
		fmt.Fprintf(w, "no bundle of %s:\n%s\n", ui.Count(len(missing), "host"), strings.Join(alike.Lines(missing, "README.txt in the archive has them"), "\n"))
	}
	file, err := filepath.Abs(r.File)
	if err != nil {
		file = r.File
	}
	_, err = fmt.Fprintf(w, "%s: %s, the bundles of %d of %s\nreview them before they leave the site: tar xf FILE, then tar xzf HOST.tar.gz, and open index.html\n",
		file, ui.Size(r.Bytes), len(r.Hosts)-len(missing), ui.Count(len(r.Hosts), "host"))
	return err
}
