package host

import "strings"

// environment is what a command gets of airgap's environment, and what is
// added to it. Everything else stays behind: a password that was handed to
// airgap in a variable is no business of dnf or kubeadm, and kubeadm would
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

// isInherited knows what every command needs: where programs, homes and
// temporary files are, and how text is written.
func isInherited(name string) bool {
	switch name {
	case "PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TZ", "TMPDIR":
		return true
	}
	return strings.HasPrefix(name, "LC_")
}
