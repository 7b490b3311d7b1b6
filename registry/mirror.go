package registry

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/template"

	"github.com/distribution/reference"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/internal/host"
)

//go:embed hosts.toml.tmpl
var hostsTemplate string

// Mirror is containerd's configuration that sends every pull, whatever its
// upstream host, to registries of the site and nowhere else.
type Mirror struct {
	Dir     string // /etc/containerd/certs.d
	Sources []Source
	CAFile  string // absolute path of the authority's certificate; "": what the host trusts
	CA      string // PEM for CAFile, which then comes and goes with the mirror; "": it is there
}

// Source is where the images of one upstream host come from.
type Source struct {
	Upstream string   // HOST or HOST:PORT; "": every host that has no source of its own
	Bases    []string // URLs, in the order in which they are tried; one with a path is asked for PATH/NAME/manifests/…
}

// OwnMirror sends everything to our registries (HOST:PORT).
func OwnMirror(dir string, registries []string, caFile string) Mirror {
	var bases []string
	for _, r := range registries {
		bases = append(bases, "https://"+r)
	}
	return Mirror{Dir: dir, Sources: []Source{{Bases: bases}}, CAFile: caFile}
}

// Mirror sends everything to the registry of the site's own. A registry that knows
// nothing of upstream hosts needs a path for each of those that images are named
// after; names of others lead to it too, and are not found there. caFile is where
// its authority's certificate goes.
func (e Existing) Mirror(dir string, images []bundle.Image, caFile string) (Mirror, error) {
	if err := e.Check(); err != nil {
		return Mirror{}, err
	}
	host, path := e.split()
	base := "https://" + host
	below := base + "/v2/"
	if path != "" {
		below += path + "/"
	}
	m := Mirror{Dir: dir, Sources: []Source{{Bases: []string{below + "unknown"}}, {Upstream: host, Bases: []string{base}}}}
	if e.CA != "" {
		m.CAFile, m.CA = caFile, e.CA
	}
	upstreams := map[string]string{}
	for _, image := range images {
		ref, err := reference.ParseNamed(image.Name)
		if err != nil {
			return Mirror{}, fmt.Errorf("parse image name %q: %w", image.Name, err)
		}
		if d := reference.Domain(ref); d != host {
			upstreams[d] = below + repositoryHost(d)
		}
	}
	for _, upstream := range slices.Sorted(maps.Keys(upstreams)) {
		m.Sources = append(m.Sources, Source{upstream, []string{upstreams[upstream]}})
	}
	return m, nil
}

// files are all that the mirror consists of.
func (m Mirror) files() (map[string][]byte, error) {
	if len(m.Sources) == 0 {
		return nil, errors.New("render mirror configuration: no registry; containerd would ask the internet")
	}
	all := map[string][]byte{}
	for _, s := range m.Sources {
		text, err := m.render(s)
		if err != nil {
			return nil, fmt.Errorf("render mirror configuration: %w", err)
		}
		all[m.file(s.Upstream)] = text
	}
	if m.CA != "" {
		all[m.CAFile] = []byte(m.CA)
	}
	return all, nil
}

// Default is the file for every upstream host that has none of its own.
func (m Mirror) Default() string { return m.file("") }

// file is where containerd looks for an upstream host: a port is written between
// underscores. Hosts that have no directory of their own are _default's.
func (m Mirror) file(upstream string) string {
	name := "_default"
	if upstream != "" {
		name = upstream
		if host, port, ok := strings.Cut(upstream, ":"); ok {
			name = host + "_" + port + "_"
		}
	}
	return filepath.Join(m.Dir, name, hostsName)
}

const hostsName = "hosts.toml"

// render gives one hosts.toml. containerd takes a file that it cannot read for no
// file at all and goes upstream, so what could break it is refused here.
func (m Mirror) render(s Source) ([]byte, error) {
	if len(s.Bases) == 0 {
		return nil, fmt.Errorf("no registry for %q; containerd would ask the internet", s.Upstream)
	}
	for _, word := range append([]string{m.CAFile, s.Upstream}, s.Bases...) {
		if strings.ContainsAny(word, "\"\\\n\r\t ") {
			return nil, fmt.Errorf("%q cannot stand in it", word)
		}
	}
	var bases []base
	for _, text := range s.Bases {
		u, err := url.Parse(text)
		if err != nil || u.Scheme != "https" || u.Host == "" {
			return nil, fmt.Errorf("%q is no https URL", text)
		}
		bases = append(bases, base{text, u.Path != "", m.CAFile})
	}
	t, err := template.New(hostsName).Option("missingkey=error").Parse(hostsTemplate)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	err = t.Execute(&out, bases)
	return out.Bytes(), err
}

