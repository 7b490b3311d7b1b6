package config

import (
	"path/filepath"
	"strings"
)

// lieIn has files of the connected host that the file names by a relative path
// be looked for in dir, where the file itself is: charts and manifests are, too,
// whatever directory airgap was started in.
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
	for _, name := range names {
		if *name != "" && !filepath.IsAbs(*name) && !strings.Contains(*name, "://") {
			*name = filepath.Join(dir, *name)
		}
	}
}
