package plan

import (
	"compress/flate"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"airgap.dev/airgap/bundle/rpm"
	"airgap.dev/airgap/gpu"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/altered"
	"airgap.dev/airgap/internal/config"
	"airgap.dev/airgap/internal/cryptopolicy"
	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/nevra"
	"airgap.dev/airgap/kubeadm/release"
	"airgap.dev/airgap/preflight/facts"
)

// packageRequest returns the request for RPMs: packages of Kubernetes, of the runtime if it
// comes as a package, and of airgap.yaml, without the installed packages of surveyed servers.
func packageRequest(c *config.Cluster, surveyed []*facts.Facts, gpus map[string]gpu.Plan) (*rpm.Request, error) {
	upstream, err := release.PackageRepository(c.Kubernetes.Version)
	if err != nil {
		return nil, err
	}
	r := &rpm.Request{
		OS: c.Packages.OS, Arch: "x86_64",
		Modules: c.Packages.Modules,
		Only:    driverPackages(c, gpus), Plain: []string{gpu.Module},
		Wanted:  []string{lockPlugin},
		Install: slices.Concat(release.Packages(c.Kubernetes.Version, c.Packages.OS), c.Runtime.Packages(), c.Packages.Install),
	}
	for _, u := range append([]release.Repository{upstream}, c.Runtime.PackageRepositories(c.Packages.OS)...) {
		r.Repositories = append(r.Repositories, rpm.Repository{Name: u.Name, BaseURL: u.BaseURL, GPGKeys: []string{u.GPGKey}})
	}
	r.Repositories = append(r.Repositories, c.Packages.Repositories...)
	for _, of := range surveyed {
		one, err := installedPackages(of)
		if err != nil {
			return nil, fmt.Errorf("read facts of %s: %w", of.Host, err)
		}
		r.Hosts = append(r.Hosts, one)
	}
	if len(surveyed) > 0 {
		r.Assumed = unsurveyed(c, surveyed)
	}
	return r, nil
}

// unsurveyed returns the nodes without facts.
func unsurveyed(c *config.Cluster, surveyed []*facts.Facts) (names []string) {
	for _, n := range c.Nodes {
		if !slices.ContainsFunc(surveyed, func(f *facts.Facts) bool { return belongs(f, n) }) {
			names = append(names, n.Name)
		}
	}
	return names
}

// readSurveys reads the facts of all servers in dir; none if dir is "".
func readSurveys(ctx context.Context, dir string) ([]survey, error) {
	if dir == "" {
		return nil, nil
	}
	files, err := surveyFiles(dir)
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, advice.Add(fmt.Errorf("read facts: %s has no files *.facts.yaml, *.survey or *.survey.gz", dir),
			"run airgap survey --file NAME.facts.yaml on each server, and copy the files to this directory")
	}
	var all []survey
	for _, f := range files {
		read, err := LoadFacts(ctx, f)
		if err != nil {
			return nil, err
		}
		all = append(all, survey{f, read})
	}
	return all, nil
}

// surveyFiles returns the files with facts in dir, also with names in upper case, and without the files
// that desktops add, such as ._cp1.survey.
func surveyFiles(dir string) (files []string, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read facts: %w", err)
	}
	for _, ending := range []string{".facts.yaml", ".survey", ".survey.gz"} {
		for _, e := range entries {
			if strings.HasSuffix(altered.Plain(e.Name()), ending) && !altered.IsJunk(e.Name()) {
				files = append(files, filepath.Join(dir, e.Name()))
			}
		}
	}
	return files, nil
}

// LoadFacts reads the output of airgap survey or of its script.
func LoadFacts(ctx context.Context, path string) (*facts.Facts, error) {
	f, err := host.OpenPlain(path)
	if err != nil {
		return nil, advice.Add(fmt.Errorf("read facts: %w", err), "replace it with a regular file")
	}
	defer f.Close()
	parse := func(r io.Reader) (*facts.Facts, error) { return facts.ReadSurvey(ctx, r) }
	var from io.Reader = f
	switch filepath.Ext(altered.Plain(path)) {
	case ".yaml":
		parse = facts.ReadFacts
	case ".gz":
		z, err := gzip.NewReader(f)
		if err != nil {
			return nil, unreadable(path, err)
		}
		from = z
	}
	read, err := parse(from)
	if err != nil {
		return nil, unreadable(path, err)
	}
	return read, nil
}

// unreadable is the error for a file with facts. A file that ends too early has the same error in all formats.
func unreadable(path string, err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = facts.ErrIncomplete
	}
	damaged := errors.Is(err, gzip.ErrHeader) || errors.Is(err, gzip.ErrChecksum) || isCorrupt(err)
	err = fmt.Errorf("read facts of %s: %w", path, err)
	if damaged || errors.Is(err, facts.ErrIncomplete) {
		return advice.Add(err, "copy the file from the server again; if it is the same there, run airgap survey or its script again on the server")
	}
	return err
}

func isCorrupt(err error) bool {
	_, is := errors.AsType[flate.CorruptInputError](err)
	return is
}

// installedPackages returns a server's packages without public keys, which rpm lists as
// packages, and without packages that airgap installed: each bundle selects them again and
// may replace them.
func installedPackages(of *facts.Facts) (rpm.Installed, error) {
	in := rpm.Installed{Host: of.Host, Streams: of.Streams, Policy: policyOf(of)}
	for _, p := range of.Packages {
		if p.Arch == "(none)" {
			continue
		}
		one, err := installedPackage(p)
		if err != nil {
			return in, err
		}
		if !slices.Contains(of.InstalledByAirgap, nevra.Text{NEVRA: one.NEVRA}) {
			in.Packages = append(in.Packages, one)
		}
	}
	return in, nil
}

// policyOf returns the crypto policy that rpm of the server applies to signatures.
func policyOf(of *facts.Facts) cryptopolicy.Policy {
	return cryptopolicy.Policy{Surveyed: of.Crypto, OS: of.OS.Enterprise(), Version: of.OS.Version, FIPS: of.Security.FIPS}
}

func installedPackage(p facts.Package) (rpm.InstalledPackage, error) {
	name, err := p.NEVRA()
	if err != nil {
		return rpm.InstalledPackage{}, fmt.Errorf("%s: %w", p.Name, err)
	}
	one := rpm.InstalledPackage{NEVRA: name}
	for _, list := range []struct {
		from []facts.Capability
		to   *[]rpm.Capability
	}{{p.Provides, &one.Provides}, {p.Requires, &one.Requires}, {p.Conflicts, &one.Conflicts}, {p.Obsoletes, &one.Obsoletes}} {
		for _, c := range list.from {
			parsed, err := rpm.CapabilityOf(c.Name, c.Op, c.Version)
			if err != nil {
				return one, fmt.Errorf("%s: %w", p.Name, err)
			}
			*list.to = append(*list.to, parsed)
		}
	}
	for _, f := range p.Files {
		one.Provides = append(one.Provides, rpm.Capability{Name: f})
	}
	return one, nil
}
