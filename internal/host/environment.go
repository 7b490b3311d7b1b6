package host

import (
	"slices"
	"strings"
)

// inherited are the variables that a command needs from airgap's own
// environment: where programs, homes and temporary files are, and how text is
// written. LC_* comes with LANG.
var inherited = []string{"PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TZ", "TMPDIR"}

// environment is what a command gets of airgap's environment, and what is
// added to it. Everything else stays behind: a password that was handed to
// airgap in a variable is no business of dnf or kubeadm, and kubeadm would
// write HTTPS_PROXY, with the password in it, into the manifests of static pods.
func environment(own, added []string) []string {
	var kept []string
	for _, pair := range own {
		name, _, _ := strings.Cut(pair, "=")
		if slices.Contains(inherited, name) || strings.HasPrefix(name, "LC_") {
			kept = append(kept, pair)
		}
	}
	return append(kept, added...)
}
