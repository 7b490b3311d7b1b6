package host

import "strings"

// environment returns the variables that a command inherits, and the added
// ones. All others are left out: dnf and kubeadm must not get a password that
// airgap received in a variable, and kubeadm would
// write HTTPS_PROXY, with the password in it, into the manifests of static pods.
func environment(own, added []string) []string {
	var kept []string
	for _, pair := range own {
		if name, _, _ := strings.Cut(pair, "="); isInherited(name) {
			kept = append(kept, pair)
		}
	}
	return append(kept, added...)
}

// isInherited lists the variables that every command needs: places of programs, homes and
// temporary files, and the locale.
func isInherited(name string) bool {
	switch name {
	case "PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TZ", "TMPDIR":
		return true
	}
	return strings.HasPrefix(name, "LC_")
}
