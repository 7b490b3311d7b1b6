// Package mirror configures containerd and CRI-O, so that they pull every image from the registries of
// the cluster or from a registry of the site, and none from the internet.
package mirror

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
	"airgap.dev/airgap/registry/existing"
	"airgap.dev/airgap/registry/names"
)

// Config is the configuration of a runtime that directs all pulls to registries of the site, for every
// upstream host. containerd has a hosts.toml for each host and one for all other hosts. CRI-O has
// one registries.conf, which can only redirect the hosts that it names.
type Config struct {
	CRIO    bool
	Dir     string // containerd: /etc/containerd/certs.d; CRI-O: the directory that is its HOME/.config/containers
	Sources []Source
	CAFile  string // absolute path of the CA certificate; "": the CAs of the host
	CA      string // PEM for CAFile, which Write creates and Remove deletes; "": CAFile already exists
	// Direct lists addresses and subnets (CIDR) of the cluster that programs started by CRI-O must
	// reach, although CRI-O's environment allows no other hosts.
	Direct []string
	// Open is true for a registry of the site that may redirect CRI-O to other hosts, for tokens and
	// layers.
	Open bool
}

// Source lists the registries for the images of one upstream host.
type Source struct {
	Upstream string   // HOST or HOST:PORT; "": all hosts without their own source
	Bases    []string // URLs, in order of use; for a URL with a path, the runtime requests PATH/NAME/manifests/…
}

