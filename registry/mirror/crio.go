package mirror

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
	"airgap.dev/airgap/registry/names"
)

const (
	registriesName  = "registries.conf"
	caName          = "airgap.crt"
	environmentName = "environment"
	registriesDName = "registries.d/airgap.yaml" // without it, CRI-O would use the host's file and query its signature storage

	// unusedProxy is a proxy address on which no process listens. registries.conf has no entry for
	// all other hosts: without the proxy, CRI-O would look them up and query them.
	unusedProxy = "http://127.0.0.1:1"
)

// registries is the format of containers-registries.conf(5), version 2.
type registries struct {
	Search   []string         `toml:"unqualified-search-registries"`
	Registry []registryPrefix `toml:"registry"`
}

// registryPrefix is the entry of one upstream host. CRI-O queries the mirrors before the location,
// which replaces the upstream host and is the last of airgap's registries.
type registryPrefix struct {
	Prefix   string           `toml:"prefix"`
	Location string           `toml:"location"`
	Mirror   []registryMirror `toml:"mirror,omitempty"`
}

type registryMirror struct {
	Location string `toml:"location"`
}

// registriesConf returns CRI-O's files: registries.conf, the CA certificate for each registry
// (containers-certs.d(5)), and the environment in which CRI-O reaches only these registries. As in
// containerd, a name without a host is from Docker Hub.
func (m Config) registriesConf() (map[string][]byte, error) {
	conf, all, hosts := registries{Search: []string{names.DockerHub}}, map[string][]byte{}, map[string]bool{}
	caCertificate, err := m.caCertificate()
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
			hosts[noProxyHost(u)] = true
			if caCertificate != nil {
				all[filepath.Join(m.Dir, "certs.d", u.Host, caName)] = caCertificate
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
	all[filepath.Join(m.Dir, registriesDName)] = []byte(header + "\ndocker: {}\n")
	all[m.Default()] = append([]byte(header+" Every image comes from the registries below.\n"), text...)
	return all, nil
}

// environment returns the environment in which CRI-O reaches the registries directly. Unless m.Open
// is set, CRI-O reaches no other hosts.
func (m Config) environment(registries []string) []byte {
	if m.Open {
		return []byte(header + " CRI-O uses no proxy.\nHTTP_PROXY=\nHTTPS_PROXY=\nNO_PROXY=*\n")
	}
	return fmt.Appendf(nil, "%s CRI-O reaches only these registries: requests to other hosts go to a proxy that does not exist.\n"+
		"HTTP_PROXY=%s\nHTTPS_PROXY=%s\nNO_PROXY=%s\n", header, unusedProxy, unusedProxy, strings.Join(slices.Concat(registries, m.Direct), ","))
}

// noProxyHost returns a host in the form of NO_PROXY: an IPv6 address has brackets only if a port
// follows.
func noProxyHost(u *url.URL) string {
	if u.Port() == "" {
		return u.Hostname()
	}
	return u.Host
}

// caCertificate returns the CA certificate with the header of airgap's files. It returns nil if CRI-O uses the CAs of the host.
func (m Config) caCertificate() ([]byte, error) {
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
	return append([]byte(header+"\n"), pem...), nil
}

// RetrustCRIO makes CRI-O trust the CA in caFile. CRI-O does not read that file, but copies of it in
// a directory for each registry. dir is Config.Dir.
func RetrustCRIO(dir, caFile string) error {
	text, err := Config{CAFile: caFile}.caCertificate()
	if err != nil {
		return err
	}
	copies, err := filepath.Glob(filepath.Join(dir, "certs.d", "*", caName))
	if err != nil {
		return err
	}
	for _, name := range copies {
		info, err := os.Stat(name)
		if err == nil {
			err = host.WriteFile(name, text, info.Mode().Perm())
		}
		if err != nil {
			return fmt.Errorf("update the registry CA of CRI-O: %w", err)
		}
	}
	return nil
}
