package registry

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/reference"
)

// Mirror is a runtime's configuration that sends pulls, whatever their upstream host,
// to registries of the site and nowhere else. A runtime wants it in a way of its own:
// containerd as a hosts.toml for each host and one for all others, CRI-O as one
// registries.conf, where only hosts that are named can be sent elsewhere.
type Mirror struct {
	CRIO    bool
	Dir     string // of containerd /etc/containerd/certs.d, of CRI-O what HOME/.config/containers is to it
	Sources []Source
	CAFile  string // absolute path of the authority's certificate; "": what the host trusts
	CA      string // PEM for CAFile, which then comes and goes with the mirror; "": it is there
	// Direct are the addresses and subnets (CIDR) of the cluster that what CRI-O starts has
	// to reach, which asks nobody else.
	Direct []string
	// Open says that a registry of the site's own may send CRI-O elsewhere, for tokens and
	// layers.
	Open bool
}

// Source is where the images of one upstream host come from.
type Source struct {
	Upstream string   // HOST or HOST:PORT; "": every host that has no source of its own
	Bases    []string // URLs, in the order in which they are tried; one with a path is asked for PATH/NAME/manifests/…
}

// OwnMirror sends everything to our registries (HOST:PORT). Hosts that images are named
// after have a source of their own: a directory that somebody made for one of them would
// win over the one for all hosts. CRI-O knows none for all; there each of our registries
// has one too, for all of them have what was pushed to it.
func OwnMirror(crio bool, dir string, registries []string, images []bundle.Image, caFile string) (Mirror, error) {
	m := Mirror{CRIO: crio, Dir: dir, CAFile: caFile}
	upstreams, err := upstreamHosts(images)
	if !crio {
		for _, upstream := range append([]string{""}, upstreams...) {
			m.Sources = append(m.Sources, Source{upstream, bases(registries, "")})
		}
		return m, err
	}
	for _, r := range registries {
		m.Sources = append(m.Sources, Source{r, bases(registries, "")})
	}
	canary, _, _ := strings.Cut(Canary, "/")
	for _, upstream := range append([]string{canary}, upstreams...) {
		m.Sources = append(m.Sources, Source{upstream, bases(registries, "/v2/"+repositoryHost(upstream))})
	}
	return m, err
}

func bases(registries []string, path string) []string {
	var urls []string
	for _, r := range registries {
		urls = append(urls, "https://"+r+path)
	}
	return urls
}

// Mirror sends everything to the registry of the site's own. A registry that knows
// nothing of upstream hosts needs a path for each of those that images are named
// after; names of others lead containerd to it too, and are not found there. caFile is
// where its authority's certificate goes.
func (e Existing) Mirror(crio bool, dir string, images []bundle.Image, caFile string) (Mirror, error) {
	if err := e.Check(); err != nil {
		return Mirror{}, err
	}
	host, path := e.split()
	below := path + "/"
	if path == "" {
		below = ""
	}
	m := Mirror{CRIO: crio, Open: true, Dir: dir, Sources: []Source{{host, bases([]string{host}, "")}}}
	if !crio {
		m.Sources = append(m.Sources, Source{"", bases([]string{host}, "/v2/"+below+"unknown")})
	}
	if e.CA != "" {
		m.CAFile, m.CA = caFile, e.CA
	}
	upstreams, err := upstreamHosts(images)
	if err != nil {
		return Mirror{}, err
	}
	for _, upstream := range upstreams {
		if upstream != host {
			m.Sources = append(m.Sources, Source{upstream, bases([]string{host}, "/v2/"+below+repositoryHost(upstream))})
		}
	}
	return m, nil
}

// upstreamHosts are those that the images are named after, sorted.
func upstreamHosts(images []bundle.Image) ([]string, error) {
	hosts := map[string]bool{}
	for _, image := range images {
		ref, err := reference.ParseFull(image.Name)
		if err != nil {
			return nil, err
		}
		hosts[ref.Host] = true
	}
	return slices.Sorted(maps.Keys(hosts)), nil
}

// files are all that the mirror consists of.
func (m Mirror) files() (map[string][]byte, error) {
	all, err := m.render()
	if err != nil {
		return nil, fmt.Errorf("render mirror configuration: %w", err)
	}
	return all, nil
}

func (m Mirror) render() (map[string][]byte, error) {
	if len(m.Sources) == 0 {
		return nil, errors.New("no registry; the runtime would ask the internet")
	}
	for _, s := range m.Sources {
		if err := m.check(s); err != nil {
			return nil, err
		}
	}
	if m.CRIO {
		return m.registriesConf()
	}
	return m.hostsFiles()
}

// check refuses what could break a file: containerd takes one that it cannot read for
// none at all, and goes upstream.
func (m Mirror) check(s Source) error {
	if len(s.Bases) == 0 {
		return fmt.Errorf("no registry for %q; the runtime would ask the internet", s.Upstream)
	}
	for _, word := range append([]string{m.CAFile, s.Upstream}, s.Bases...) {
		if strings.ContainsAny(word, "\"\\\n\r\t ") {
			return fmt.Errorf("%q cannot stand in it", word)
		}
	}
	for _, text := range s.Bases {
		u, err := url.Parse(text)
		if err != nil || u.Scheme != "https" || u.Host == "" {
			return fmt.Errorf("%q is no https URL", text)
		}
	}
	return nil
}

// Default is the file that says where images come from, whatever their host.
func (m Mirror) Default() string {
	if m.CRIO {
		return filepath.Join(m.Dir, registriesName)
	}
	return m.file("")
}

// Holds reports whether the files are as they should be, and no others of ours are
// there.
func (m Mirror) Holds() (bool, error) {
	want, err := m.files()
	if err != nil {
		return false, host.IgnoreMissing(err) // the authority's certificate has yet to come
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
	if m.CRIO {
		return nil, nil
	}
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
	return errors.Join(removeAll(stale), m.sweep())
}

// sweep removes directories without a file.
func (m Mirror) sweep() error {
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
	patterns := []string{"*/" + hostsName}
	if m.CRIO {
		patterns = []string{registriesName, environmentName, registriesDName, "certs.d/*/" + authorityName}
	}
	var all []string
	for _, p := range patterns {
		found, err := filepath.Glob(filepath.Join(m.Dir, p))
		if err != nil {
			return nil, fmt.Errorf("look for mirror configuration: %w", err)
		}
		all = append(all, found...)
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
	if err := errors.Join(removeAll(all), m.putBack(), m.sweep()); err != nil {
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

// putBack returns files that were put aside for ours, which were never written: a kill came
// between.
func (m Mirror) putBack() error {
	aside, err := filepath.Glob(filepath.Join(m.Dir, "*", saved(hostsName)))
	for _, from := range aside {
		to := strings.TrimSuffix(from, saved(""))
		if _, missing := os.Lstat(to); errors.Is(missing, fs.ErrNotExist) {
			err = errors.Join(err, os.Rename(from, to))
		}
	}
	return err
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

// mark begins each of our files.
const mark = "# Written by airgap."

func isOurs(content []byte) bool { return bytes.HasPrefix(content, []byte(mark)) }
