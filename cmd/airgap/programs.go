package main

import "os"

// packagedPrograms are the directories into which packages install programs.
const packagedPrograms = "/usr/sbin:/usr/bin:/sbin:/bin"

// usePackagedPrograms puts the directories of packages at the start of PATH, for airgap and for
// all commands that it starts. Without this, a kubeadm of an earlier cluster in /usr/local/bin
// would run instead of the one from the bundle. The other directories stay, because a program of
// the connected host, such as ssh, may be only there.
func usePackagedPrograms() {
	path := packagedPrograms
	if own := os.Getenv("PATH"); own != "" {
		path += ":" + own
	}
	_ = os.Setenv("PATH", path) // it fails only for a name or value with a null byte
}