// Own directs all pulls to airgap's registries (HOST:PORT). The upstream hosts of images have
// their own source: a directory that a user made for one of them would take precedence over the one
// for all hosts. CRI-O has no source for all hosts. There, each of the registries has a source, too,
// because all of them serve the pushed images.
func Own(crio bool, dir string, registries []string, images []bundle.Image, caFile string) (Config, error) {
	m := Config{CRIO: crio, Dir: dir, CAFile: caFile}
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
	canary, _, _ := strings.Cut(names.Canary, "/")
	for _, upstream := range append([]string{canary}, upstreams...) {
		m.Sources = append(m.Sources, Source{upstream, bases(registries, "/v2/"+names.Host(upstream))})
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

// Existing directs all pulls to the registry of the site. That registry does not know upstream hosts, so
// each upstream host of the images needs a path. containerd also queries it for other hosts, and
// finds nothing. caFile is the path for the registry's CA certificate.
func Existing(e existing.Registry, crio bool, dir string, images []bundle.Image, caFile string) (Config, error) {
	if err := e.Check(); err != nil {
		return Config{}, err
	}
	host, path := reference.SplitHost(e.Address)
	below := path + "/"
	if path == "" {
		below = ""
	}
	m := Config{CRIO: crio, Open: true, Dir: dir, Sources: []Source{{host, bases([]string{host}, "")}}}
	if !crio {
		m.Sources = append(m.Sources, Source{"", bases([]string{host}, "/v2/"+below+"unknown")})
	}
	if e.CA != "" {
		m.CAFile, m.CA = caFile, e.CA
	}
	upstreams, err := upstreamHosts(images)
	if err != nil {
		return Config{}, err
	}
	for _, upstream := range upstreams {
		if upstream != host {
			m.Sources = append(m.Sources, Source{upstream, bases([]string{host}, "/v2/"+below+names.Host(upstream))})
		}
	}
	return m, nil
}

// upstreamHosts returns the sorted hosts in the names of the images.
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

// files returns all files of the mirror, with their content.
func (m Config) files() (map[string][]byte, error) {
	all, err := m.render()
	if err != nil {
		return nil, fmt.Errorf("render mirror configuration: %w", err)
	}
	return all, nil
}

func (m Config) render() (map[string][]byte, error) {
	if len(m.Sources) == 0 {
		return nil, errors.New("no registry; the runtime would query the internet")
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

// check refuses values that could break a file: if containerd cannot read a file, it ignores the file
// and queries the upstream host.
func (m Config) check(s Source) error {
	if len(s.Bases) == 0 {
		return fmt.Errorf("no registry for %q; the runtime would query the internet", s.Upstream)
	}
	for _, value := range append([]string{m.CAFile, s.Upstream}, s.Bases...) {
		if strings.ContainsAny(value, "\"\\\n\r\t ") {
			return fmt.Errorf("%q has a character that is not allowed in the file", value)
		}
	}
	for _, text := range s.Bases {
		u, err := url.Parse(text)
		if err != nil || u.Scheme != "https" || u.Host == "" {
			return fmt.Errorf("%q is not an https URL", text)
		}
	}
	return nil
}

// Default returns the path of the file for all hosts.
func (m Config) Default() string {
	if m.CRIO {
		return filepath.Join(m.Dir, registriesName)
	}
	return m.file("")
}

// UpToDate reports whether the files have the expected content, and airgap has no other files there.
func (m Config) UpToDate() (bool, error) {
	want, err := m.files()
	if err != nil {
		return false, host.IgnoreMissing(err) // the CA certificate does not exist yet
	}
	for file, text := range want {
		if same, err := host.FileMatches(file, text, 0o644); err != nil || !same {
			return false, err
		}
	}
	stale, err := m.stale(want)
	if err != nil || len(stale) > 0 {
		return false, err
	}
	emptyDirs, err := m.emptyDirs()
	return len(emptyDirs) == 0, err
}

// emptyDirs returns directories without a file, which an interrupted removal leaves. With such a
// directory, containerd queries the upstream host.
func (m Config) emptyDirs() ([]string, error) {
	if m.CRIO {
		return nil, nil
	}
	entries, err := os.ReadDir(m.Dir)
	if err != nil {
		return nil, host.IgnoreMissing(err)
	}
	var emptyDirs []string
	for _, e := range entries {
		dir := filepath.Join(m.Dir, e.Name())
		if in, err := os.ReadDir(dir); e.IsDir() && err == nil && len(in) == 0 {
			emptyDirs = append(emptyDirs, dir)
		}
	}
	return emptyDirs, nil
}

// Write writes the files. It first saves different existing files, once, so that Remove can restore
// them. containerd reads the files at each pull.
func (m Config) Write() error {
	want, err := m.files()
	if err != nil {
		return err
	}
	for _, file := range slices.Sorted(maps.Keys(want)) {
		if file != m.CAFile {
			if err := saveForeign(file); err != nil {
				return fmt.Errorf("back up %s: %w", file, err)
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
	return errors.Join(removeAll(stale), m.removeEmptyDirs())
}

// removeEmptyDirs removes directories without a file.
func (m Config) removeEmptyDirs() error {
	emptyDirs, err := m.emptyDirs()
	for _, dir := range emptyDirs {
		if err == nil {
			err = os.Remove(dir)
		}
	}
	return err
}

// stale returns airgap's files that are not in want.
func (m Config) stale(want map[string][]byte) ([]string, error) {
	patterns := []string{"*/" + hostsName}
	if m.CRIO {
		patterns = []string{registriesName, environmentName, registriesDName, "certs.d/*/" + caName}
	}
	var all []string
	for _, p := range patterns {
		found, err := filepath.Glob(filepath.Join(m.Dir, p))
		if err != nil {
			return nil, fmt.Errorf("find mirror configuration: %w", err)
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
			return nil, fmt.Errorf("find mirror configuration: %w", err)
		}
		if isManaged(have) {
			stale = append(stale, file)
		}
	}
	return stale, nil
}

// Remove deletes airgap's files and restores the files that existed before. It keeps other files.
func (m Config) Remove() error {
	all, err := m.stale(nil)
	if err != nil {
		return err
	}
	if err := errors.Join(removeAll(all), m.restoreBackups(), m.removeEmptyDirs()); err != nil {
		return err
	}
	if m.CA != "" || len(m.Sources) == 0 && m.CAFile != "" { // no sources: remove the files of any mirror
		return host.Remove(m.CAFile)
	}
	return nil
}

// removeAll replaces each file with its backup in one rename, or removes it if there is no backup.
func removeAll(files []string) error {
	for _, file := range files {
		err := os.Rename(backupName(file), file)
		if errors.Is(err, fs.ErrNotExist) {
			err = host.Remove(file)
		}
		if err != nil {
			return fmt.Errorf("remove mirror configuration: %w", err)
		}
		_ = os.Remove(filepath.Dir(file)) // only if it is empty
	}
	return nil
}

// restoreBackups restores backups of files that airgap never wrote, because it was killed before the
// write.
func (m Config) restoreBackups() error {
	backups, err := filepath.Glob(filepath.Join(m.Dir, "*", backupName(hostsName)))
	for _, from := range backups {
		to := strings.TrimSuffix(from, backupName(""))
		if _, missing := os.Lstat(to); errors.Is(missing, fs.ErrNotExist) {
			err = errors.Join(err, os.Rename(from, to))
		}
	}
	return err
}

// backupName returns the name of the backup of a file that existed before, for Remove.
func backupName(file string) string { return file + ".before-airgap" }

// saveForeign renames a file to its backup name, unless its first line shows that airgap wrote it.
func saveForeign(file string) error {
	have, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) || err == nil && isManaged(have) {
		return nil
	}
	if err != nil {
		return err
	}
	return os.Rename(file, backupName(file))
}

// header is the start of each of airgap's files.
const header = "# Written by airgap."

func isManaged(content []byte) bool { return bytes.HasPrefix(content, []byte(header)) }
