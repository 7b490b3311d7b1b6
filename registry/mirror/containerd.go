package mirror

import (
	"bytes"
	_ "embed"
	"net/url"
	"path/filepath"
	"strings"
	"text/template"
)

//go:embed hosts.toml.tmpl
var hostsTemplate string

const hostsName = "hosts.toml"

// hostsFiles returns containerd's files, and the CA certificate.
func (m Config) hostsFiles() (map[string][]byte, error) {
	all := map[string][]byte{}
	for _, s := range m.Sources {
		text, err := m.renderHosts(s)
		if err != nil {
			return nil, err
		}
		all[m.file(s.Upstream)] = text
	}
	if m.CA != "" {
		all[m.CAFile] = []byte(m.CA)
	}
	return all, nil
}

// file returns the path of containerd's file for an upstream host. A port is written between
// underscores. _default is for all hosts without their own directory.
func (m Config) file(upstream string) string {
	name := "_default"
	if upstream != "" {
		name = upstream
		if host, port, ok := strings.Cut(upstream, ":"); ok {
			name = host + "_" + port + "_"
		}
	}
	return filepath.Join(m.Dir, name, hostsName)
}

// renderHosts returns the content of one hosts.toml.
func (m Config) renderHosts(s Source) ([]byte, error) {
	var bases []base
	for _, text := range s.Bases {
		u, err := url.Parse(text)
		if err != nil {
			return nil, err
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
	Override bool // the URL already contains the path of the API
	CAFile   string
}
