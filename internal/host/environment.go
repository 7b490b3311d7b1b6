package host

import "strings"

// environment returns the variables that a command inherits, and the added
// ones. All others are left out: dnf and kubeadm must not get a password that
// airgap received in a variable, and kubeadm would
// write HTTPS_PROXY, with the password in it, into the manifests of static pods. The locale is left out
// because airgap reads what commands print: a Korean operator's LANG would change it, and programs in
// Python read LANGUAGE before LC_ALL. C.UTF-8 lets them print names that are not ASCII.
func environment(own, added []string) []string {
	kept := []string{"LC_ALL=C.UTF-8"}
	for _, pair := range own {
		if name, _, _ := strings.Cut(pair, "="); isInherited(name) {
			kept = append(kept, pair)
		}
	}
	return append(kept, added...)
}

// isInherited lists the variables that every command needs: places of programs, homes and
// temporary files.
func isInherited(name string) bool {
	switch name {
	case "PATH", "HOME", "USER", "LOGNAME", "SHELL", "TZ", "TMPDIR":
		return true
	}
	return false
}
