package dnf

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"airgap.dev/airgap/internal/host"
)

// dnf neither reads nor changes the host's own dnf configuration, repositories,
// plugins and proxies: all its files are below StateDir. installonly_limit=0
// keeps dnf from removing old kernels. clean_requirements_on_remove=0 keeps an
// undo from removing more than the listed packages.
const dnfConf = `[main]
reposdir=%[1]s/repos.d
cachedir=%[1]s/cache
persistdir=%[1]s/persist
logdir=%[1]s/log
plugins=0
gpgcheck=1
localpkg_gpgcheck=1
repo_gpgcheck=1
sslverify=1
install_weak_deps=0
installonly_limit=0
clean_requirements_on_remove=0
best=1
strict=1
skip_if_unavailable=0
keepcache=0
zchunk=0
deltarpm=0
fastestmirror=0
retries=3
timeout=30
%[2]s`

// repositoryID is the ID of the bundle's repository in dnf.
const repositoryID = "airgap"

// The build of the bundle has already selected the module streams, so the host's
// own streams must not hide packages: module_hotfixes.
const dnfRepo = `[airgap]
name=airgap bundle
baseurl=%s
enabled=1
module_hotfixes=1
gpgcheck=1
repo_gpgcheck=1
gpgkey=%s
sslverify=1
%sproxy=_none_
metadata_expire=1
skip_if_unavailable=0
`

// files returns the private configuration, by path.
func (t Transaction) files() map[string]string {
	keysDir := filepath.Join(t.StateDir, "keys")
	files := map[string]string{}
	var keys []string
	for _, name := range slices.Sorted(maps.Keys(t.Keys)) {
		path := filepath.Join(keysDir, filepath.Base(name))
		files[path] = string(t.Keys[name])
		keys = append(keys, "file://"+path)
	}
	platform, ca := "", ""
	if t.OS != "" {
		platform = "module_platform_id=platform:" + t.OS + "\n"
	}
	if t.CAFile != "" {
		ca = "sslcacert=" + t.CAFile + "\n"
	}
	files[t.config()] = fmt.Sprintf(dnfConf, t.StateDir, platform)
	files[filepath.Join(t.StateDir, "repos.d", "airgap.repo")] = fmt.Sprintf(dnfRepo, t.BaseURL, strings.Join(keys, "\n       "), ca)
	return files
}

func (t Transaction) config() string { return filepath.Join(t.StateDir, "dnf.conf") }

// configure writes the private configuration.
func (t Transaction) configure() error {
	for path, text := range t.files() {
		if err := host.WriteFile(path, []byte(text), 0o644); err != nil {
			return fmt.Errorf("configure dnf: %w", err)
		}
	}
	return nil
}
