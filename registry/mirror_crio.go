package registry

import (
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"airgap.dev/airgap/internal/host"
)

const (
	registriesName  = "registries.conf"
	authorityName   = "airgap.crt"
	environmentName = "environment"
	registriesDName = "registries.d/airgap.yaml" // without one the host's own would count, and its signatures be asked for

	// nowhere is a proxy at which nobody listens. In registries.conf no line stands for
	// all other hosts: CRI-O would look them up and ask them.
	nowhere = "http://127.0.0.1:1"
)

// registries is containers-registries.conf(5), version 2.
type registries struct {
	Search   []string         `toml:"unqualified-search-registries"`
	Registry []registryPrefix `toml:"registry"`
}

// registryPrefix: the mirrors are asked before the location, which stands for the
// upstream and is the last of ours.
type registryPrefix struct {
	Prefix   string           `toml:"prefix"`
	Location string           `toml:"location"`
	Mirror   []registryMirror `toml:"mirror,omitempty"`
}

type registryMirror struct {
	Location string `toml:"location"`
}

// registriesConf is CRI-O's, with the authority's certificate for each registry
// (containers-certs.d(5)), and the environment in which it reaches these registries and
// nobody else. A name without a host is Docker Hub's, as for containerd.
func (m Mirror) registriesConf() (map[string][]byte, error) {
	conf, all, hosts := registries{Search: []string{dockerHub}}, map[string][]byte{}, map[string]bool{}
	authority, err := m.authority()
	if err != nil {
		return nil, err
	}
	for _, s := range m.Sources {
		entry := registryPrefix{Prefix: s.Upstream}
		for _, text := range s.Bases {
			u, err := url.Parse(text)
			if err != nil {
				return nil, err
			}
			hosts[direct(u)] = true
			if authority != nil {
				all[filepath.Join(m.Dir, "certs.d", u.Host, authorityName)] = authority
			}
			entry.Mirror = append(entry.Mirror, registryMirror{u.Host + strings.TrimPrefix(u.Path, "/v2")})
		}
		last := len(entry.Mirror) - 1
		entry.Location, entry.Mirror = entry.Mirror[last].Location, entry.Mirror[:last]
		conf.Registry = append(conf.Registry, entry)
	}
	text, err := toml.Marshal(conf)
	if err != nil {
		return nil, err
	}
	all[filepath.Join(m.Dir, environmentName)] = m.environment(slices.Sorted(maps.Keys(hosts)))
	all[filepath.Join(m.Dir, registriesDName)] = []byte(mark + "\ndocker: {}\n")
	all[m.Default()] = append([]byte(mark+" Every image comes from the registries below.\n"), text...)
	return all, nil
}

// environment has CRI-O reach the registries directly and, unless they may send it
// elsewhere, nobody else.
func (m Mirror) environment(registries []string) []byte {
	if m.Open {
		return []byte(mark + " Registries are asked directly.\nHTTP_PROXY=\nHTTPS_PROXY=\nNO_PROXY=*\n")
	}
	return fmt.Appendf(nil, "%s CRI-O asks these registries, and nobody else: a proxy that is not there has the rest.\n"+
		"HTTP_PROXY=%s\nHTTPS_PROXY=%s\nNO_PROXY=%s\n", mark, nowhere, nowhere, strings.Join(slices.Concat(registries, m.Direct), ","))
}

// direct is a host as NO_PROXY has it: an IPv6 address without brackets, unless a port
// follows.
func direct(u *url.URL) string {
	if u.Port() == "" {
		return u.Hostname()
	}
	return u.Host
}

// authority is the certificate, marked as ours; nil where the host's trust counts.
func (m Mirror) authority() ([]byte, error) {
	pem := []byte(m.CA)
	if m.CA == "" && m.CAFile != "" {
		var err error
		if pem, err = os.ReadFile(m.CAFile); err != nil {
			return nil, err
		}
	}
	if len(pem) == 0 {
		return nil, nil
	}
	return append([]byte(mark+"\n"), pem...), nil
}

// RetrustCRIO has CRI-O trust for its registries what a file says: it does not read
// that file, but copies of it beside the names of the registries. dir is Mirror's.
func RetrustCRIO(dir, caFile string) error {
	text, err := Mirror{CAFile: caFile}.authority()
	if err != nil {
		return err
	}
	copies, err := filepath.Glob(filepath.Join(dir, "certs.d", "*", authorityName))
	if err != nil {
		return err
	}
	for _, name := range copies {
		info, err := os.Stat(name)
		if err == nil {
			err = host.WriteFile(name, text, info.Mode().Perm())
		}
		if err != nil {
			return fmt.Errorf("have CRI-O trust the registries' authority: %w", err)
		}
	}
	return nil
}