// base is one registry in hosts.toml.
type base struct {
	URL      string
	Override bool // the URL has the API's path already
	CAFile   string
}

// Holds reports whether the files are as they should be, and no others of ours are
// there.
func (m Mirror) Holds() (bool, error) {
	want, err := m.files()
	if err != nil {
		return false, err
	}
	for file, text := range want {
		if same, err := host.Holds(file, text, 0o644); err != nil || !same {
			return false, err
		}
	}
	stale, err := m.stale(want)
	if err != nil || len(stale) > 0 {
		return false, err
	}
	empty, err := m.empty()
	return len(empty) == 0, err
}

// empty are directories without a file, which a removal that was cut leaves: for
// containerd they say that their upstream is to be asked.
func (m Mirror) empty() ([]string, error) {
	entries, err := os.ReadDir(m.Dir)
	if err != nil {
		return nil, host.IgnoreMissing(err)
	}
	var empty []string
	for _, e := range entries {
		dir := filepath.Join(m.Dir, e.Name())
		if in, err := os.ReadDir(dir); e.IsDir() && err == nil && len(in) == 0 {
			empty = append(empty, dir)
		}
	}
	return empty, nil
}

// Write puts the files in place. Different ones that were there are kept aside,
// once, for Remove to put back. containerd reads them at each pull.
func (m Mirror) Write() error {
	want, err := m.files()
	if err != nil {
		return err
	}
	for _, file := range slices.Sorted(maps.Keys(want)) {
		if file != m.CAFile {
			if err := keepForeign(file); err != nil {
				return fmt.Errorf("keep %s: %w", file, err)
			}
		}
		if err := host.WriteFile(file, want[file], 0o644); err != nil {
			return err
		}
	}
	stale, err := m.stale(want)
	if err != nil {
		return err
	}
	if err := removeAll(stale); err != nil {
		return err
	}
	empty, err := m.empty()
	for _, dir := range empty {
		if err == nil {
			err = os.Remove(dir)
		}
	}
	return err
}

// stale are our files that are not wanted.
func (m Mirror) stale(want map[string][]byte) ([]string, error) {
	all, err := filepath.Glob(filepath.Join(m.Dir, "*", hostsName))
	if err != nil {
		return nil, fmt.Errorf("look for mirror configuration: %w", err)
	}
	var stale []string
	for _, file := range all {
		if _, wanted := want[file]; wanted {
			continue
		}
		have, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("look for mirror configuration: %w", err)
		}
		if isOurs(have) {
			stale = append(stale, file)
		}
	}
	return stale, nil
}

// Remove takes our files away and puts back those that were there before. A
// file that is not ours stays.
func (m Mirror) Remove() error {
	all, err := m.stale(nil)
	if err != nil {
		return err
	}
	if err := removeAll(all); err != nil {
		return err
	}
	if m.CA != "" || len(m.Sources) == 0 && m.CAFile != "" { // no sources: whatever was there
		return host.Remove(m.CAFile)
	}
	return nil
}

// removeAll puts back what was there before in one move, where there is such.
func removeAll(files []string) error {
	for _, file := range files {
		err := os.Rename(saved(file), file)
		if errors.Is(err, fs.ErrNotExist) {
			err = host.Remove(file)
		}
		if err != nil {
			return fmt.Errorf("remove mirror configuration: %w", err)
		}
		_ = os.Remove(filepath.Dir(file)) // when nothing else is in it
	}
	return nil
}

// saved is where a file that was there before us waits for Remove.
func saved(file string) string { return file + ".before-airgap" }

// keepForeign leaves our own files, told by their first line, alone.
func keepForeign(file string) error {
	have, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) || err == nil && isOurs(have) {
		return nil
	}
	if err != nil {
		return err
	}
	return os.Rename(file, saved(file))
}

func isOurs(content []byte) bool {
	mark, _, _ := strings.Cut(hostsTemplate, "\n")
	first, _, _ := strings.Cut(string(content), "\n")
	return first == mark
}
