package config

import (
	"path/filepath"
	"strings"
)

// lieIn resolves relative paths of files on the connected host against dir, the directory of the
// file, as for charts and manifests. The working directory does not matter.
func (c *Cluster) lieIn(dir string) {
	names := []*string{&c.Sources.CA}
	for i := range c.Sources.Rewrite {
		names = append(names, c.Sources.Rewrite[i].Login.Files()...)
	}
	for i := range c.Packages.Repositories {
		r := &c.Packages.Repositories[i]
		names = append(names, r.Login.Files()...)
		for k := range r.GPGKeys {
			names = append(names, &r.GPGKeys[k])
		}
	}
	for _, a := range c.Addons {
		if a.Chart != nil {
			names = append(names, a.Chart.Login.Files()...)
		}
	}
	for _, name := range names {
		if *name != "" && !filepath.IsAbs(*name) && !strings.Contains(*name, "://") {
			*name = filepath.Join(dir, *name)
		}
	}
}
